"""Read a small document of canonical lines, like most of Linked Data, at once.

The lines only need labels and a graph. `DocumentReading` gives the same result for more
kinds of documents, and takes three times as long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.core.formats import format_of_media_type
from rdfcrawl.core.records import DocumentFacts, ReadResult
from rdfcrawl.rdf.checking import canonical_lines
from rdfcrawl.rdf.extraction.facts import facts_of_chunk
from rdfcrawl.rdf.graphs import check_iri
from rdfcrawl.rdf.output import CHUNK_BYTES, BlankNodes

if TYPE_CHECKING:
    from rdfcrawl.core.formats import Format
    from rdfcrawl.rdf.environment import ParseLimits
    from rdfcrawl.rdf.links.outlinks import OutlinkOptions

_SMALL_BYTES: Final = 16 * 1024  # below, the overhead of reading matters


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
    text = bare = found[0]
    if b"_" in text and b"_:" in text:  # one byte is found much faster than two
        text, bare = BlankNodes(key).relabelled(text)
    # A line contains no other line feed.
    lines = text.split(b" .\n")
    placed = (b" <%s> .\n" % check_iri(graph).encode()).join(lines)
    n_quads = len(lines) - 1
    return None if n_quads > limits.n_quads else PlainLines(placed, bare, n_quads)


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
    """Return a small document of canonical lines in its declared format.

    Such lines confirm the declared format, as in `sniffing.decide`. The arguments are
    those of a `ReadingJob`; there are no other options, and no `Link` headers.

    Returns:
        None if the document needs `DocumentReading`.

    Raises:
        SourceFault: the name of the graph is not an IRI.
    """
    declared = format_of_media_type(media_type)
    if declared is None or not declared.is_line_based or not body:
        return None
    found = plain_lines(
        body, declared, graph=graph, key=url, charset=charset, limits=limits
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
    return PlainReading(found.placed, found.n_quads, reading, facts)
