"""Convert a document of any serialization to checked N-Quads.

pyoxigraph in strict mode reads as much as possible, and serializes canonical N-Quads;
canonical lines skip the parser; lines of other readers go through it. Later steps drop,
relabel and place these lines without an object per triple.

A valid document is read once, strictly and as a stream. After the first error another
reader mends it from the beginning, where the strict parser would lose the rest of a
block or document. Statements that were written before are repeated in the same order,
and skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from rdfcrawl.core import formats
from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.errors import (
    Fault,
    FaultLog,
    NotWellFormed,
    Reason,
    SourceFault,
    needed_by_document,
)
from rdfcrawl.rdf import sniffing
from rdfcrawl.rdf.checking import (
    GATHER_BYTES,
    GraphUse,
    canonical_lines,
    dots_in_base,
    iter_checked,
    new_parser,
    serialize,
)
from rdfcrawl.rdf.environment import DEFAULT_LIMITS, INLINE, ParseLimits, ReaderContext
from rdfcrawl.rdf.nesting import is_text_too_deep
from rdfcrawl.rdf.output import QuadOutput
from rdfcrawl.rdf.statements import StatementReader
from rdfcrawl.rdf.text import DocumentText, gathered

if TYPE_CHECKING:
    from rdfcrawl.core.formats import Format
    from rdfcrawl.rdf.graphs import Trust
    from rdfcrawl.rdf.n3 import FormulaMarker
    from rdfcrawl.rdf.output import QuadLines

# Longer JSON-LD is read as a stream, without remote contexts.
MAX_JSON_LD_BYTES: Final = 16 * 2**20
RDFLIB_BYTES: Final = 256 * 1024  # a collection or literal of it takes rdflib up to 4 s
_HEAD_FOR_CONTEXTS_BYTES = 4 * 2**20
_HEAD_FOR_LINES_BYTES: Final = 2**20
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_TWICE: Final = (formats.TURTLE, formats.TRIG, formats.N3, formats.RDF_XML)
# Noted once while a stream is unpacked.
_OF_STREAMS: Final = frozenset(
    {
        *(Reason.TOO_LARGE, Reason.BAD_ARCHIVE, Reason.CHECKSUM),
        *(Reason.TRUNCATED_BODY, Reason.BAD_CONTENT_ENCODING),
    }
)
_MAX_HELD_XML_BYTES: Final = 2**20
_KEYWORDS: Final = re.compile(rb"(?:^|\.\s++)@keywords\s", re.MULTILINE)
_NONE: Final = frozenset[Reason]()


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


@dataclass(eq=False)
class DocumentParser:
    """A document being read; iterate once, over chunks of N-Quads.

    For the arguments see `parse`; `context_url` is the URL of the JSON-LD context in
    the header `Link`, or empty.

    Attributes:
        format: of the document; unset if not RDF.
        is_partial: reading ended before the end of the document.
    """

    source: ByteSource
    decision: formats.FormatDecision
    _: KW_ONLY
    charset: str
    base: str
    context_url: str = ""
    limits: ParseLimits
    environment: ReaderContext
    log: FaultLog
    output: QuadOutput
    is_partial: bool = field(default=False, init=False)
    _marker: FormulaMarker | None = field(default=None, init=False)  # of N3

    def __post_init__(self) -> None:
        """Open the text; pages have other readers."""
        self.format = self.decision.format
        self._found = self.decision.found
        if self.format is formats.HTML:
            self.format, self._found = None, formats.HTML.name
        xml_screen = None
        if self.format is not None and self.format.family == "xml":
            from rdfcrawl.rdf.rdf_xml_screen import XmlScreens

            self._screens = XmlScreens(self.base, self.output.drop_marked)
            xml_screen = self._screens.new
        self._text = DocumentText(
            self.source,
            charset=self.charset,
            max_bytes=self.limits.doc_bytes,
            xml_screen=xml_screen,
        )

    @property
    def n_quads(self) -> int:
        """Statements written so far."""
        return self.output.n_quads

    @property
    def faults(self) -> list[Fault]:
        """All faults so far, one per reason."""
        return self.log.all()

    def __iter__(self) -> Iterator[QuadLines]:
        """Read the document; faults of the document are logged, not raised.

        Raises:
            NeedsSandbox: the document may not be read here; nothing was read.
        """
        try:
            if is_blank(self.source):
                self.log.note(Reason.EMPTY)
            elif self.format is None:
                is_known = bool(self._found)
                self.log.note(
                    Reason.UNSUPPORTED_FORMAT if is_known else Reason.UNKNOWN_FORMAT,
                    self._found,
                )
            else:
                yield from self._read(self.format)
        except SourceFault as error:
            self.log.note(error.fault.reason, error.fault.detail)
            self.is_partial = True

    def _read(self, form: Format) -> Iterator[QuadLines]:
        output, text = self.output, self._text
        if refuted := self.decision.refuted:
            self.log.note(Reason.REPAIRED, f"{form.name}, labelled {refuted}")
        if form is formats.HDT:
            yield from self._read_hdt()
        elif form.reader:
            yield from self._read_by_others(form)
        elif found := canonical_lines(
            self.source.data, form, charset=self.charset, limits=self.limits
        ):
            lines, has_graphs = found
            yield from output.chunks((lines,), has_graphs=has_graphs)
            return
        elif form is formats.JSON_LD and text.gather(MAX_JSON_LD_BYTES):
            yield from self._json_ld_chunks(self._read_json_ld())
        elif form is formats.JSON_LD and self._has_json_lines():
            yield from self._json_ld_chunks(self._read_json_lines())
        elif form not in _TWICE or not text.source.can_reopen:
            yield from self._read_text(form)
        elif form is formats.RDF_XML:
            yield from self._read_xml(form)
        elif form is formats.N3 and (old := self._lines_of_rdflib()) is not None:
            yield from output.chunks(iter_checked(old, self.log))
        else:
            yield from self._read_twice(form)
        self.is_partial |= self.log.count(Reason.TOO_LARGE) > 0

    def _read_hdt(self) -> Iterator[QuadLines]:
        # Blocks of many long strings are decoded repeatedly.
        self.environment.demand_bounds("HDT")
        with needed_by_document("hdt"):
            from rdfcrawl.rdf.hdt import mapped, read_hdt

        max_bytes = self.limits.doc_bytes
        environment = self.environment
        with mapped(self.source, environment, max_bytes=max_bytes) as buffer:
            blocks = read_hdt(buffer, limits=self.limits, log=self.log)
            yield from self.output.chunks(blocks)

    def _read_by_others(self, form: Format) -> Iterator[QuadLines]:
        """Yield the output of the strict reader, after an error of the mending one."""
        self._before, self._begin = self.log.snapshot(), self.output.mark()
        try:
            yield from self._read_by_other(form)
        except NotWellFormed:
            if not (form.mender and self._text.source.can_reopen):
                raise
            self._go_back(is_replay=True)
            yield from self._read_mended_xml(form)

    def _read_by_other(self, form: Format) -> Iterator[QuadLines]:
        read = _imported(form.reader)
        with self._text.open_stream(self.log) as text:
            own = {"base": self.base} if form.has_base else {}
            statements = read(text, limits=self.limits, log=self.log, **own)
            yield from self.output.chunks(
                iter_checked(statements, self.log), has_graphs=form.has_graphs
            )

    def _read_json_ld(self) -> Iterator[bytes]:
        from rdfcrawl.rdf.jsonld.reading import read_json_ld

        return read_json_ld(
            self._text.load(self.log),
            base=self.base,
            environment=self.environment,
            log=self.log,
            context_url=self.context_url,
        )

    def _has_json_lines(self) -> bool:
        from rdfcrawl.rdf.jsonld.reading import has_json_lines

        with suppress(OSError, SourceFault), self._text.open_stream(FaultLog()) as file:
            return has_json_lines(file.read(_HEAD_FOR_LINES_BYTES), is_whole=False)
        return False

    def _read_json_lines(self) -> Iterator[bytes]:
        from rdfcrawl.rdf.jsonld.contexts import JsonLdReaderOptions
        from rdfcrawl.rdf.jsonld.reading import read_json_lines

        options = JsonLdReaderOptions(base=self.base, context_url=self.context_url)
        with self._text.open_stream(self.log) as file:
            yield from read_json_lines(
                file, options=options, environment=self.environment, log=self.log
            )

    def _json_ld_chunks(self, blocks: Iterator[bytes]) -> Iterator[QuadLines]:
        n_breaks = self._n_breaks()
        yield from self.output.chunks(blocks, has_graphs=True)
        self.is_partial = self._n_breaks() > n_breaks

    def _n_breaks(self) -> int:
        """Return the number of faults at which JSON-LD ends."""
        breaks = (Reason.SYNTAX, Reason.REMOTE_CONTEXT)
        return sum(fault.count for fault in self.faults if fault.reason in breaks)

    def _note_contexts(self) -> None:
        from rdfcrawl.rdf.jsonld.contexts import remote_contexts

        urls: list[str] = []
        with (
            suppress(OSError, SourceFault),  # a stream that cannot be reopened
            self._text.open_stream(FaultLog()) as file,
        ):
            head = file.read(_HEAD_FOR_CONTEXTS_BYTES)
            urls = remote_contexts(head, base=self.base)
        for url in urls or [""]:
            self.log.note(Reason.REMOTE_CONTEXT, url, apart=True)

    def _read_text(
        self, form: Format, *, ends_at_error: bool = False
    ) -> Iterator[QuadLines]:
        """Yield the output of the parser."""
        attempt = self._attempt = StatementReader(
            form, self.base, self.limits, self.log, ends_at_error=ends_at_error
        )
        with self._open(form) as text:
            blocks = attempt.read(text, reopen=partial(self._reopen, form))
            yield from self._chunks(form, blocks)
            if attempt.error:
                self._text.drain()
        if attempt.needs_context:
            self._note_contexts()
        self.is_partial = attempt.is_partial

    def _open(self, form: Format) -> AbstractContextManager[bytes | BinaryIO]:
        self._marker = None
        if form is not formats.N3:
            return self._text.open(self.log)
        from rdfcrawl.rdf.n3 import FormulaMarker

        self._marker = FormulaMarker()
        return self._text.open(self.log, self._marker.feed)

    def _chunks(self, form: Format, blocks: Iterable[bytes]) -> Iterator[QuadLines]:
        """Yield the statements; the graphs of N3 are formulas, and are left out."""
        if self._marker is not None:
            from rdfcrawl.rdf.n3 import without_formulas

            blocks = without_formulas(blocks, self._marker, self.log)
        has_graphs = form.has_graphs and self._marker is None
        for block in blocks:
            has_graphs = has_graphs or self._attempt.is_mended
            use = self._attempt.graphs
            yield from self.output.chunks(
                (block,),
                has_graphs=has_graphs and use is not GraphUse.NONE,
                all_named=use is GraphUse.ALL,
            )
            if self.output.is_full:
                return

    def _reopen(self, form: Format) -> BinaryIO:
        """Reopen the text to locate errors; its faults were logged before."""
        if form is not formats.N3:
            return self._text.open_stream(FaultLog())
        from rdfcrawl.rdf.n3 import FormulaMarker

        return self._text.open_stream(FaultLog(), FormulaMarker().feed)

    def _can_reopen(self, form: Format) -> bool:
        """Return whether the text can be read again; a very long one is not spooled."""
        with suppress(OSError, SourceFault):
            self._reopen(form).close()
            return True
        return False

    def _read_twice(self, form: Format) -> Iterator[QuadLines]:
        """Yield the output of the strict parser, after an error of the mending one."""
        self._before, self._begin = self.log.snapshot(), self.output.mark()
        yield from self._read_text(form, ends_at_error=True)
        strict = self._attempt
        if not strict.error:
            return
        if not self._can_reopen(form):
            yield from self.output.chunks((strict.held,), has_graphs=form.has_graphs)
            return
        self._go_back(is_replay=True)
        if form is formats.N3 and (other := self._form_that_parses()):
            self.log.note(Reason.REPAIRED, f"{other.name}, labelled {form.name}")
            yield from self._read_text(other)
            return
        yield from self._read_mended(form)

    def _read_xml(self, form: Format) -> Iterator[QuadLines]:
        """Yield the output of the strict parser, after an error of the mending one."""
        from rdfcrawl.rdf.rdf_xml_literals import MendingNeeded
        from rdfcrawl.rdf.rdf_xml_screen import LiteralsNeeded

        self._before, self._begin = self.log.snapshot(), self.output.mark()
        held: list[QuadLines] = []
        n_bytes = 0
        is_bad = is_lost = False
        self._screens.is_strict = True
        try:
            while True:
                try:
                    for chunk in self._read_text(form, ends_at_error=True):
                        n_bytes += len(chunk)
                        held.append(chunk)
                        if n_bytes > _MAX_HELD_XML_BYTES:
                            yield from held
                            held.clear()
                    break
                except LiteralsNeeded:
                    self._screens.follows_literals = True
                    self._go_back(is_replay=n_bytes > _MAX_HELD_XML_BYTES)
                    held.clear()
            # The parser takes a document without its end for complete.
            is_bad = bool(self._attempt.error or self._screens.depth)
            is_lost = is_bad and not self._can_reopen(form)
        except MendingNeeded:
            is_bad = True
        except (OSError, SourceFault):
            yield from held
            raise
        self._screens.is_strict = False
        if is_lost or not is_bad:
            yield from held
            if is_lost:
                yield from self.output.chunks((self._attempt.held,))
            return
        self._go_back(is_replay=n_bytes > _MAX_HELD_XML_BYTES)
        yield from self._read_mended_xml(form)

    def _read_mended_xml(self, form: Format) -> Iterator[QuadLines]:
        reader = _imported(form.mender)(self.base, limits=self.limits, log=self.log)
        with self._text.open_stream(self.log) as file:
            lines = iter_checked(reader.read(file), self.log)
            yield from self.output.chunks(lines, has_graphs=form.has_graphs)
        self.is_partial = reader.is_partial

    def _form_that_parses(self) -> Format | None:
        """Return the format of small text that is no N3, but valid with graphs."""
        if self._text.source.data is None:
            return None
        text = self._text.load(FaultLog())
        if len(text) > RDFLIB_BYTES or is_text_too_deep(text):
            return None
        for form in (formats.TRIG, formats.N_QUADS):
            parser = new_parser(text, form, self.base)
            if not serialize(parser, BytesIO()) and not dots_in_base(parser):
                return form
        return None

    def _read_mended(self, form: Format) -> Iterator[QuadLines]:
        from rdfcrawl.rdf.mending import MendingReader

        with self._open(form) as text:
            reader = MendingReader(
                text, form, self.base, limits=self.limits, log=self.log
            )
            blocks = gathered(reader.read(), GATHER_BYTES)
            if form is formats.N3:
                yield from self._chunks(form, blocks)
            else:
                yield from self.output.chunks(blocks, has_graphs=True)
        self.is_partial = reader.is_partial

    def _lines_of_rdflib(self) -> list[str] | None:
        """Return the statements of N3 with keywords; None for other N3."""
        if not self._text.gather(RDFLIB_BYTES):
            return None
        data = self._text.source.data or b""
        if b"@keywords" not in data or not _KEYWORDS.search(data):
            return None
        from rdfcrawl.rdf.n3 import has_logic
        from rdfcrawl.rdf.rdflib_reading import read_with_rdflib

        document, found = self._text.load(FaultLog()), FaultLog()
        if has_logic(document):
            return None
        try:
            lines = read_with_rdflib(
                document, base=self.base, environment=self.environment, log=found
            )
        except ValueError:
            return None
        self._text.load(self.log)  # for its faults
        for fault in found.all():
            self.log.note(fault.reason, fault.detail, fault.count)
        self.log.note(Reason.REPAIRED, "read by rdflib: @keywords of old N3")
        return lines

    def _go_back(self, *, is_replay: bool) -> None:
        is_in_memory = self._text.source.data is not None
        self.log.restore(self._before, kept=_NONE if is_in_memory else _OF_STREAMS)
        self.output.rewind(self._begin, is_replay=is_replay)


def _imported(dotted_name: str) -> Any:
    module, _, name = dotted_name.rpartition(".")
    return getattr(import_module(module), name)


def is_blank(source: ByteSource) -> bool:
    """Return whether a document is only white space or a byte order mark."""
    if source.data is not None:
        return not source.data or source.data in _BOMS or source.data.isspace()
    head = source.head()
    return len(head) < formats.HEAD_BYTES and (
        not head or head in _BOMS or head.isspace()
    )
