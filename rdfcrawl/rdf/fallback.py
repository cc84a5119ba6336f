"""Read documents strictly, else leniently, else with rdflib.

A valid document is read once, strictly and as a stream. After the first error it is
read leniently from the beginning: IRIs are mended, and only statements with bad terms
are left out, where the strict parser would lose the rest of a block or document. In
Turtle the strict parser recovers by itself once the text is mended. Statements that
were written before are repeated in the same order, and skipped. If the parser still
fails, rdflib may read a small document; since it changes the order, the output of the
parser is held back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO, Final

from rdfcrawl.core import formats
from rdfcrawl.core.errors import FaultLog, Reason, SourceFault
from rdfcrawl.rdf.checking import iter_checked
from rdfcrawl.rdf.statements import StatementReader

if TYPE_CHECKING:
    from rdfcrawl.rdf.environment import ParseLimits, ReaderContext
    from rdfcrawl.rdf.n3 import FormulaMarker
    from rdfcrawl.rdf.output import QuadLines, QuadOutput
    from rdfcrawl.rdf.text import DocumentText

_TWICE: Final = (formats.TURTLE, formats.TRIG, formats.N3, formats.RDF_XML)
_OF_RDFLIB: Final = (formats.N3, formats.RDF_XML)
# Noted once while a stream is unpacked.
_OF_STREAMS: Final = frozenset(
    {
        *(Reason.TOO_LARGE, Reason.BAD_ARCHIVE, Reason.CHECKSUM),
        *(Reason.TRUNCATED_BODY, Reason.BAD_CONTENT_ENCODING),
    }
)
_MAX_HELD_BYTES: Final = 32 * 2**20


@dataclass
class ParserFallback:
    """Reader of one document by the first parser that succeeds.

    `log` takes `REPAIRED` if the strict parser did not suffice.

    Attributes:
        is_partial: reading ended before the end of the document.
        needs_context: reading ended at a remote context of JSON-LD.
    """

    _text: DocumentText
    _format: formats.Format
    _base: str
    _limits: ParseLimits
    _environment: ReaderContext
    _log: FaultLog
    _output: QuadOutput
    _error: str = field(default="", init=False)
    _mends: bool = field(default=False, init=False)
    is_partial: bool = field(default=False, init=False)
    needs_context: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Mark the beginning, for a second reading."""
        self._before = self._log.snapshot()
        self._begin = self._output.mark()

    def __iter__(self) -> Iterator[QuadLines]:
        """Yield the chunks of the output.

        Raises:
            SourceFault: the rest of the document cannot be read.
            NeedsSandbox: rdflib may not run; nothing was yielded.
        """
        if self._format not in _TWICE or not self._text.can_reopen:
            self._attempt = self._statements()
            yield from self._read()
            return
        if self._format in _OF_RDFLIB and self._is_small():
            yield from self._read_by_rdflib_at_last()
        else:
            yield from self._read_twice()

    def _is_small(self) -> bool:
        from rdfcrawl.rdf.rdflib_reading import MAX_BYTES

        return self._text.gather(MAX_BYTES)

    def _read(self) -> Iterator[QuadLines]:
        """Yield the output of the current attempt."""
        attempt, lexical, marker = self._attempt, None, self._formula_marker()
        screens = [marker.feed] if marker else []
        if self._mends:
            from rdfcrawl.rdf.lenient import LexicalScreen, RepairScreen

            if attempt.is_lenient:
                lexical = LexicalScreen()
                screens.insert(0, lexical.feed)
            mended = RepairScreen(self._log, self._output.drop_marked)
            screens.insert(0, mended.feed)
        with self._text.open(self._log, *screens) as text:
            blocks = attempt.read(text, reopen=self._reopen)
            if marker:
                from rdfcrawl.rdf.n3 import without_formulas

                blocks = without_formulas(blocks, marker, self._log)
            # The graphs of N3 are formulas, and are left out.
            has_graphs = self._format.has_graphs and not marker
            yield from self._output.chunks(blocks, has_graphs=has_graphs)
            if attempt.error and not attempt.is_lenient:
                self._text.drain()
        self.needs_context = attempt.needs_context
        self.is_partial = attempt.is_partial
        if lexical and lexical.is_cut and not self.is_partial:
            self._log.note(Reason.SYNTAX, self._error)
            attempt.error, attempt.n_before = self._error, attempt.n_read
            self.is_partial = True
        if marker and marker.has_quantifiers:
            self._log.note(Reason.N3_FORMULA, "a quantifier ends the readable part")
            self.is_partial = True

    def _formula_marker(self) -> FormulaMarker | None:
        """Return a screen for the formulas of N3; None for other formats."""
        if self._format is not formats.N3:
            return None
        from rdfcrawl.rdf.n3 import FormulaMarker

        return FormulaMarker()

    def _reopen(self) -> BinaryIO:
        """Reopen the text to locate errors; its faults were logged before."""
        marker = self._formula_marker()
        screens = [marker.feed] if marker else []
        if self._mends:
            from rdfcrawl.rdf.lenient import RepairScreen

            screens.insert(0, RepairScreen(FaultLog(), lambda: None).feed)
        return self._text.open_stream(FaultLog(), *screens)

    def _read_twice(self) -> Iterator[QuadLines]:
        """Yield the output of the strict parser, after an error of the lenient one."""
        strict = self._attempt = self._statements(ends_at_error=True)
        yield from self._read()
        if not strict.error:
            return
        self._error = strict.error
        try:
            self._reopen().close()
        except (OSError, SourceFault):  # too long to be spooled
            return
        self._go_back(is_replay=True)
        self._mends = self._format.family == "text"
        is_turtle = self._format is formats.TURTLE
        lenient = self._attempt = self._statements(is_lenient=not is_turtle)
        yield from self._read()
        gained = not lenient.error or lenient.n_before > strict.n_before
        if self._log.count(Reason.REPAIRED):
            gained = False  # the repair is logged
        if not is_turtle and (gained or self._log.count(Reason.BAD_TERM)):
            self._log.note(Reason.REPAIRED, f"read leniently after: {strict.error}")

    def _read_by_rdflib_at_last(self) -> Iterator[QuadLines]:
        held: list[QuadLines] = []
        n_bytes = 0
        chunks = self._read_twice()
        try:
            for chunk in chunks:
                held.append(chunk)
                n_bytes += len(chunk)
                if n_bytes > _MAX_HELD_BYTES:
                    break
        except SourceFault:
            yield from held
            raise
        if n_bytes <= _MAX_HELD_BYTES and self._error and self.is_partial:
            lines = self._lines_of_rdflib()
            if lines is not None:
                yield from self._output.chunks(iter_checked(lines, self._log))
                return
        yield from held
        yield from chunks

    def _lines_of_rdflib(self) -> list[str] | None:
        """Return the statements after rewinding the output; None if rdflib fails."""
        from rdfcrawl.rdf.rdflib_reading import is_worth_trying, read_with_rdflib

        document = self._text.load(FaultLog())
        if not is_worth_trying(document, self._format):
            return None
        found = FaultLog()
        try:
            lines = read_with_rdflib(
                document,
                self._format,
                base=self._base,
                environment=self._environment,
                log=found,
            )
        except ValueError:
            return None
        self._mends = False
        self._go_back(is_replay=False)
        for fault in found.all():
            self._log.note(fault.reason, fault.detail, fault.count)
        self._log.note(Reason.REPAIRED, f"read by rdflib after: {self._error}")
        self.is_partial = False
        return lines

    def _go_back(self, *, is_replay: bool) -> None:
        kept = frozenset() if self._text.is_in_memory else _OF_STREAMS
        self._log.restore(self._before, kept=kept)
        self._output.rewind(self._begin, is_replay=is_replay)

    def _statements(
        self, *, is_lenient: bool = False, ends_at_error: bool = False
    ) -> StatementReader:
        return StatementReader(
            self._format,
            self._base,
            self._limits,
            self._log,
            is_lenient=is_lenient,
            ends_at_error=ends_at_error,
        )
