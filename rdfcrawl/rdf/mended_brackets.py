"""The part of a statement of Turtle that is read, and its open brackets."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from rdfcrawl.rdf.mended_terms import BAD, TermMender
from rdfcrawl.rdf.mended_tokens import (
    BEGIN,
    MAX_OPEN_CHARS,
    PLAIN_SPACE,
    START,
    THREE_TERMS,
    TOKEN,
)

SUBJECT, VERB, OBJECT, AFTER, ITEM = range(5)
_LITERAL_OR_END = re.compile(rb"[\"')]|[+-]?\.?\d")
CLOSERS: Final = {
    b"[": b"]",
    b"(": b")",
    b"<<": b">>",
    b"<<(": b")>>",
    b"{|": b"|}",
}


@dataclass(slots=True)
class OpenBracket:
    """An open bracket, or the statement itself."""

    closer: bytes  # empty outside of brackets
    state: int
    n_verbs: int = 0


@dataclass(eq=False)
class OpenStatement(TermMender):
    """Statement that is read, from an offset of the text.

    Attributes:
        skipped: a reason for each piece of text that is left out.
        is_in_graph: the statement is in an open graph.
        is_cut: the text ended within the statement.
        n_cut: the last ones of `bad`, which are due to this end.
    """

    is_cut: bool = field(default=False, init=False)
    n_cut: int = field(default=0, init=False)
    skipped: list[str] = field(default_factory=list, init=False)
    is_in_graph: bool = False
    _out: list[bytes] = field(default_factory=list, init=False)
    _end_of_term: int = field(default=-1, init=False)
    _is_done: bool = field(default=False, init=False)
    _names_reifier: bool = field(default=False, init=False)
    _has_content: bool = field(default=False, init=False)  # of `[ ]` as subject

    def __post_init__(self) -> None:
        """Begin outside of brackets."""
        self._begin = self.at
        self._stack = [OpenBracket(b"", SUBJECT)]

    @property
    def _is_at_begin(self) -> bool:
        return not self._out and len(self._stack) == 1

    def _next(self) -> int:
        """Return the offset of the next token."""
        space = PLAIN_SPACE.match(self.text, self.at)
        return space.end() if space else self.at

    def _spoil(self, begin: int, *, is_glued: bool = True) -> None:
        """Make the last term bad, if it is next to a token."""
        if self._end_of_term < 0:
            return
        between = self.text[self._end_of_term : begin]
        goes_on = not between and self.text[begin - 1 : begin] != b">"
        if goes_on or not (is_glued or between.strip()):
            self._out[-1] = BAD + b" "

    def _ends_literal(self) -> bool:
        last = self._out[-1]
        return last[:1] in b"\"'+-.0123456789" or last in (b"true ", b"false ")

    def _joins_terms(self) -> bool:
        """Return whether a term, and no object, is on both sides of the last mark."""
        between = self.text[max(self._end_of_term, 0) : self.at - 1]
        is_value = self.text[(at := self._next()) : at + 1] in (b'"', b"'", b"[", b"(")
        return self._end_of_term >= 0 and not between.strip() and not is_value

    def _advance(self) -> None:
        self._names_reifier = False
        opened = self._stack[-1]
        if opened.state == VERB:
            opened.n_verbs += 1
        if opened.state < AFTER:
            opened.state += 1

    def _leave_lists(self, mark: bytes) -> None:
        """Close lists and triple terms that hold no semicolon; a literal goes on."""
        while mark == b";" and self._stack[-1].closer in (b")", b">>", b")>>"):
            if _LITERAL_OR_END.match(self.text, self._next()):
                return
            self._repaired("an open bracket")
            self._close()

    def _end_of_braces(self, at: int) -> int:
        """Return the end of balanced braces, or -1."""
        depth = 0
        end = min(len(self.text), at + MAX_OPEN_CHARS)
        while at < end:
            token = TOKEN.match(self.text, at, end)
            if token is None:
                at += 1
                continue
            at = token.end()
            depth += (token[0] == b"{") - (token[0] == b"}")
            if not depth:
                return at
        return -1

    def _drop_comma(self, opened: OpenBracket) -> None:
        if opened.state == OBJECT and self._out[-1] == b", " and not self.is_cut:
            self._repaired("a superfluous ,")
            self._out.pop()
            opened.state = AFTER

    def _close(self) -> None:
        """Close the innermost bracket."""
        opened = self._stack.pop()
        self._drop_comma(opened)
        n_missing = 0
        if opened.closer == b")" and self.is_cut:
            self._out.append(BAD + b" ")
        if opened.closer in (b">>", b")>>"):
            n_missing = AFTER - opened.state
        elif opened.state == OBJECT:
            n_missing = 1
        elif opened.closer == b"|}" and not opened.n_verbs:
            n_missing = 2
        if n_missing:
            self._bad("brackets without a statement")
        self._out += [BAD + b" "] * n_missing
        self._out.append(opened.closer + b" ")
        if len(self._stack) == 1 and opened.closer == b"]":
            self._has_content = self._stack[0].state == SUBJECT and opened.n_verbs > 0
        if opened.closer != b"|}":
            self._advance()

    def _end(self) -> None:
        """End the statement."""
        if len(self._stack) > 1 and not self.is_cut:
            self._repaired("an open bracket")
        n_bad = len(self.bad)
        while len(self._stack) > 1:
            self._close()
        opened = self._stack[0]
        self._drop_comma(opened)
        if opened.state == OBJECT:
            self._out.append(self._bad("no object")[0])
        elif opened.state == VERB and not opened.n_verbs and not self._has_content:
            self._bad("no predicate", b"".join(self._out))
            self._out.append(BAD + b" " + BAD)
        self.n_cut = (len(self.bad) - n_bad) * self.is_cut
        if self._out:
            self._out.append(b" .\n")
        self._is_done = True

    def _take_dot(self) -> None:
        after = self.text[(at := self._next()) : at + 4]
        opened = self._stack[-1]
        if opened.closer and after.startswith(opened.closer):
            self._repaired("a dot in brackets")
        elif self._is_at_begin or (
            opened.state == AFTER and after.startswith((b";", b","))
        ):
            self._repaired("a superfluous dot")
        else:
            self._end()

    def _begins_next(self, begin: int) -> bool:
        """Return whether a token begins the next statement, or a graph."""
        at_begin = THREE_TERMS.match if self.is_n3 else BEGIN.match
        return at_begin(self.text, begin) is not None

    def _end_before(self, begin: int) -> None:
        """End the statement before a token that begins the next one."""
        self._repaired("a missing dot")
        self.at = begin
        self._end()

    def _cut(self, begin: int, why: str, *, is_open: bool = False) -> None:
        """End the statement, and skip to the next line that looks like one."""
        self.skipped.append(why)
        found = START.search(self.text, begin + 1)
        self.is_cut = is_open and not found
        self._end()
        if found:
            self.at = found.start()
        else:
            self.at = self.text.rfind(b"\n", begin + 1) + 1 or len(self.text)
        left_out = self.text[begin : self.at].rstrip()
        if self.is_in_graph and left_out.endswith(b"}"):  # the end of the graph
            self.at = begin + len(left_out) - 1
