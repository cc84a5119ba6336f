"""Read a small and usual document, like most of Linked Data, at once.

Its lines only need labels and a graph: canonical lines as they are, those of Turtle and
RDF/XML as the strict parser writes them, and those of JSON-LD. `DocumentReading` gives
the same result for more kinds of documents, and takes longer: three times as long for
canonical lines.
"""

from __future__ import annotations

from contextlib import suppress
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.core.formats import (
    JSON_LD,
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
    dots_in_base,
    new_parser,
    serialize,
)
from rdfcrawl.rdf.extraction.facts import facts_of_chunk
from rdfcrawl.rdf.graphs import check_iri
from rdfcrawl.rdf.nesting import is_text_too_deep
from rdfcrawl.rdf.output import (
    CHUNK_BYTES,
    BlankNodes,
    QuadOutput,
    has_tagless_strings,
)
from rdfcrawl.rdf.text import to_utf8

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfcrawl.core.errors import Fault
    from rdfcrawl.core.formats import Format
    from rdfcrawl.rdf.environment import ParseLimits, ReaderContext
    from rdfcrawl.rdf.graphs import Trust
    from rdfcrawl.rdf.links.outlinks import OutlinkOptions

_SMALL_BYTES: Final = 32 * 1024  # below, the overhead of reading matters
_READ: Final = (TURTLE, RDF_XML, JSON_LD)
# Faults of documents that may have further statements
_INCOMPLETE: Final = (
    Reason.SYNTAX,
    Reason.REMOTE_CONTEXT,
    Reason.TOO_LARGE,
    Reason.BAD_CHARSET,
)


class PlainLines(NamedTuple):
    """The statements of a document in one graph.

    Attributes:
        placed: as N-Quads.
        bare: as N-Triples with `_:` as all labels; None if that is unknown.
        n_quads: their number.
        faults: of the document.
    """

    placed: bytes
    bare: bytes | None
    n_quads: int
    faults: Sequence[Fault] = ()


class PlainReading(NamedTuple):
    """A document that was read at once.

    Attributes:
        chunk: its statements, at most `CHUNK_BYTES`.
        n_quads: their number, at least 1.
        faults: all without effect on other statements.
    """

    chunk: bytes
    n_quads: int
    reading: ReadResult
    facts: DocumentFacts
    faults: Sequence[Fault]


def plain_lines(
    data: bytes | None, document_format: Format, output: QuadOutput, *, charset: str
) -> PlainLines | None:
    """Return the statements of a small document of canonical lines, else None.

    Args:
        data: the document, if it is in memory.
        document_format: of the document.
        output: of the statements. For documents beyond its limits, or without a graph,
            None is returned, and nothing is noted.
        charset: that the server declares, or empty.

    Raises:
        SourceFault: the name of the graph is not an IRI.
    """
    limits = output.limits
    if data is None or output.graph is None:
        return None
    if len(data) > min(_SMALL_BYTES, limits.literal_bytes):
        return None
    found = canonical_lines(data, document_format, charset=charset, limits=limits)
    if found is None or not found[0] or found[0].count(b"\n") > limits.n_quads:
        return None
    if not found[1]:
        return _placed(found[0], output)
    chunks = [*output.chunks((found[0],), has_graphs=True)]
    bare = output.bare(chunks[0]) if len(chunks) == 1 else None
    return PlainLines(b"".join(chunks), bare, output.n_quads, output.log.all())


def _placed(lines: bytes, output: QuadOutput) -> PlainLines:
    text = bare = lines
    if b"_" in text and b"_:" in text:  # one byte is found much faster than two
        text, bare = BlankNodes(output.key or output.url).relabelled(text)
    # A line contains no other line feed.
    statements = text.split(b" .\n")
    graph = check_iri(output.graph or "").encode()
    return PlainLines(
        (b" <%s> .\n" % graph).join(statements), bare, len(statements) - 1
    )


def _read_lines(
    data: bytes,
    document_format: Format,
    output: QuadOutput,
    *,
    charset: str,
    environment: ReaderContext,
) -> PlainLines | None:
    """Return the statements of a small document in one of `_READ`, else None."""
    limits, log, is_xml = output.limits, output.log, document_format is RDF_XML
    if len(data) > min(_SMALL_BYTES, limits.doc_bytes):
        return None
    text = to_utf8(data, charset=charset, is_xml=is_xml, log=log, is_page=False)
    if document_format is JSON_LD:
        return _json_ld_lines(text, output, environment)
    lines = _strict_lines(text, document_format, base=output.url)
    if not lines or log.all() or len(lines) > min(CHUNK_BYTES, limits.literal_bytes):
        return None
    found = _placed(lines, output)
    is_cut = found.n_quads == LARGEST_BATCH or found.n_quads > limits.n_quads
    return None if is_cut else found


def _strict_lines(text: bytes, document_format: Format, *, base: str) -> bytes | None:
    """Return what the strict parser writes, in part if that is much, else None."""
    if document_format is RDF_XML:
        from rdfcrawl.rdf.rdf_xml_screen import screened_strictly  # noqa: PLC0415 (as its other users)

        screened = screened_strictly(text, base=base)
        if screened is None:
            return None
        text = screened
    elif is_text_too_deep(text):
        return None
    out = BytesIO()
    parser = new_parser(text, document_format, base)
    if serialize(islice(parser, LARGEST_BATCH), out) or dots_in_base(parser):
        return None
    lines = out.getvalue()
    return None if has_tagless_strings(lines) else lines


def _json_ld_lines(
    text: bytes, output: QuadOutput, environment: ReaderContext
) -> PlainLines | None:
    """Return the statements of JSON-LD, and its faults, if they are complete.

    Faults are frequent, and a document without a result here is read twice.
    """
    from rdfcrawl.rdf.jsonld.reading import read_json_ld  # noqa: PLC0415 (as its other users)

    log = output.log
    blocks = read_json_ld(text, base=output.url, environment=environment, log=log)
    chunks = [*islice(output.chunks(blocks, has_graphs=True), 2)]
    if len(chunks) != 1 or any(map(log.count, _INCOMPLETE)):
        return None
    return PlainLines(chunks[0], output.bare(chunks[0]), output.n_quads, log.all())


def read_plain(  # noqa: PLR0913  # keywords
    body: bytes,
    *,
    url: str,
    graph: str,
    media_type: str,
    charset: str,
    trust: Trust,
    limits: ParseLimits,
    environment: ReaderContext,
    wants_fingerprint: bool,
    outlinks: OutlinkOptions | None,
) -> PlainReading | None:
    """Return a small document in its declared format, if it is usual.

    Canonical lines confirm the declared format, as in `sniffing.decide`. The arguments
    are those of a `ReadingJob`; there are no other options, and no `Link` headers.

    Returns:
        None if the document needs `DocumentReading`.

    Raises:
        SourceFault: the name of the graph is not an IRI.
    """
    declared = format_of_media_type(media_type)
    if declared is None or not body:
        return None
    quads = QuadOutput(url=url, graph=graph, trust=trust, limits=limits, log=FaultLog())
    found: PlainLines | None = None
    if declared.is_line_based:
        found = plain_lines(body, declared, quads, charset=charset)
    elif declared in _READ and _is_in(declared, body, url=url, media_type=media_type):
        with suppress(Exception):  # `DocumentReading` will have it again, and notes it
            found = _read_lines(
                body, declared, quads, charset=charset, environment=environment
            )
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
    return PlainReading(found.placed, found.n_quads, reading, facts, found.faults)


def _is_in(declared: Format, body: bytes, *, url: str, media_type: str) -> bool:
    """Return whether a document is in its declared format."""
    head = sniffing.head_of(ByteSource(body))
    decision = sniffing.decide(media_type, url, head)
    return decision == FormatDecision(declared, "content-type")
