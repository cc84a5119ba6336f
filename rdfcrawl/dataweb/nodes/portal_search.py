"""The part of Solr's query syntax that clients of CKAN use, and its orders."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_TOKEN = re.compile(
    r"\s*(?:(?P<open>\()|(?P<close>\))|(?P<word>AND\b|OR\b|NOT\b|&&|\|\|)"
    r"|(?P<sign>[+\-!](?=\S))"
    r"|(?P<group>\w+):(?=\()"
    r"|(?P<field>\w+|\*):(?P<range>[\[{][^\]}]*[\]}])"
    r'|(?:(?P<of>\w+|\*):)?(?:"(?P<phrase>(?:[^"\\]|\\.)*)"|(?P<term>(?![+\-!]+(?:\s|\Z))[^\s()":]+)))'
)
_RANGE = re.compile(r"([\[{])\s*(\S+)\s+TO\s+(\S+?)\s*([\]}])\Z")
MAX_DEPTH = 20


class BadQuery(ValueError):
    """A query that Solr would refuse with 400."""


@dataclass(frozen=True, slots=True)
class RowCondition:
    """A condition on one row.

    Attributes:
        holds: takes a function that returns the values of a field of the row.
    """

    holds: Callable[[Callable[[str], Sequence[str]]], bool]


def parse_query(text: str) -> RowCondition:
    """Parse a query; clauses in a row must all hold, as CKAN sets `q.op`.

    Ranges, phrases, terms, `field:(a OR b)`, `+`, `-`, NOT, AND, OR and brackets are
    known. OR binds weaker than AND.

    Raises:
        BadQuery: it is no such query.
    """
    parser = _Parser(text)
    test = parser.alternatives("", 0)
    if parser.kind:
        raise BadQuery(f"Cannot parse {text!r}")
    return test


class _Parser:
    """Recursive descent; one token is read ahead."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._end = 0
        self._match: re.Match[str] | None = None
        self.kind = ""
        self._advance()

    def _advance(self) -> None:
        if not self._text[self._end :].strip():
            self.kind, self._match = "", None
            return
        match = _TOKEN.match(self._text, self._end)
        if match is None:
            raise BadQuery(f"Cannot parse {self._text!r}")
        self._end = match.end()
        self._match, self.kind = match, match.lastgroup or ""

    def _token(self, name: str) -> str:
        return (self._match[name] or "") if self._match else ""

    def alternatives(self, field: str, depth: int) -> RowCondition:
        """Parse clauses that OR parts."""
        if depth > MAX_DEPTH:
            raise BadQuery("too deep")
        tests = [self._required(field, depth)]
        while self.kind == "word" and self._token("word") in ("OR", "||"):
            self._advance()
            tests.append(self._required(field, depth))
        if len(tests) == 1:
            return tests[0]
        return RowCondition(lambda values: any(one.holds(values) for one in tests))

    def _required(self, field: str, depth: int) -> RowCondition:
        tests: list[RowCondition] = []
        while self.kind and self.kind != "close":
            if self.kind == "word" and self._token("word") in ("OR", "||"):
                break
            if self.kind == "word" and self._token("word") in ("AND", "&&"):
                self._advance()
                continue
            tests.append(self._clause(field, depth))
        return RowCondition(lambda values: all(one.holds(values) for one in tests))

    def _clause(self, field: str, depth: int) -> RowCondition:
        if self.kind == "sign" or (self.kind == "word" and self._token("word")):
            is_negated = self._token("sign") != "+"
            self._advance()
            if not self.kind or self.kind == "close":
                raise BadQuery("a sign without a clause")
            test = self._clause(field, depth)
            if is_negated:
                return RowCondition(lambda values: not test.holds(values))
            return test
        if self.kind == "group":
            field = self._token("group")
            self._advance()
        if self.kind == "open":
            self._advance()
            test = self.alternatives(field, depth + 1)
            if self.kind != "close":
                raise BadQuery("a bracket is not closed")
            self._advance()
            return test
        return self._leaf(field)

    def _leaf(self, field: str) -> RowCondition:
        if self.kind == "range":
            test = _range_test(self._token("field"), self._token("range"))
        elif self.kind in ("phrase", "term"):
            field = self._token("of") or field
            phrase = re.sub(r"\\(.)", r"\1", self._token("phrase"))
            test = _value_test(field, phrase or self._token("term"))
        else:
            raise BadQuery(f"Cannot parse {self._text!r}")
        self._advance()
        return test


def _range_test(field: str, text: str) -> RowCondition:
    match = _RANGE.match(text)
    if match is None:
        raise BadQuery(f"no range: {text!r}")
    low, high = match[2], match[3]
    has_low, has_high = match[1] == "[", match[4] == "]"

    def holds(values: Callable[[str], Sequence[str]]) -> bool:
        for value in values(field):
            is_above = low == "*" or value > low or (has_low and value == low)
            is_below = high == "*" or value < high or (has_high and value == high)
            if is_above and is_below:
                return True
        return False

    return RowCondition(holds)


def _value_test(field: str, value: str) -> RowCondition:
    if value == "*":
        if field in ("", "*"):
            return RowCondition(lambda _: True)
        return RowCondition(lambda values: bool(values(field)))
    if field in ("", "text", "title", "notes"):
        word = value.lower()
        return RowCondition(
            lambda values: any(word in one.lower() for one in values(field))
        )
    return RowCondition(lambda values: value in values(field))


def parse_order(text: str) -> list[tuple[str, bool]]:
    """Parse `metadata_modified asc, id desc`: fields, and whether they descend.

    Raises:
        BadQuery: it is no order.
    """
    order = []
    for part in filter(None, (one.strip() for one in text.split(","))):
        field, _, direction = part.partition(" ")
        if direction.strip().lower() not in ("asc", "desc") or not field:
            raise BadQuery(f"Can't determine a Sort Order in sort spec {text!r}")
        order.append((field, direction.strip().lower() == "desc"))
    return order
