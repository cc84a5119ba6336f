"""The last good copies of the documents of a crawl, kept between runs."""

from __future__ import annotations

from base64 import b64encode
from hashlib import blake2b
from typing import Final

from rdfcrawl.core.formats import (
    HEXTUPLES,
    HTML,
    N3,
    N_QUADS,
    N_TRIPLES,
    TRIG,
    TURTLE,
)
from rdfcrawl.core.last_copies import NewCopy, date_number
from rdfcrawl.core.records import Document, FetchedResponse
from rdfcrawl.core.tasks import CollectionPage
from rdfcrawl.rdf.graphs import graph_iri

CRAWL: Final = "crawl:"  # stands for the crawl instead of a source
STORED: Final = "stored"  # table of the crawl: digest of graph -> `LastCopy`
_KEY_BYTES: Final = 8  # a change is missed if both are equal by chance
_END_BYTES: Final = 1024
_HAS_NO_END: Final = frozenset(  # by name, which is hashed faster
    each.name for each in (N_TRIPLES, N_QUADS, TURTLE, TRIG, N3, HEXTUPLES)
)


def copy_key(url: str) -> str:
    """Return the key of a document in the table of copies."""
    graph = graph_iri(url).encode()
    return b64encode(blake2b(graph, digest_size=_KEY_BYTES).digest()).decode()


def new_copy(document: Document, digest: str = "", run: int = 0) -> NewCopy:
    """Return the statements of a document that was read.

    Args:
        document: its number of statements is known.
        digest: of its statements, if known.
        run: present run.
    """
    reading, modified = document.reading, document.response.last_modified
    is_page = reading.format is HTML and not reading.n_members
    name = reading.format.name if reading.format else ""
    has_end = bool(reading.packings) or name not in _HAS_NO_END
    return NewCopy(
        digest=digest,
        n_quads=document.n_quads,
        is_page=is_page,
        is_cut=document.is_partial,
        has_losses=document.has_losses,
        has_end=has_end_tag(document.response) if is_page else has_end,
        modified=date_number(modified) if modified else 0,
        run=document.record.change or str(run),
        is_list=isinstance(document.record.task, CollectionPage),
    )


def has_end_tag(response: FetchedResponse) -> bool:
    """Return whether a page of HTML ends with its end tag, or is too long to look."""
    body = response.body
    return body is None or b"</html" in body[-_END_BYTES:].lower()
