"""Read a small document without faults, like most of Linked Data, at once.

Its lines only need labels and a graph: canonical lines as they are, those of Turtle and
RDF/XML as the strict parser writes them. `DocumentReading` gives the same result for
more kinds of documents, in a longer time: three times as long for canonical lines.
"""

from __future__ import annotations

from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.errors import FaultLog
from rdfcrawl.core.formats import (
    RDF_XML,
    TURTLE,
    FormatDecision,
    format_of_media_type,
)
from rdfcrawl.core.records import DocumentFacts, ReadResult
from rdfcrawl.rdf import sniffing
from rdfcrawl.rdf.checking import (
    LARGEST_BATCH,
    canonical_lines,
    new_parser,
    serialize,
)
from rdfcrawl.rdf.extraction.facts import facts_of_chunk
from rdfcrawl.rdf.graphs import check_iri
from rdfcrawl.rdf.nesting import is_text_too_deep
from rdfcrawl.rdf.output import CHUNK_BYTES, BlankNodes, has_tagless_strings
from rdfcrawl.rdf.text import to_utf8

if TYPE_CHECKING:
    from rdfcrawl.core.formats import Format
    from rdfcrawl.rdf.environment import ParseLimits
    from rdfcrawl.rdf.links.outlinks import OutlinkOptions

_SMALL_BYTES: Final = 32 * 1024  # below, the overhead of reading matters
_PARSED: Final = (TURTLE, RDF_XML)


class PlainLines(NamedTuple):
    """The statements of a document in one graph.

    Attributes:
        placed: as N-Quads.
        bare: as N-Triples with `_:` as all labels.
        n_quads: their number.
    """

    placed: bytes
    bare: bytes
    n_quads: int


class PlainReading(NamedTuple):
    """A document that was read at once.

    Attributes:
        chunk: its statements, at most `CHUNK_BYTES`.
        n_quads: their number, at least 1.
    """

    chunk: bytes
    n_quads: int
    reading: ReadResult
    facts: DocumentFacts


def plain_lines(
    data: bytes | None,
    document_format: Format,
    *,
    graph: str,
    key: str,
    charset: str,
    limits: ParseLimits,
) -> PlainLines | None:
    """Return the statements of a small document of canonical lines, else None.

    Args:
        data: the document, if it is in memory.
        document_format: of the document.
        graph: of its statements.
        key: source of the blank node labels.
        charset: that the server declares, or empty.
        limits: for larger documents, None is returned.

    Raises:
        SourceFault: the name of the graph is not an IRI.
    """
    if data is None or len(data) > min(_SMALL_BYTES, limits.literal_bytes):
        return None
    found = canonical_lines(data, document_format, charset=charset, limits=limits)
    if found is None or found[1]:
        return None
    return _placed(found[0], graph=graph, key=key, limits=limits)


def _placed(
    lines: bytes, *, graph: str, key: str, limits: ParseLimits
) -> PlainLines | None:
    text = bare = lines
    if b"_" in text and b"_:" in text:  # one byte is found much faster than two
        text, bare = BlankNodes(key).relabelled(text)
    # A line contains no other line feed.
    statements = text.split(b" .\n")
    placed = (b" <%s> .\n" % check_iri(graph).encode()).join(statements)
    n_quads = len(statements) - 1
    return None if n_quads > limits.n_quads else PlainLines(placed, bare, n_quads)


def _parsed_lines(
    data: bytes, document_format: Format, *, url: str, charset: str, limits: ParseLimits
) -> bytes | None:
    """Return the canonical lines of a small document without faults, else None."""
    if len(data) > min(_SMALL_BYTES, limits.doc_bytes):
        return None
    log, out, is_xml = FaultLog(), BytesIO(), document_format is RDF_XML
    text = to_utf8(data, charset=charset, is_xml=is_xml, log=log, is_page=False)
    if is_xml:
        from rdfcrawl.rdf.rdf_xml_screen import screened_strictly  # noqa: PLC0415 (as its other users)

        screened = screened_strictly(text, base=url)
        if screened is None:
            return None
        text = screened
    elif is_text_too_deep(text):
        return None
    statements = islice(new_parser(text, document_format, url), LARGEST_BATCH)
    if serialize(statements, out) is not None or log.all():
        return None
    lines = out.getvalue()
    is_long = len(lines) > min(CHUNK_BYTES, limits.literal_bytes)
    if is_long or has_tagless_strings(lines) or lines.count(b"\n") == LARGEST_BATCH:
        return None
    return lines


def read_plain(
    body: bytes,
    *,
    url: str,
    graph: str,
    media_type: str,
    charset: str,
    limits: ParseLimits,
    wants_fingerprint: bool,
    outlinks: OutlinkOptions | None,
) -> PlainReading | None:
    """Return a small document in its declared format, if nothing is noted about it.

    Canonical lines confirm the declared format, as in `sniffing.decide`. The arguments
    are those of a `ReadingJob`; there are no other options, and no `Link` headers.

    Returns:
        None if the document needs `DocumentReading`.

    Raises:
        SourceFault: the name of the graph is not an IRI.
    """
    declared = format_of_media_type(media_type)
    found: PlainLines | None = None
    if declared is None or not body:
        return None
    if declared.is_line_based:
        found = plain_lines(
            body, declared, graph=graph, key=url, charset=charset, limits=limits
        )
    elif declared in _PARSED and _is_in(declared, body, url=url, media_type=media_type):
        lines = _parsed_lines(body, declared, url=url, charset=charset, limits=limits)
        if lines:
            found = _placed(lines, graph=graph, key=url, limits=limits)
    if found is None or len(found.placed) > CHUNK_BYTES:
        return None
    facts, lines_of_links, targets = facts_of_chunk(
        found.placed,
        found.bare,
        body,
        url=url,
        graph=graph,
        wants_fingerprint=wants_fingerprint,
        outlinks=outlinks,
    )
    reading = ReadResult(
        declared, "content-type", outlinks=lines_of_links, targets=targets
    )
    return PlainReading(found.placed, found.n_quads, reading, facts)


def _is_in(declared: Format, body: bytes, *, url: str, media_type: str) -> bool:
    """Return whether a document is in its declared format."""
    head = sniffing.head_of(ByteSource(body))
    decision = sniffing.decide(media_type, url, head)
    return decision == FormatDecision(declared, "content-type")
