"""Shared by the tests of JSON-LD: reading one document, and comparing both ways."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyoxigraph
from pyoxigraph import CanonicalizationAlgorithm, RdfFormat

from rdfcrawl.core.errors import Fault, FaultLog, Reason, SourceFault
from rdfcrawl.rdf.checking import iter_checked
from rdfcrawl.rdf.environment import ContextDocument, ReaderContext
from rdfcrawl.rdf.jsonld.contexts import ContextLoader, JsonLdReaderOptions
from rdfcrawl.rdf.jsonld.reading import read_json_ld

if TYPE_CHECKING:
    from collections.abc import Mapping

BASE = "http://example.org/doc"


class Contexts:
    """Contexts by URL.

    Attributes:
        asked: the requested URLs, in order.
    """

    def __init__(self, documents: Mapping[str, Any]) -> None:
        self._documents = documents
        self.asked: list[str] = []

    def load(self, url: str, *, document_url: str) -> ContextDocument:
        """Return a context; bytes are kept, others written as JSON."""
        del document_url
        self.asked.append(url)
        if url not in self._documents:
            raise SourceFault(Reason.REMOTE_CONTEXT, f"{url}: not found")
        content = self._documents[url]
        if not isinstance(content, bytes):
            content = json.dumps(content).encode()
        return ContextDocument(url=url, content=content)


def read(
    document: Any,
    *,
    contexts: Contexts | None = None,
    is_bounded: bool = True,
    base: str = BASE,
    context_url: str = "",
) -> tuple[bytes, list[Fault]]:
    """Return the statements of a document, and its faults."""
    log = FaultLog()
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    blocks: list[bytes] = []
    try:
        blocks += read_json_ld(
            data,
            base=base,
            environment=ReaderContext(
                contexts=contexts or Contexts({}), is_bounded=is_bounded
            ),
            log=log,
            context_url=context_url,
        )
    except SourceFault as error:
        log.note(error.fault.reason, error.fault.detail)
    return b"".join(blocks), log.all()


def read_whole(value: Any, *, base: str, contexts: Contexts) -> bytes:
    """Return the statements of a document as PyLD alone reads it."""
    from rdfcrawl.rdf.jsonld.pyld_reading import iter_statements  # PyLD

    loader = ContextLoader(contexts, document_url=base)
    options = JsonLdReaderOptions(base=base, mends=False)
    statements = iter_statements(value, options, loader)
    return b"".join(iter_checked(statements, FaultLog(), mends=False))


def canonical(lines: bytes) -> set[str]:
    """Return statements with canonical labels; isomorphic graphs give equal sets."""
    dataset = pyoxigraph.Dataset(pyoxigraph.parse(lines, RdfFormat.N_QUADS))
    dataset.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
    return {str(quad) for quad in dataset}
