"""One `parse()` for all formats: a document's bytes to checked N-Quads in chunks.

The parser is pyoxigraph in its strict mode, which checks every term, and what it
serializes is canonical N-Quads. What comes after works on these lines: statements
are dropped, blank nodes relabelled and graphs named without an object per triple.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from rdfcrawl import formats
from rdfcrawl.errors import Fault, Reason, SourceFault
from rdfcrawl.rdf.contexts import remote_contexts
from rdfcrawl.rdf.doctype import EntityScreen
from rdfcrawl.rdf.encoding import MARK_BYTES, Utf8Stream, to_utf8
from rdfcrawl.rdf.faultlog import FaultLog
from rdfcrawl.rdf.graphs import GraphNames, Trust, check_iri
from rdfcrawl.rdf.labels import BlankNodes
from rdfcrawl.rdf.limits import DEFAULT_LIMITS, ParseLimits
from rdfcrawl.rdf.statements import Statements

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNK_BYTES = 256 * 1024
_HEAD_FOR_CONTEXTS_BYTES = 4 * 2**20
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


def parse(
    source: bytes | Path,
    *,
    url: str,
    graph: str | None,
    media_type: str = "",
    charset: str = "",
    base: str | None = None,
    trust: Trust = "same-origin",
    limits: ParseLimits = DEFAULT_LIMITS,
) -> Parse:
    """Return the N-Quads of one document; reading happens on iteration.

    A file is read as a stream in bounded memory. A hostile one can still take long
    or crash the parser: what is not small belongs into `sandbox.Sandbox`.

    Args:
        source: the document, not compressed.
        url: of the document, after redirects; makes the blank node labels.
        graph: name of the graph of its statements; None is the default graph.
        media_type: of the Content-Type, or empty.
        charset: of the Content-Type, or empty.
        base: resolves relative IRIs; `url` if unset.
        trust: `all` keeps all graph names of the document, `same-origin` those
            of the document's origin.
        limits: what is read at most.

    Raises:
        OSError: the file cannot be read.
    """
    if isinstance(source, Path):
        with source.open("rb") as file:
            head = file.read(formats.HEAD_BYTES)
    else:
        head = source[: formats.HEAD_BYTES]
    return Parse(
        source,
        formats.decide(media_type, url, head),
        url=url,
        graph=graph,
        charset=charset,
        base=url if base is None else base,
        trust=trust,
        limits=limits,
    )


class Parse:
    """One document being read: iterate it once, over chunks of N-Quads.

    Chunks are whole lines, at most `CHUNK_BYTES` unless one statement is longer.

    Attributes:
        format: what the document is read as; unset if it is not RDF.
        decided_by: what told the format.
        n_quads: statements written so far.
        is_partial: reading ended before the end of the document.
    """

    __slots__ = (
        "_base",
        "_blank_nodes",
        "_charset",
        "_found",
        "_graph",
        "_limits",
        "_log",
        "_source",
        "_trust",
        "_url",
        "decided_by",
        "format",
        "is_partial",
        "n_quads",
    )

    def __init__(
        self,
        source: bytes | Path,
        decision: formats.Decision,
        *,
        url: str,
        graph: str | None,
        charset: str,
        base: str,
        trust: Trust,
        limits: ParseLimits,
    ) -> None:
        self.format, self.decided_by, self._found = decision
        self.n_quads = 0
        self.is_partial = False
        self._source, self._charset, self._limits = source, charset, limits
        self._url, self._base, self._graph, self._trust = url, base, graph, trust
        self._log = FaultLog()
        self._blank_nodes: BlankNodes | None = None

    @property
    def faults(self) -> list[Fault]:
        """All that was wrong so far, one per reason."""
        return self._log.all()

    def __iter__(self) -> Iterator[bytes]:
        """Read the document; nothing that is wrong with it is raised."""
        try:
            if _is_blank(self._source):
                self._log.note(Reason.EMPTY)
            elif self.format is None:
                self._refuse_format()
            elif isinstance(self._source, bytes):
                yield from self._read(self.format, self._whole(self._source))
            else:
                with self._open(self._source) as stream:
                    yield from self._read(self.format, stream)
        except SourceFault as error:
            self._log.note(error.fault.reason, error.fault.detail)
            self.is_partial = True

    def _refuse_format(self) -> None:
        if self._found:
            self._log.note(Reason.UNSUPPORTED_FORMAT, self._found)
        else:
            self._log.note(Reason.UNKNOWN_FORMAT)

    def _whole(self, source: bytes) -> bytes:
        """Return a document in memory as the parser can take it."""
        if len(source) > self._limits.doc_bytes:
            source = source[: self._limits.doc_bytes]
            self._log.note(Reason.TOO_LARGE, "document cut at its largest size")
        is_xml = self.format is formats.RDF_XML
        text = to_utf8(source, charset=self._charset, is_xml=is_xml, log=self._log)
        return EntityScreen().feed(text, is_last=True) if is_xml else text

    def _open(self, path: Path) -> io.BufferedReader:
        """Return a document on disk as the parser can take it."""
        is_xml = self.format is formats.RDF_XML
        stream = Utf8Stream(
            path.open("rb"),
            charset=self._charset,
            is_xml=is_xml,
            max_bytes=self._limits.doc_bytes,
            log=self._log,
            screen=EntityScreen().feed if is_xml else None,
        )
        return io.BufferedReader(stream)

    def _reopen(self) -> BinaryIO:
        """Return the document once more; its faults are known already."""
        source = self._source
        if isinstance(source, bytes):
            text = to_utf8(source, charset=self._charset, is_xml=False, log=FaultLog())
            return io.BytesIO(text)
        stream = Utf8Stream(
            source.open("rb"),
            charset=self._charset,
            is_xml=False,
            max_bytes=self._limits.doc_bytes,
            log=FaultLog(),
        )
        return cast("BinaryIO", io.BufferedReader(stream))

    def _read(
        self, document_format: formats.Format, source: bytes | io.BufferedReader
    ) -> Iterator[bytes]:
        statements = Statements(document_format, self._base, self._limits, self._log)
        names = GraphNames(
            None if self._graph is None else check_iri(self._graph),
            url=self._url,
            trust=self._trust,
            has_graphs=document_format.has_graphs,
            log=self._log,
        )
        batches = statements.read(cast("bytes | BinaryIO", source), reopen=self._reopen)
        for lines in batches:
            chunk = self._count(names.place(self._relabel(self._drop(lines))))
            if len(chunk) > CHUNK_BYTES:
                yield from _split(chunk)
            elif chunk:
                yield chunk
            if self.is_partial:
                return
        if statements.needs_context:
            self._note_contexts()
        self.is_partial = statements.is_partial or self._log.count(Reason.TOO_LARGE) > 0

    def _drop(self, lines: bytes) -> bytes:
        """Return the lines without those that are too long or hold bad text."""
        longest = self._limits.literal_bytes
        if len(lines) > longest:
            kept = [
                line for line in lines.splitlines(keepends=True) if len(line) <= longest
            ]
            n_dropped = lines.count(b"\n") - len(kept)
            if n_dropped:
                detail = f"statements longer than {longest} bytes"
                self._log.note(Reason.LITERAL_TOO_LONG, detail, n_dropped)
                lines = b"".join(kept)
        if self._log.count(Reason.BAD_CHARSET) and MARK_BYTES in lines:
            lines = b"".join(
                line
                for line in lines.splitlines(keepends=True)
                if MARK_BYTES not in line
            )
        return lines

    def _relabel(self, lines: bytes) -> bytes:
        if b"_" not in lines or b"_:" not in lines:  # the first is far cheaper
            return lines
        if self._blank_nodes is None:
            self._blank_nodes = BlankNodes(self._url)
        return self._blank_nodes.relabel(lines)

    def _count(self, lines: bytes) -> bytes:
        """Count the statements; those over the limit are left out."""
        n_lines = lines.count(b"\n")
        n_left = self._limits.n_quads - self.n_quads
        if n_lines > n_left:
            lines = b"".join(lines.splitlines(keepends=True)[:n_left])
            n_lines = n_left
            self._log.note(Reason.TOO_LARGE, "more statements than are read")
            self.is_partial = True
        self.n_quads += n_lines
        return lines

    def _note_contexts(self) -> None:
        with self._reopen() as file:
            urls = remote_contexts(file.read(_HEAD_FOR_CONTEXTS_BYTES), base=self._base)
        for url in urls or [""]:
            self._log.note(Reason.REMOTE_CONTEXT, url, apart=True)


def _is_blank(source: bytes | Path) -> bool:
    """Tell whether a document has nothing but white space and a byte order mark."""
    if isinstance(source, bytes):
        return not source or source in _BOMS or source.isspace()
    if source.stat().st_size > formats.HEAD_BYTES:
        return False
    return _is_blank(source.read_bytes())


def _split(lines: bytes) -> Iterator[bytes]:
    """Cut lines into chunks; a line that is longer is a chunk of its own."""
    begin = 0
    while len(lines) - begin > CHUNK_BYTES:
        cut = lines.rfind(b"\n", begin, begin + CHUNK_BYTES) + 1
        cut = cut or lines.find(b"\n", begin) + 1
        yield lines[begin:cut]
        begin = cut
    yield lines[begin:]
