"""The statements of a document as canonical N-Quads, as the parser gives them.

Every term was checked by pyoxigraph in its strict mode. Blank nodes and graphs are
still those of the document.
"""

from __future__ import annotations

import io
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

import pyoxigraph
from pyoxigraph import RdfFormat

from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.rdf.contexts import has_long_chain
from rdfcrawl.rdf.graphs import check_iri
from rdfcrawl.rdf.lines import iter_line_blocks
from rdfcrawl.rdf.nesting import MAX_DEPTH, is_json_too_deep, is_text_too_deep
from rdfcrawl.rdf.recovery import (
    SourceLines,
    bad_line,
    breaks_directive,
    is_cut_off,
    is_empty_span,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyoxigraph import Quad, QuadParser

    from rdfcrawl.formats import Format
    from rdfcrawl.rdf.faultlog import FaultLog
    from rdfcrawl.rdf.limits import ParseLimits

GATHER_BYTES = 128 * 1024  # N-Quads gathered before they are handed on
_FIRST_BATCH = 64  # statements; a batch grows while its lines are short
_LARGEST_BATCH = 1024
_NO_LOADER = "No LoadDocumentCallback"


class Statements:
    """Reads one document.

    Attributes:
        is_partial: reading ended before the end of the document.
        needs_context: it ended at a remote context of JSON-LD.
    """

    __slots__ = (
        "_base",
        "_format",
        "_limits",
        "_log",
        "_n_errors",
        "is_partial",
        "needs_context",
    )

    def __init__(
        self, document_format: Format, base: str, limits: ParseLimits, log: FaultLog
    ) -> None:
        self._format, self._base, self._limits = document_format, base, limits
        self._log = log
        self._n_errors = 0
        self.is_partial = False
        self.needs_context = False

    def read(
        self, source: bytes | BinaryIO, *, reopen: Callable[[], BinaryIO]
    ) -> Iterator[bytes]:
        """Yield lines of canonical N-Quads, about `GATHER_BYTES` at a time.

        Args:
            source: UTF-8 without byte order mark.
            reopen: gives the source once more, to look at the place of an error.

        Raises:
            SourceFault: from reading the source, or it is nested too deeply.
        """
        if self._format.is_line_based:
            return self._read_lines(source)
        if isinstance(source, bytes):
            self._check_depth(source)
        return _gather(self._read_whole(source, reopen))

    # Line-based formats: each block of lines has a parser of its own, and after a
    # bad line reading starts anew with the next one, whatever was open in it.

    def _read_lines(self, source: bytes | BinaryIO) -> Iterator[bytes]:
        if isinstance(source, bytes) and len(source) <= GATHER_BYTES:
            yield self._read_block(source, 0)
            return
        file = io.BytesIO(source) if isinstance(source, bytes) else source
        n_lines = 0
        for block in iter_line_blocks(
            file.read, max_line_bytes=self._limits.literal_bytes, drop=self._drop_line
        ):
            yield self._read_block(block, n_lines)
            if self.is_partial:
                return
            n_lines += block.count(b"\n") or block.count(b"\r")

    def _drop_line(self) -> None:
        self._log.note(Reason.LITERAL_TOO_LONG, "a line is too long")

    def _read_block(self, block: bytes, n_before: int) -> bytes:
        # A line format nests by `<<(` alone, and one byte is counted far faster.
        if block.count(b"(") > MAX_DEPTH and is_text_too_deep(block):
            block = self._without_deep_lines(block)
        out = io.BytesIO()
        lines: list[bytes] = []
        done = 0
        while True:
            error = _serialize(_parser(block, self._format, None), out)
            if error is None:
                break
            if isinstance(error, SourceFault):
                raise error
            lines = lines or block.splitlines(keepends=True)
            done += bad_line(error)
            self._note_error(error, n_before + done)
            if self._n_errors >= self._limits.n_errors:
                self.is_partial = True
                break
            if done >= len(lines):
                # A last line without end was cut off, as far as one can tell.
                self.is_partial = not lines[-1].endswith((b"\n", b"\r"))
                break
            block = b"".join(lines[done:])
        return out.getvalue()

    def _without_deep_lines(self, block: bytes) -> bytes:
        lines = block.splitlines(keepends=True)
        kept = [b"\n" if is_text_too_deep(line) else line for line in lines]
        self._log.note(Reason.SYNTAX, _TOO_DEEP, kept.count(b"\n"))
        return b"".join(kept)

    # Other formats: one parser, that goes on by itself where that is safe.

    def _read_whole(
        self, source: bytes | BinaryIO, reopen: Callable[[], BinaryIO]
    ) -> Iterator[bytes]:
        parser = _parser(source, self._format, self._base)
        batch = _FIRST_BATCH
        with closing(SourceLines(reopen)) as places:
            while True:
                out = io.BytesIO()
                failure = _serialize(islice(parser, batch), out)
                lines = out.getvalue()
                if failure is not None:
                    text = self._text_before(failure, places)
                    goes_on = self._goes_on(failure, text, parser)
                    yield lines if goes_on else _without_cut_off(lines, failure, text)
                    if not goes_on:
                        return
                    continue
                yield lines
                if lines.count(b"\n") < batch:
                    return
                if len(lines) > GATHER_BYTES:
                    batch = max(batch // 4, 1)
                elif batch < _LARGEST_BATCH:
                    batch *= 4

    def _text_before(
        self, failure: SyntaxError | SourceFault, places: SourceLines
    ) -> str | None:
        if isinstance(failure, SourceFault) or self._format.family != "text":
            return None
        return places.up_to(failure.lineno or 1, failure.offset or 1)

    def _goes_on(
        self,
        error: SyntaxError | SourceFault,
        text: str | None,
        parser: QuadParser,
    ) -> bool:
        """Note the error and tell whether reading may go on after it."""
        if isinstance(error, SourceFault):
            self._log.note(error.fault.reason, error.fault.detail)
            self.is_partial = True
            return False
        if _NO_LOADER in str(error):
            self.needs_context = self.is_partial = True
            return False
        self._note_error(error, error.lineno)
        self.is_partial = (
            not self._format.is_resumable
            or self._n_errors >= self._limits.n_errors
            # At the end of the source the parser would still hand out what it has
            # of a statement whose last term may be cut off.
            or is_empty_span(error)
            or breaks_directive(text, parser.prefixes)
        )
        return not self.is_partial

    def _note_error(self, error: SyntaxError, line: int | None) -> None:
        self._n_errors += 1
        place = f"line {line}: " if line is not None else ""
        self._log.note(Reason.SYNTAX, place + error.msg)

    def _check_depth(self, source: bytes) -> None:
        if self._format.family == "json":
            is_too_deep = is_json_too_deep(source) or has_long_chain(source)
        else:
            is_too_deep = is_text_too_deep(source)
        if is_too_deep:
            raise SourceFault(Reason.SYNTAX, _TOO_DEEP)


_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"


def _gather(batches: Iterable[bytes]) -> Iterator[bytes]:
    """Join batches to about `GATHER_BYTES`."""
    parts: list[bytes] = []
    n_bytes = 0
    for lines in batches:
        parts.append(lines)
        n_bytes += len(lines)
        if n_bytes >= GATHER_BYTES:
            yield b"".join(parts)
            parts.clear()
            n_bytes = 0
    yield parts[0] if len(parts) == 1 else b"".join(parts)


def _without_cut_off(
    lines: bytes, error: SyntaxError | SourceFault, text: str | None
) -> bytes:
    """Return the lines without a last one whose last term may be cut off."""
    if isinstance(error, SourceFault) or not is_empty_span(error):
        return lines
    begin = lines.rfind(b"\n", 0, -1) + 1
    return lines[:begin] if is_cut_off(text, lines[begin:]) else lines


def _parser(
    source: bytes | BinaryIO, document_format: Format, base: str | None
) -> QuadParser:
    try:
        return pyoxigraph.parse(source, document_format.parser, base_iri=base)
    except ValueError:  # the base is no IRI
        base = check_iri(base or "")
        return pyoxigraph.parse(source, document_format.parser, base_iri=base)


def _serialize(
    quads: Iterable[Quad], out: BinaryIO
) -> SyntaxError | SourceFault | None:
    """Write the quads as canonical N-Quads; return what ended them early.

    What came before that is in `out`.
    """
    try:
        pyoxigraph.serialize(quads, out, RdfFormat.N_QUADS)
    except (SyntaxError, SourceFault) as error:
        return error
    except MemoryError as error:
        if "buffer" not in str(error):
            raise
        # One token is longer than the 16 MiB the parser takes.
        return SourceFault(Reason.LITERAL_TOO_LONG, str(error))
    except BaseException as error:
        # A bug in the parser arrives as a PanicException, which is no Exception.
        if type(error).__name__ == "PanicException":
            return SourceFault(Reason.PARSE_CRASH, str(error))
        raise
    return None
