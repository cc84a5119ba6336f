"""Convert a document of any serialization to checked N-Quads.

pyoxigraph in strict mode reads as much as possible, and serializes canonical N-Quads;
canonical lines skip the parser; lines of other readers go through it. Later steps drop,
relabel and place these lines without an object per triple.
"""

from __future__ import annotations

import io
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from rdfcrawl.core import formats
from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.errors import (
    Fault,
    FaultLog,
    Reason,
    SourceFault,
    needed_by_document,
)
from rdfcrawl.core.messages import counted
from rdfcrawl.rdf import sniffing
from rdfcrawl.rdf.checking import GATHER_BYTES, canonical, iter_checked
from rdfcrawl.rdf.environment import DEFAULT_LIMITS, INLINE, ParseLimits, ReaderContext
from rdfcrawl.rdf.fallback import ParserFallback
from rdfcrawl.rdf.output import QuadOutput
from rdfcrawl.rdf.text import DocumentText

if TYPE_CHECKING:
    from rdfcrawl.rdf.graphs import Trust
    from rdfcrawl.rdf.output import QuadLines

# Longer JSON-LD is read as a stream, without remote contexts.
MAX_JSON_LD_BYTES: Final = 16 * 2**20
_HEAD_FOR_CONTEXTS_BYTES = 4 * 2**20
_UTF8: Final = ("", "utf-8")  # usual declarations; others are looked up
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


def parse(  # noqa: PLR0913  # keywords, all but one with a default
    source: bytes | Path | ByteSource,
    *,
    url: str,
    graph: str | None,
    media_type: str = "",
    charset: str = "",
    base: str | None = None,
    trust: Trust = "same-origin",
    limits: ParseLimits = DEFAULT_LIMITS,
    environment: ReaderContext = INLINE,
) -> DocumentParser:
    """Return the N-Quads of one document, which is read on iteration.

    A file is read as a stream in bounded memory. A hostile one can still take long or
    crash the parser: use `rdf.extraction.sandbox.Sandbox` for large documents.

    Args:
        source: the document, not compressed.
        url: of the document, after redirects; source of the blank node labels.
        graph: name of the graph of the statements; None: the default graph.
        media_type: of the Content-Type, or empty.
        charset: of the Content-Type, or empty.
        base: of relative IRIs; `url` if unset.
        trust: see `graphs.GraphRule`.
        limits: on the document.
        environment: of the readers.

    Raises:
        OSError: the file cannot be read.
    """
    source = ByteSource.of(source)
    log = FaultLog()
    return DocumentParser(
        source,
        sniffing.decide(media_type, url, source.head()),
        charset=charset,
        base=url if base is None else base,
        limits=limits,
        environment=environment,
        log=log,
        output=QuadOutput(url=url, graph=graph, trust=trust, limits=limits, log=log),
    )


class DocumentParser:
    """A document being read; iterate once, over chunks of N-Quads.

    For the arguments see `parse`; `context_url` is the URL of the JSON-LD context in
    the header `Link`, or empty.

    Attributes:
        format: of the document; unset if not RDF.
        is_partial: reading ended before the end of the document.
    """

    def __init__(  # noqa: PLR0913  # keywords, of one caller
        self,
        source: ByteSource,
        decision: formats.FormatDecision,
        *,
        charset: str,
        base: str,
        context_url: str = "",
        limits: ParseLimits,
        environment: ReaderContext,
        log: FaultLog,
        output: QuadOutput,
    ) -> None:
        self.format: formats.Format | None = decision.format
        self.is_partial = False
        self._found = decision.found
        if decision.format is formats.HTML:  # pages have other readers
            self.format, self._found = None, formats.HTML.name
        self._source = source
        self._text = DocumentText(
            source,
            charset=charset,
            is_xml=self.format is not None and self.format.family == "xml",
            max_bytes=limits.doc_bytes,
        )
        self._base, self._context_url = base, context_url
        self._charset = charset
        self._limits, self._environment = limits, environment
        self._log, self._output = log, output

    @property
    def n_quads(self) -> int:
        """Statements written so far."""
        return self._output.n_quads

    @property
    def faults(self) -> list[Fault]:
        """All faults so far, one per reason."""
        return self._log.all()

    def __iter__(self) -> Iterator[QuadLines]:
        """Read the document; faults of the document are logged, not raised.

        Raises:
            NeedsSandbox: the document may not be read here; nothing was read.
        """
        try:
            if is_blank(self._source):
                self._log.note(Reason.EMPTY)
            elif self.format is None:
                is_known = bool(self._found)
                self._log.note(
                    Reason.UNSUPPORTED_FORMAT if is_known else Reason.UNKNOWN_FORMAT,
                    self._found,
                )
            else:
                yield from self._read(self.format)
        except SourceFault as error:
            self._log.note(error.fault.reason, error.fault.detail)
            self.is_partial = True

    def _read(self, document_format: formats.Format) -> Iterator[QuadLines]:
        if document_format is formats.HDT:
            yield from self._read_hdt()
        elif document_format.reader:
            yield from self._read_by_other(document_format)
        elif found := canonical_lines(
            self._source.data,
            document_format,
            charset=self._charset,
            limits=self._limits,
        ):
            lines, has_graphs = found
            yield from self._output.chunks((lines,), has_graphs=has_graphs)
            return
        elif document_format is formats.JSON_LD and self._text.gather(
            MAX_JSON_LD_BYTES
        ):
            yield from self._read_json_ld()
        else:
            yield from self._read_by_parser(document_format)
        self.is_partial |= self._log.count(Reason.TOO_LARGE) > 0

    def _read_hdt(self) -> Iterator[QuadLines]:
        # Blocks of many long strings are decoded repeatedly.
        self._environment.demand_bounds("HDT")
        with needed_by_document("hdt"):
            from rdfcrawl.rdf.hdt import read_hdt  # noqa: PLC0415 (slow to import)

        max_bytes = self._limits.doc_bytes
        with mapped(
            self._source, environment=self._environment, max_bytes=max_bytes
        ) as buffer:
            blocks = read_hdt(buffer, limits=self._limits, log=self._log)
            yield from self._output.chunks(blocks)

    def _read_by_other(self, document_format: formats.Format) -> Iterator[QuadLines]:
        module, _, name = document_format.reader.rpartition(".")
        read = getattr(import_module(module), name)
        with self._text.open_stream(self._log) as text:
            statements = read(text, limits=self._limits, log=self._log)
            yield from self._output.chunks(
                iter_checked(statements, self._log),
                has_graphs=document_format.has_graphs,
            )

    def _read_json_ld(self) -> Iterator[QuadLines]:
        from rdfcrawl.rdf.jsonld.reading import read_json_ld  # noqa: PLC0415 (slow)

        n_breaks = self._n_breaks()
        blocks = read_json_ld(
            self._text.load(self._log),
            base=self._base,
            environment=self._environment,
            log=self._log,
            context_url=self._context_url,
        )
        yield from self._output.chunks(blocks, has_graphs=True)
        self.is_partial = self._n_breaks() > n_breaks

    def _n_breaks(self) -> int:
        """Return the number of faults at which JSON-LD ends."""
        breaks = (Reason.SYNTAX, Reason.REMOTE_CONTEXT)
        return sum(fault.count for fault in self.faults if fault.reason in breaks)

    def _read_by_parser(self, document_format: formats.Format) -> Iterator[QuadLines]:
        fallback = ParserFallback(
            self._text,
            document_format,
            self._base,
            self._limits,
            self._environment,
            self._log,
            self._output,
        )
        yield from fallback
        if fallback.needs_context:
            self._note_contexts()
        self.is_partial = fallback.is_partial

    def _note_contexts(self) -> None:
        from rdfcrawl.rdf.jsonld.contexts import remote_contexts  # noqa: PLC0415

        urls: list[str] = []
        with (
            suppress(OSError, SourceFault),  # a stream that cannot be reopened
            self._text.open_stream(FaultLog()) as file,
        ):
            head = file.read(_HEAD_FOR_CONTEXTS_BYTES)
            urls = remote_contexts(head, base=self._base)
        for url in urls or [""]:
            self._log.note(Reason.REMOTE_CONTEXT, url, apart=True)


def canonical_lines(
    data: bytes | None,
    document_format: formats.Format,
    *,
    charset: str,
    limits: ParseLimits,
) -> tuple[bytes, bool] | None:
    """Return the lines of a small document that readers would not change, else None.

    The second value is whether the lines may name graphs. `data` is None for a document
    that is not in memory.
    """
    if (
        not document_format.is_line_based
        or data is None
        or len(data) > min(GATHER_BYTES, limits.doc_bytes)
        or charset not in _UTF8
    ):
        return None
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError:
            return None
    if (lines := canonical(data, has_graphs=False)) is not None:
        return lines, False
    if not document_format.has_graphs:
        return None
    lines = canonical(data, has_graphs=True)
    return None if lines is None else (lines, True)


def is_blank(source: ByteSource) -> bool:
    """Return whether a document is only white space or a byte order mark."""
    if source.data is not None:
        return not source.data or source.data in _BOMS or source.data.isspace()
    head = source.head()
    return len(head) < formats.HEAD_BYTES and (
        not head or head in _BOMS or head.isspace()
    )


@contextmanager
def mapped(
    source: ByteSource, *, environment: ReaderContext, max_bytes: int
) -> Iterator[memoryview]:
    """Yield the bytes of a source as one buffer; a stream is spooled first.

    Raises:
        SourceFault: `TOO_LARGE`: more than `max_bytes`, or no space to spool a stream.
        NeedsSandbox: there is no scratch space to spool a stream.
    """
    if source.data is not None:
        _demand(len(source.data), max_bytes)
        yield memoryview(source.data)
        return
    with source.open() as file:
        if isinstance(file, io.BufferedReader) and isinstance(file.raw, io.FileIO):
            yield from _map_file(file, environment, max_bytes)
        else:
            yield from _map_stream(file, environment, max_bytes)


def _map_file(
    file: BinaryIO, environment: ReaderContext, max_bytes: int
) -> Iterator[memoryview]:
    n_bytes = os.fstat(file.fileno()).st_size
    _demand(n_bytes, max_bytes)
    environment.lift(n_bytes)
    buffer = mmap.mmap(file.fileno(), n_bytes, prot=mmap.PROT_READ)
    try:
        with memoryview(buffer) as view:
            yield view
    finally:
        # An exception may still hold arrays over the buffer; they close it later.
        with suppress(BufferError):
            buffer.close()


def _map_stream(
    file: BinaryIO, environment: ReaderContext, max_bytes: int
) -> Iterator[memoryview]:
    if environment.scratch is None:
        environment.demand_bounds("spooling a stream")
        raise SourceFault(Reason.TOO_LARGE, "no scratch space for random access")
    held = environment.scratch.hold(file, max_bytes=max_bytes)
    try:
        environment.lift(held.n_bytes)
        view = held.map()
        try:
            yield view
        finally:
            with suppress(BufferError):
                view.release()
    finally:
        with suppress(BufferError):
            held.close()


def _demand(n_bytes: int, max_bytes: int) -> None:
    if n_bytes > max_bytes:
        raise SourceFault(
            Reason.TOO_LARGE, f"{counted(n_bytes, 'byte')}, and it cannot be truncated"
        )
