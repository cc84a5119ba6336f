"""Parse a document to canonical N-Quads, with original blank nodes and graphs.

After a bad statement, reading continues only if no false statement can result.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf import checking, nesting
from rdfcrawl.rdf.checking import (
    FIRST_BATCH,
    GATHER_BYTES,
    LARGEST_BATCH,
    SMALL_BYTES,
    GraphUse,
    next_batch,
)
from rdfcrawl.rdf.text import gathered, iter_line_blocks

if TYPE_CHECKING:
    from pyoxigraph import QuadParser

    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.core.formats import Format
    from rdfcrawl.rdf.environment import ParseLimits

_MAX_LINE_BYTES = 2**20
_MAX_TEXT_CHARS = 8192  # before an error
_ends_iri = re.compile(r"[\s<>\"]").search
# Text before an error within `@prefix p: <iri>`
_OPEN_DIRECTIVE = re.compile(
    r"(?:@|\b)(?P<keyword>prefix|base)\s+(?:(?P<prefix>[^\s<>\":]*):\s*)?(?:<[^<>\"]*)?$",
    re.IGNORECASE,
)

# A term without an end mark: prefixed name, number or blank node label
_BARE_TERM = re.compile(r"(?<![\w.%-])[\w.%-]++$")
_PLACE = re.compile(r"^Parser error (?:at line \d+ |between line .*?: )")
# RDF 1.2 N-Triples 2.3; the parser does not know it.
_VERSION = re.compile(
    rb"\s*+VERSION\s*+(?:\"[^\"]*+\"|'[^']*+')\s*+(?:#.*+)?\Z", re.DOTALL
)
_BEGINS_STATEMENT = re.compile(rb"<<|_:|<[^<>\s]*:")
_NO_LOADER = "No LoadDocumentCallback"


@dataclass(slots=True)
class StatementReader:
    """Reader of one document."""

    _format: Format
    _base: str
    _limits: ParseLimits
    _log: FaultLog
    ends_at_error: bool = False  # the first error of the parser ends reading
    # reading ended before the end of the document
    is_partial: bool = field(default=False, init=False)
    # reading ended at a remote context of JSON-LD
    needs_context: bool = field(default=False, init=False)
    error: str = field(default="", init=False)  # first message of the parser
    # the last lines, if an error ended reading: the last term may be a part of one
    held: bytes = field(default=b"", init=False)
    # mended lines of N-Triples may name graphs
    is_mended: bool = field(default=False, init=False)
    # of the last block of a line-based format
    graphs: GraphUse = field(default=GraphUse.SOME, init=False)
    _n_errors: int = field(default=0, init=False)
    _ends_in_text: bool = field(default=False, init=False)  # so far; not a statement

    def read(
        self, source: bytes | BinaryIO, *, reopen: Callable[[], BinaryIO]
    ) -> Iterator[bytes]:
        """Yield blocks of canonical N-Quads, of about `GATHER_BYTES`.

        Args:
            source: UTF-8 without byte order mark.
            reopen: reopens the source, to locate an error.

        Raises:
            SourceFault: from the source, or nested too deeply.
        """
        if self._format.is_line_based:
            return self._read_lines(source)
        if isinstance(source, bytes):
            family = self._format.family
            if family == "json":
                nesting.check_json_depth(source)
            if (family == "json" and nesting.has_long_chain(source)) or (
                family == "text" and nesting.is_text_too_deep(source)
            ):
                raise SourceFault(Reason.SYNTAX, nesting.TOO_DEEP)
        return gathered(self._read_stream(source, reopen), GATHER_BYTES)

    # Line-based formats: canonical lines skip the parser. Other lines have a separate
    # parser; after a bad line, a new one begins with the next line.

    def _read_lines(self, source: bytes | BinaryIO) -> Iterator[bytes]:
        if isinstance(source, bytes) and len(source) <= GATHER_BYTES:
            yield self._read_runs(source, 0)
            self.is_partial |= self._ends_in_text
            return
        file = io.BytesIO(source) if isinstance(source, bytes) else source
        n_lines = 0
        for block in iter_line_blocks(
            file.read, max_line_bytes=self._limits.literal_bytes, log=self._log
        ):
            yield self._read_runs(block, n_lines)
            if self.is_partial:
                return
            n_lines += block.count(b"\n") or block.count(b"\r")
        self.is_partial |= self._ends_in_text

    def _read_runs(self, block: bytes, n_before: int) -> bytes:
        parts: list[bytes] = []
        uses: set[GraphUse] = set()
        for run in checking.iter_runs(block, has_graphs=self._format.has_graphs):
            self._ends_in_text = False
            uses.add(run.graphs)
            if run.is_canonical:
                parts.append(run.lines)
                continue
            count_lines = partial(block.count, b"\n", 0, run.begin)
            parts.append(self._read_block(run.lines, n_before, count_lines))
            if self.is_partial:
                break
        self.graphs = uses.pop() if len(uses) == 1 else GraphUse.SOME
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _read_block(
        self, block: bytes, n_before: int, count_lines: Callable[[], int]
    ) -> bytes:
        # Line-based formats only nest by `<<(`, and one byte is counted much faster.
        if block.count(b"(") > nesting.MAX_DEPTH and nesting.is_text_too_deep(block):
            lines = block.splitlines(keepends=True)
            is_deep = nesting.is_text_too_deep
            kept = [b"\n" if is_deep(line) else line for line in lines]
            self._log.note(Reason.SYNTAX, nesting.TOO_DEEP, kept.count(b"\n"))
            block = b"".join(kept)
        out, text = io.BytesIO(), b""
        for number, line, error in checking.iter_refused(block, self._format, out):
            if _VERSION.match(line):
                continue
            repaired = checking.mended(line, self._log, self._format)
            if repaired:
                self.is_mended = True
                out.write(_without_written(repaired, out))
            else:
                self._note_error(error, n_before + count_lines() + number)
                # A last line without end was probably truncated.
                self.is_partial = not line.endswith((b"\n", b"\r"))
                text = line.strip()
            if self._n_errors >= self._limits.n_errors:
                self.is_partial = True
                break
        if text and not _is_like_statement(text):
            self._ends_in_text = block.rstrip().endswith(text)
        return out.getvalue()

    # Other formats: one parser, which continues where that is safe.

    def _read_stream(
        self, source: bytes | BinaryIO, reopen: Callable[[], BinaryIO]
    ) -> Iterator[bytes]:
        parser = checking.new_parser(source, self._format, self._base)
        is_small = isinstance(source, bytes) and len(source) < SMALL_BYTES
        batch, places = 4 * FIRST_BATCH if is_small else FIRST_BATCH, None
        try:
            while True:
                lines, n_quads, failure = self._read_batch(parser, batch)
                if failure is None and n_quads < batch:
                    yield self.held + lines
                    return
                if self.ends_at_error and lines:
                    self.held, lines = lines, self.held
                if failure is None:
                    yield lines
                    batch = next_batch(batch, len(lines))
                    continue
                places = places or _SourceLines(reopen)
                text = self._text_before(failure, places)
                if not self._continues_after(failure, text, parser):
                    if self.ends_at_error:
                        yield lines
                        lines, self.held = self.held, b""
                    lines = _without_cut_off(lines, failure, text)
                    if self.ends_at_error and self.error:
                        self.held = lines
                    else:
                        yield lines
                    return
                yield lines
        finally:
            if places:
                places.close()

    def _read_batch(
        self, parser: QuadParser, batch: int
    ) -> tuple[bytes, int, SyntaxError | SourceFault | None]:
        """Return the lines, the number of statements, and the error that ended them.

        Counting takes a twentieth of the time: large batches are assumed to be full.
        The last one may be smaller; the next one is then empty.
        """
        quads = islice(parser, batch)
        out = io.BytesIO()
        failure = checking.serialize(quads, out)
        if failure is None and self.ends_at_error:
            failure = checking.dots_in_base(parser)
        lines = out.getvalue()
        if batch == LARGEST_BATCH and lines and failure is None:
            return lines, batch, None
        return lines, lines.count(b"\n"), failure

    def _text_before(
        self, failure: SyntaxError | SourceFault, places: _SourceLines
    ) -> str | None:
        if isinstance(failure, SourceFault) or self._format.family != "text":
            return None
        try:
            return places.up_to(failure.lineno or 1, failure.offset or 1)
        except (OSError, SourceFault):  # a stream that cannot be reopened
            return None

    def _continues_after(
        self, error: SyntaxError | SourceFault, text: str | None, parser: QuadParser
    ) -> bool:
        """Log the error and return whether reading may continue."""
        if isinstance(error, SourceFault):
            self._log.note(error.fault.reason, error.fault.detail)
            self.is_partial = True
            return False
        if _NO_LOADER in str(error):
            self.needs_context = self.is_partial = True
            return False
        if reason := checking.reason_of_n3(error):
            self._log.note(reason, str(error))
            return True
        if not self.error:
            self.error = error.msg
        self._note_error(error, error.lineno)
        self.is_partial = (
            self.ends_at_error
            or not self._format.is_resumable
            or self._n_errors >= self._limits.n_errors
            # At the end of the source the parser would still return a statement with a
            # last term that may be truncated.
            or checking.is_empty_span(error)
            or _breaks_directive(text, parser.prefixes)
        )
        return not self.is_partial

    def _note_error(self, error: SyntaxError, line: int | None) -> None:
        self._n_errors += 1
        place = f"line {line}: " if line is not None else ""
        message = error.msg
        if self._format.is_line_based:  # the message counts from the parser's start
            message = _PLACE.sub("", message)
        self._log.note(Reason.SYNTAX, place + message)


def _is_like_statement(line: bytes) -> bool:
    """Return whether a bad line is a statement, and no message of a server."""
    return line.endswith(b".") and _BEGINS_STATEMENT.match(line) is not None


def _without_written(lines: bytes, out: io.BytesIO) -> bytes:
    """Return the lines without a first one that the parser wrote before an error."""
    first = lines[: lines.find(b"\n") + 1]
    with out.getbuffer() as buffer:
        return lines[len(first) :] if buffer[-len(first) :] == first else lines


def _without_cut_off(
    lines: bytes, error: SyntaxError | SourceFault, text: str | None
) -> bytes:
    """Return the lines without a last one with a last term that may be truncated."""
    if isinstance(error, SourceFault) or not checking.is_empty_span(error):
        return lines
    begin = lines.rfind(b"\n", 0, -1) + 1
    return lines[:begin] if _is_cut_off(text, lines[begin:]) else lines


class _SourceLines:
    """The text around errors, which are in order; opened at the first one."""

    def __init__(self, reopen: Callable[[], BinaryIO]) -> None:
        self._reopen = reopen
        self._file: BinaryIO | None = None
        self._n_read = 0
        self._before = self._line = ""

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def up_to(self, line: int, column: int) -> str | None:
        """Return the end of the previous line, and this one up to the column (from 1).

        None if a line is too long, or an IRI may have been open for longer than that.
        """
        file = self._file = self._file or self._reopen()
        while self._n_read < line:
            line_read = file.readline(_MAX_LINE_BYTES)
            if len(line_read) == _MAX_LINE_BYTES:
                return None
            self._before, self._line = self._line, line_read.decode("utf-8", "replace")
            self._n_read += 1
        # Only a part: a line may have an error at each character.
        text = self._line[max(0, column - 1 - _MAX_TEXT_CHARS) : column - 1]
        if len(text) < _MAX_TEXT_CHARS:
            return self._before[len(text) - _MAX_TEXT_CHARS :] + text
        return text if _ends_iri(text) else None


def _breaks_directive(text: str | None, prefixes: Container[str]) -> bool:
    """Return whether an error after `text` makes a directive ineffective.

    Statements with an undeclared prefix are bad, and counted; with an older meaning of
    the prefix, or another base, later statements would be wrong.
    """
    if text is None:
        return True
    lower = text.lower()
    if "prefix" not in lower and "base" not in lower:  # the usual case
        return False
    match = _OPEN_DIRECTIVE.search(text)
    return match is not None and (
        match["keyword"].lower() == "base"
        or match["prefix"] is None
        or match["prefix"] in prefixes
    )


def _is_cut_off(text: str | None, line: bytes) -> bool:
    """Return whether the last statement ends with the last term of the source `text`.

    In a truncated document, `e:ab` may have been `e:abc`.
    """
    term = _BARE_TERM.search(text or "")
    if term is None:
        return False
    last = line[: -len(" .\n")].rpartition(b" ")[2].decode()
    return last.strip("<>").endswith(term[0]) or last.startswith(f'"{term[0]}"')
