"""Documents as a crawl leaves them, and their provenance."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from rdfcrawl.core.records import (
    Document,
    FetchedResponse,
    ReadResult,
    Record,
)
from rdfcrawl.pipelines.provenance import activity_of
from rdfcrawl.stores.provenance.blocks import (
    ActivityBlock,
    decode_block,
    encode_block,
)
from rdfcrawl.stores.provenance.records import WorkerAgent
from rdfcrawl.stores.provenance.statements import GRAPH, iter_statements

if TYPE_CHECKING:
    from collections.abc import Mapping

PROV = "http://www.w3.org/ns/prov#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD = "http://www.w3.org/2001/XMLSchema#"
SQ = "http://w3id.org/dice-research/squirrel/vocab#"
HTTP = "http://www.w3.org/2011/http#"

WORKER = WorkerAgent(name="host-1", crawl="linkeddata", version="0.1.0")
TURTLE: Any = SimpleNamespace(name="Turtle")

Description = dict[str, dict[str, list[str]]]


def document(**facts: Any) -> Document:
    """Return a document that was read without faults, with these `facts`."""
    facts.setdefault("record", Record(url="http://example.org/me", depth=2))
    response: Mapping[str, Any] = {
        "requested": (facts["record"].url,),
        "status": 200,
        "media_type": "text/turtle",
        "n_bytes": 1034,
        "started_ms": 1_790_000_000_007,
        "ended_ms": 1_790_000_000_100,
        "etag": "",
        "last_modified": "",
    }
    reading: Mapping[str, Any] = {
        "format": TURTLE,
        "decided_by": "content-type",
        "packings": (),
        "members": (),
        "n_members": 0,
        "extracted": {},
        "is_partial": False,
    }
    result = {"url": facts["record"].url, "n_quads": 9, "n_links": 5, **facts}
    return Document(
        response=FetchedResponse(**{k: result.pop(k, v) for k, v in response.items()}),
        reading=ReadResult(**{k: result.pop(k, v) for k, v in reading.items()}),
        **result,
    )


def block_of(*documents: Document, worker: WorkerAgent = WORKER) -> bytes:
    """Return the line of provenance that a worker writes about documents."""
    activities = [activity_of(each, worker) for each in documents]
    return encode_block(ActivityBlock(worker, activities))


def describe(document: Document, worker: WorkerAgent) -> bytes:
    """Return the statements about a document, from its stored record."""
    block = decode_block(block_of(document, worker=worker))
    return b"".join(iter_statements([block]))


def describe_worker(worker: WorkerAgent) -> bytes:
    """Return the statements about a worker, from its stored record."""
    block = decode_block(encode_block(ActivityBlock(worker, is_first=True)))
    return b"".join(iter_statements([block]))


def activity_iri(document: Document, worker: WorkerAgent) -> str:
    """Return the IRI of the activity of a document."""
    return activity_of(document, worker).iri(worker)


def read(nquads: bytes) -> Description:
    """Return subject -> predicate -> values; all must be in the provenance graph."""
    found: Description = defaultdict(lambda: defaultdict(list))
    for quad in ox.parse(nquads, ox.RdfFormat.N_QUADS, lenient=False):
        assert quad.graph_name == ox.NamedNode(GRAPH)
        assert isinstance(quad.subject, ox.NamedNode)
        assert not isinstance(quad.object, ox.Triple)
        found[quad.subject.value][quad.predicate.value].append(quad.object.value)
    return found
