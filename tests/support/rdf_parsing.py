"""Parse a document for a test, and name the results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.environment import ReaderContext
from rdfcrawl.rdf.parse import parse

if TYPE_CHECKING:
    from pathlib import Path

    from rdfcrawl.core.content import ByteSource
    from rdfcrawl.rdf.environment import ContextDocument
    from rdfcrawl.rdf.parse import DocumentParser

URL = "http://e.example/doc"
P = "@prefix e: <http://e/> .\n"
RDF = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    'xmlns:e="http://e/">'
)
TTL, NT, NQ = "text/turtle", "application/n-triples", "application/n-quads"
TRIG, XML, LD = "application/trig", "application/rdf+xml", "application/ld+json"


class Nothing:
    """Unavailable contexts."""

    def load(self, url: str, *, document_url: str) -> ContextDocument:
        """Refuse every one."""
        del document_url
        raise SourceFault(Reason.REMOTE_CONTEXT, url)


BOUNDED = ReaderContext(contexts=Nothing(), is_bounded=True)


def read(
    source: bytes | str | Path | ByteSource, media_type: str = TTL, **options: Any
) -> tuple[str, DocumentParser]:
    """Return the N-Quads without a graph, and the parse."""
    body = source.encode() if isinstance(source, str) else source
    options = {"url": URL, "graph": None, "environment": BOUNDED} | options
    parsed = parse(body, media_type=media_type, **options)
    return b"".join(parsed).decode(), parsed


def objects(text: str) -> list[str]:
    """Return the third term of each line."""
    return [line[:-2].split(" ", 2)[2] for line in text.splitlines()]


def reasons(parsed: DocumentParser) -> dict[Reason, int]:
    """Return how often each fault was counted."""
    return {fault.reason: fault.count for fault in parsed.faults}
