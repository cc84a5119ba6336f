r"""Read Turtle, TriG and N3 with errors, after the strict parser refused a document.

The text is split at the ends of statements, in one step of the regular expression
engine per bracket or dot, and goes to the strict parser in pieces. If it refuses one,
`mended_statements` mends the statement with the error, and reading goes on behind it.
"""

from __future__ import annotations

import io
import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, Final

from rdfcrawl.core import formats
from rdfcrawl.core.errors import FaultLog, Reason, SourceFault
from rdfcrawl.rdf import checking, nesting
from rdfcrawl.rdf.iris import without_dots
from rdfcrawl.rdf.lenient import MAX_TOKEN_BYTES, STRINGS
from rdfcrawl.rdf.mended_statements import MendedStatement, StatementMender
from rdfcrawl.rdf.mended_terms import BAD
from rdfcrawl.rdf.text import BLOCK_BYTES
from rdfcrawl.rdf.usual_prefixes import usual_prefixes

if TYPE_CHECKING:
    from rdfcrawl.core.formats import Format
    from rdfcrawl.rdf.environment import ParseLimits

_LARGEST_PIECE: Final = 64 * 1024
_SMALLEST_PIECE: Final = 128
# Text up to the next bracket, dot or error; a dot within a name or number is no end.
_RUN = re.compile(
    rb"(?>[^\"'#<\\\[\](){}.]++|\.(?=[\w\x80-\xff:%.\\-])|"
    + STRINGS
    + rb"|#[^\r\n]*+[\r\n]|<[^<>\"{}|^`\\\s]*+>|<(?>[^<>\"{}|^`\\\s]++|\\[uU])*+>|<<"
    rb"|\\[_~.!$&'()*+,;=/?#@%-])*+",
    re.DOTALL,
)
_LABEL_BYTES: Final = 8192  # longer names of graphs are not read
_LABEL = re.compile(rb"(?<![\w\x80-\xff:%.\\-])[\w\x80-\xff.-]*+:")
_SPACE = re.compile(rb"\s*+")
# A string without an end takes the rest: else, each of its quotation marks is tried.
_BASE = re.compile(
    STRINGS + rb"|[\"'].*+|#[^\r\n]*+|<[^<>\s]++>"
    rb"|(?<=[Bb][Aa][Ss][Ee])(\s++<)([^<>\s]++)",
    re.DOTALL,
)
_LINE_END = re.compile(rb"\r\n|\n|\r")


class MendingReader:
    """Reader of one document.

    Attributes:
        is_partial: reading ended before the end of the document, or within a statement.
    """

    def __init__(
        self,
        source: bytes | BinaryIO,
        form: Format,
        base: str,
        *,
        limits: ParseLimits,
        log: FaultLog,
    ) -> None:
        self._file = io.BytesIO(source) if isinstance(source, bytes) else source
        self._limits, self._log = limits, log
        # None: unknown, after a bad directive
        self._base: str | None = without_dots(base)
        self._prefixes: dict[str, str] = {}
        self._odd_prefixes: dict[str, str] = {}  # names that are no prefixes
        self._usual = dict(usual_prefixes())  # may be used without a declaration
        self._preamble = b""
        self._graph: bytes | None = None  # label of the current graph
        self._is_turtle = form is formats.TURTLE
        self._is_n3 = form is formats.N3
        self._text, self._at, self._is_last = b"", 0, False
        self._line = 1  # of `_at`
        self._n_graphs = self._n_errors = 0
        self._has_graphs = False
        self._error = "a statement"  # last message of the parser
        self.is_partial = False

    def read(self) -> Iterator[bytes]:
        """Yield blocks of canonical N-Quads.

        Raises:
            SourceFault: from the source; `LITERAL_TOO_LONG`: for a statement.
        """
        size = _SMALLEST_PIECE
        while not (self._is_last and self._at >= len(self._text)):
            ends, is_whole = self._split(size)
            lines, n_good = self._read_piece(ends)
            yield lines
            if n_good == len(ends) and is_whole:
                size = min(4 * size, _LARGEST_PIECE)
                continue
            size = _SMALLEST_PIECE
            yield self._mend()
            if self._n_errors >= self._limits.n_errors:
                self.is_partial = True
                return
        if self._graph is not None:
            self._note_error(Reason.SYNTAX, "the text ends within a graph")
            self.is_partial = True

    # Splitting

    def _fill(self) -> bool:
        """Read more text; return whether there is any."""
        if self._is_last:
            return False
        self._text = self._text[self._at :]
        self._at = 0
        if len(self._text) > MAX_TOKEN_BYTES:
            raise SourceFault(Reason.LITERAL_TOO_LONG, "a statement, or an open string")
        block = self._file.read(max(BLOCK_BYTES, len(self._text)))
        # Expressions look ahead.
        self._text += block or b"\n"
        self._is_last = not block
        return True

    def _split(self, size: int) -> tuple[list[int], bool]:
        """Return the ends of statements, and whether an error does not follow."""
        ends: list[int] = []
        graph_is_open = self._graph is not None
        at = self._at
        while at - self._at < size:
            end, graph_is_open = self._end_of_statement(at, is_in_graph=graph_is_open)
            if end > 0:
                ends.append(end)
                at = end
            elif end < 0:
                return ends, False
            elif ends and not self._is_last:
                return ends, True
            elif self._fill():
                at = self._at
            else:
                rest = self._text[at:]
                is_blank = not _without_comments(rest)
                if is_blank:
                    ends.append(len(self._text))
                return ends, is_blank
        return ends, True

    def _end_of_statement(self, at: int, *, is_in_graph: bool) -> tuple[int, bool]:
        """Return the end, and whether a graph is open there.

        The end is 0 if the text ends before, and -1 at an error.
        """
        text, size, depth, begin = self._text, len(self._text), 0, at
        while True:
            at = _RUN.match(text, at).end()  # type: ignore[union-attr]  # always
            if at >= size - 1 and not (self._is_last and at < size):
                return 0, is_in_graph
            char = text[at : at + 1]
            at += 1
            change = _depth_change(text, at, is_n3=self._is_n3)
            if change and depth + change >= 0:
                depth += change
            elif char == b"." and depth and self._is_n3:
                pass  # in a formula
            elif char == b"." and not depth:
                return at, is_in_graph
            elif char in b"{}" and not depth and not change:
                return self._end_at_brace(begin, at, is_in_graph=is_in_graph)
            else:
                goes_on = char in b"\"'<#\\" and not self._is_last
                is_open = goes_on and _is_open(text, at)
                return (0 if is_open else -1), is_in_graph

    def _end_at_brace(
        self, begin: int, at: int, *, is_in_graph: bool
    ) -> tuple[int, bool]:
        if self._text[at - 1 : at] == b"}":
            return (at if is_in_graph else -1), False
        is_graph = not self._is_turtle or _label(
            self._text[max(begin, at - _LABEL_BYTES) : at]
        )
        return (at, True) if is_graph and not is_in_graph else (-1, is_in_graph)

    # Parsing

    def _parse(
        self, body: bytes, begin: bytes | None, end: bytes | None
    ) -> tuple[bytes, SyntaxError | None]:
        """Return the statements of a text up to the error.

        `begin` and `end` are the labels of the graphs that are open there.
        """
        out = io.BytesIO()
        graph = b"\n" if begin is None else begin + b" {\n"
        source = self._preamble + graph + body + (b"" if end is None else b"}")
        if nesting.is_text_too_deep(source):
            self._log.note(Reason.SYNTAX, nesting.TOO_DEEP)
            return b"", None
        form = formats.N3 if self._is_n3 else formats.TRIG
        parser = checking.new_parser(source, form, self._base)
        error = checking.serialize(parser, out)
        left_out: list[tuple[Reason, str]] = []
        while reason := checking.reason_of_n3(error):
            left_out.append((reason, str(error)))
            error = checking.serialize(parser, out)
        if isinstance(error, SourceFault):
            raise error
        if error is None and checking.dots_in_base(parser):
            new = _BASE.sub(_base_without_dots, body)
            if new != body:
                return self._parse(new, begin, end)
        if error is None:
            for why in left_out:
                self._log.note(*why)
        if error is None and (
            parser.prefixes != self._prefixes or parser.base_iri != self._base
        ):
            self._set_prefixes(parser.prefixes)
            self._base = parser.base_iri or self._base
        return out.getvalue(), error

    def _set_prefixes(self, prefixes: dict[str, str]) -> None:
        self._prefixes = prefixes
        self._preamble = "".join(
            f"@prefix {name}: <{iri}> . " for name, iri in prefixes.items()
        ).encode()

    def _read_piece(self, ends: list[int]) -> tuple[bytes, int]:
        """Return the statements before the first error, and their number in `ends`."""
        n_good = len(ends)
        while n_good:
            body = self._text[self._at : ends[n_good - 1]]
            graph = self._graph_after(body)
            lines, error = self._parse(body, self._graph, graph)
            if error is None:
                self._move_to(ends[n_good - 1])
                if BAD in (self._graph, graph):
                    lines = self._without_bad(lines, "in a graph without a name")
                self._enter(graph)
                return lines, n_good
            self._error = error.msg.partition(": ")[2]
            offset = self._at + _offset(error, body)
            n_good = min(n_good - 1, bisect_right(ends, offset))
        return b"", 0

    def _graph_after(self, body: bytes) -> bytes | None:
        """Return the label of the graph at the end of good statements."""
        graph, at = self._graph, 0
        if self._is_n3 or (b"{" not in body and b"}" not in body):
            return graph
        while at < len(body):
            at = _RUN.match(body, at).end() + 1  # type: ignore[union-attr]  # always
            if body[at - 1 : at] == b"}" and body[at - 2 : at - 1] != b"|":
                graph = None
            elif body[at - 1 : at + 1] not in (b"{|", b"") and body[at - 1] == ord("{"):
                graph = _label(body[max(0, at - _LABEL_BYTES) : at])
                self._note_graphs()
        return graph

    def _enter(self, graph: bytes | None) -> None:
        self._graph = graph
        if graph is not None:
            self._note_graphs()

    def _note_graphs(self) -> None:
        if self._is_turtle and not self._has_graphs:
            self._has_graphs = True
            self._log.note(Reason.REPAIRED, "graphs in Turtle, read as TriG")

    def _move_to(self, end: int) -> None:
        n_returns = self._text.count(b"\r", self._at, end)
        self._line += self._text.count(b"\n", self._at, end)
        if n_returns:
            self._line += n_returns - self._text.count(b"\r\n", self._at, end)
        self._at = end

    # Mending

    def _mend(self) -> bytes:
        """Return the good statements of the next statement, which is bad."""
        found = FaultLog()
        mender, (text, end, graph) = self._mended(found)
        space = _SPACE.match(self._text, self._at)
        self._move_to(space.end())  # type: ignore[union-attr]  # always
        for fault in found.all():
            detail = f"line {self._line}: {fault.detail}"
            self._log.note(fault.reason, detail, fault.count)
        is_noted = found.all() or mender.bad or mender.skipped or mender.is_cut
        n_errors = self._log.count(Reason.SYNTAX)
        if mender.declared:
            self._odd_prefixes.update([mender.declared])
        self._forget(mender.undeclared)
        if mender.assumed:
            self._set_prefixes(mender.assumed | self._prefixes)
        lines, is_good = self._good_lines(mender, text) if text else (b"", True)
        if is_good and not is_noted and graph != BAD:
            self._log.note(Reason.REPAIRED, f"line {self._line}: {self._error}")
        for why in mender.skipped:
            self._note_error(Reason.SYNTAX, why)
        if self._is_last and end >= len(self._text) and mender.is_cut:
            if not mender.skipped:
                self._note_error(Reason.SYNTAX, "the text ends within a statement")
            self.is_partial = True
        elif self._is_last and _ends_at(self._text, end):
            has_lost = self._log.count(Reason.SYNTAX) > n_errors
            self.is_partial |= _is_broken_off(self._text[self._at : end], has_lost)
        if graph is not None:
            self._enter(None if graph == b"}" else self._label(graph))
        self._move_to(end)
        return lines

    def _mended(self, log: FaultLog) -> tuple[StatementMender, MendedStatement]:
        n_bytes = _LARGEST_PIECE
        while True:
            while len(self._text) - self._at < n_bytes and self._fill():
                pass
            found = FaultLog()
            mender = StatementMender(
                *(self._text, self._at, self._odd_prefixes | self._prefixes, found),
                is_in_graph=self._graph is not None,
                has_base=self._base is not None,
                is_n3=self._is_n3,
                usual=self._usual,
            )
            mended = mender.mend()
            if self._is_last or mended.end < len(self._text) or not mender.is_cut:
                log.restore(found)
                return mender, mended
            n_bytes = 2 * (len(self._text) - self._at)

    def _forget(self, undeclared: str | None) -> None:
        """Drop the meaning of a prefix, or the base, after its bad directive."""
        if undeclared == "@base":
            self._base = None
        elif undeclared is not None:
            self._odd_prefixes.pop(undeclared, None)
            self._usual.pop(undeclared, None)
            known = self._prefixes.items()
            self._set_prefixes({k: iri for k, iri in known if k != undeclared})

    def _good_lines(self, mender: StatementMender, text: bytes) -> tuple[bytes, bool]:
        """Return the statements without bad terms, and whether all could be read."""
        graph = None if mender.is_outside else self._graph
        lines, error = self._parse(text, graph, graph)
        if error is not None:
            self._note_error(Reason.SYNTAX, error.msg)
        bad = mender.bad[: len(mender.bad) - mender.n_cut]
        if BAD in lines:
            is_unnamed = not (mender.is_cut or self._is_n3)
            why = "in a graph without a name" if is_unnamed else ""
            lines = self._without_bad(lines, bad[0] if bad else why)
        elif bad:
            self._note_error(Reason.SYNTAX, bad[0])
        return lines, error is None

    def _without_bad(self, lines: bytes, why: str) -> bytes:
        all_lines = lines.splitlines(keepends=True)
        kept = [line for line in all_lines if BAD not in line]
        if why and len(kept) < len(all_lines):
            self._note_error(Reason.BAD_TERM, why, len(all_lines) - len(kept))
        return b"".join(kept)

    def _label(self, label: bytes) -> bytes:
        """Return a label of a graph that stays the same in all pieces."""
        if label.startswith(b"["):
            self._n_graphs += 1
            return b"_:graph%dof%x" % (self._n_graphs, id(self))
        return label

    def _note_error(self, reason: Reason, why: str, count: int = 1) -> None:
        self._n_errors += 1
        self._log.note(reason, f"line {self._line}: {why}", count)


def _base_without_dots(found: re.Match[bytes]) -> bytes:
    if not found[2]:
        return found[0]
    return found[1] + without_dots(found[2].decode()).encode()


def _ends_at(text: bytes, offset: int) -> bool:
    space = _SPACE.match(text, offset)
    return space is not None and space.end() == len(text)


def _is_broken_off(text: bytes, has_lost: bool) -> bool:
    """Return whether a bad text at the end of a document is no statement."""
    last = text.strip(b"\n").rpartition(b"\n")[2]
    iri = last[last.rfind(b"<") :] if b"<" in last else b" "
    is_open = not any(x in iri for x in (b">", b'"', b" ")) or last.count(b'"') % 2
    if is_open and not last.endswith(b" ."):
        return True  # before a full stop in the term
    is_ended = text.rstrip().endswith((b".", b"}"))
    return b"\0" in text or (has_lost and not is_ended)


def _depth_change(text: bytes, at: int, *, is_n3: bool) -> int:
    """Return the change of the depth by the bracket before an offset.

    Braces count in N3 only.
    """
    char = text[at - 1 : at]
    if char in b"[(" or (char == b"{" and (is_n3 or text[at : at + 1] == b"|")):
        return 1
    if char in b"])" or (char == b"}" and (is_n3 or text[at - 2 : at - 1] == b"|")):
        return -1
    return 0


def _is_open(text: bytes, at: int) -> bool:
    """Return whether a token that begins before an offset may go on after the text."""
    if text[at - 1 : at + 2] in (b'"""', b"'''"):
        return True
    return text.find(b"\n", at) < 0


def _without_comments(text: bytes) -> bytes:
    return re.sub(rb"#[^\r\n]*+", b"", text).strip()


def _offset(error: SyntaxError, body: bytes) -> int:
    """Return the offset of an error in the text after the line of the prefixes."""
    number = (error.lineno or 1) - 2
    ends = [0, *(found.end() for found in islice(_LINE_END.finditer(body), number + 1))]
    begin = ends[min(number, len(ends) - 1)]
    line = body[begin : ends[number + 1] if number + 1 < len(ends) else len(body)]
    return begin + len(
        line.decode("utf-8", "replace")[: (error.offset or 1) - 1].encode()
    )


def _label(text: bytes) -> bytes:
    """Return the name of the graph that a text opens with its last character, `{`."""
    text = text[:-1].rstrip()
    begin = max(text.rfind(each) for each in (b" ", b"\t", b"\r", b"\n", b"{")) + 1
    text = text[begin:]
    if text.endswith(b">"):
        label = text[max(text.rfind(b"<"), 0) :]
        return label if label[:1] == b"<" and label.count(b">") == 1 else b""
    found = _LABEL.search(text)
    return text[found.start() :] if found else b""
