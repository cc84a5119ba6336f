"""SPARQL 1.2 Query Results JSON, read one row at a time.

The standard library's decoder decodes single rows from the stream, so that the table is
never in memory completely.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from rdfcrawl.core.errors import FaultLog, Reason, SourceFault
from rdfcrawl.core.messages import counted
from rdfcrawl.rdf.nesting import MAX_DEPTH
from rdfcrawl.sources.sparql.writing import ResultTerm, Row, triple_of, with_direction

if TYPE_CHECKING:
    from rdfcrawl.sources.sparql.settings import ResultLimits

_READ_BYTES = 64 * 1024
# Between two rows that bind variables
_NEXT_ROW = re.compile(r"[},]\s*+,?+\s*+(?=\{\s*+\"[^\"]*+\"\s*+:\s*+\{)")
_MAX_BETWEEN = 1024
_BLANKS = re.compile(r"[ \t\r\n]*")
# Names in RDF 1.2, and in RDF-star of several stores.
_PARTS = (("subject", "s"), ("predicate", "property", "p"), ("object", "o"))
_DECODER = json.JSONDecoder(strict=False)  # Virtuoso writes raw control characters


def iter_json(
    file: BinaryIO, limits: ResultLimits, log: FaultLog
) -> Iterator[Row | SourceFault]:
    """Yield the rows of a table in UTF-8.

    Each field that is not an RDF term is a `BAD_TERM`; its row is skipped. In place of
    a row that is not JSON, a fault is yielded.

    Raises:
        SourceFault: not JSON outside of a row, truncated, not a table, or a row is too
            long; earlier rows were yielded.

    Source: SPARQL 1.2 Query Results JSON Format, 3; RDF-star for older triples.
    """
    text = _Window(file, limits.row_chars)
    for name in _iter_members(text):
        if name == "boolean":
            return
        if name != "results":
            text.value()
            continue
        for inner in _iter_members(text):
            if inner != "bindings":
                text.value()
                continue
            for binding in _iter_bindings(text, log):
                is_bad = isinstance(binding, SourceFault)
                row = binding if is_bad else _to_row(binding, log)
                if row is not None:
                    yield row
            return
    raise SourceFault(Reason.BAD_ANSWER, "JSON without results")


class _Window:
    """A window on the text of a file, refilled as needed."""

    def __init__(self, file: BinaryIO, max_chars: int) -> None:
        self._file, self._max_chars = file, max_chars
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._text, self._at, self._is_end = "", 0, False

    def peek(self) -> str:
        """Return the next non-blank character; empty at the end."""
        while True:
            self._at = _BLANKS.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._refill(_READ_BYTES):
                return ""

    def take(self, expected: str) -> None:
        """Consume a character of the grammar."""
        found = self.peek()
        if found != expected:
            what = repr(found) if found else "the end"
            raise SourceFault(Reason.SYNTAX, f"JSON: {what} instead of {expected!r}")
        self._at += 1

    def value(self) -> Any:
        """Return the next JSON value."""
        self.peek()
        more = _READ_BYTES
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except RecursionError as error:
                raise SourceFault(Reason.TOO_DEEP, "JSON") from error
            except ValueError as error:
                self._more_or_fault(more, error)
            else:
                # A number at the end of the window may be incomplete.
                if end < len(self._text) or not self._refill(more):
                    self._at = end
                    return value
            more *= 2  # limits repeated decoding of long values

    def skip_row(self) -> bool:
        """Go on behind the end of a row, before another one; return whether it is."""
        while not (found := _NEXT_ROW.search(self._text, self._at)):
            self._at = max(self._at, len(self._text) - _MAX_BETWEEN)
            if not self._refill(_READ_BYTES):
                return False
        self._at = found.end()
        return True

    def _more_or_fault(self, n_bytes: int, error: ValueError) -> None:
        if len(self._text) - self._at > self._max_chars:
            raise SourceFault(Reason.TOO_LARGE, "a row of the response") from error
        if not self._refill(n_bytes):
            raise SourceFault(Reason.SYNTAX, f"JSON: {error}") from error

    def _refill(self, n_bytes: int) -> bool:
        if self._is_end:
            return False
        data = self._file.read(n_bytes)
        self._is_end = not data
        self._text = self._text[self._at :] + self._decode(data, self._is_end)
        self._at = 0
        return not self._is_end


def _iter_members(text: _Window) -> Iterator[str]:
    """Yield the names of an object; the caller reads each value."""
    for name in _iter_items(text, "{}"):
        text.take(":")
        yield name if isinstance(name, str) else ""


def _iter_items(text: _Window, brackets: str = "[]") -> Iterator[Any]:
    text.take(brackets[0])
    if text.peek() != brackets[1]:
        yield text.value()
        while text.peek() == ",":
            text.take(",")
            yield text.value()
    text.take(brackets[1])


def _iter_bindings(text: _Window, log: FaultLog) -> Iterator[Any]:
    """Yield the items of an array of objects; a fault in place of a bad one."""
    text.take("[")
    n_commas = 1  # between two items
    while (found := text.peek()) != "]":
        if found == ",":
            text.take(",")
            n_commas += 1
            continue
        if found == "{" and n_commas != 1:
            log.note(Reason.REPAIRED, f"{counted(n_commas, 'comma')} between two rows")
        n_commas = 0
        try:
            yield text.value()
        except SourceFault as error:
            if error.fault.reason is not Reason.SYNTAX or not text.skip_row():
                raise
            yield error
            n_commas = 1


def _to_row(binding: Any, log: FaultLog) -> Row | None:
    row: Row = {}
    if not isinstance(binding, dict):
        log.note(Reason.BAD_TERM, "a row that is not an object")
        return None
    for name, field in binding.items():
        if field is None:
            log.note(Reason.REPAIRED, f"?{name} is null: unbound")
            continue
        if isinstance(field, dict) and isinstance(field.get("value"), int):
            log.note(Reason.REPAIRED, f"?{name} is {field['value']} without quotes")
            field["value"] = json.dumps(field["value"])
        cell = _to_cell(field)
        if cell is None:
            log.note(Reason.BAD_TERM, f"?{name} is {str(field)[:80]}")
            return None
        row[name] = cell
    return row


def _to_cell(field: Any, depth: int = 0) -> ResultTerm | None:
    if not isinstance(field, dict):
        return None
    kind, text = field.get("type"), field.get("value")
    if kind in ("triple", "statement") and isinstance(text, dict):
        if depth == MAX_DEPTH:
            return None
        return triple_of([_to_cell(_first(text, x), depth + 1) for x in _PARTS])
    return _simple_cell(kind, text, field) if isinstance(text, str) else None


def _simple_cell(kind: Any, text: str, field: dict[str, Any]) -> ResultTerm | None:
    if kind in ("uri", "iri"):
        return ResultTerm("iri", text)
    if kind == "bnode":
        return ResultTerm("blank", text.removeprefix("_:"))
    if kind in ("literal", "typed-literal"):  # the latter of the 2007 note
        language = _first(field, ("xml:lang", "lang"))
        direction = _first(field, ("its:dir", "direction"))
        return ResultTerm(
            "literal",
            text,
            _text(field.get("datatype")),
            with_direction(_text(language), _text(direction)),
        )
    return None


def _first(found: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((found[name] for name in names if name in found), None)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
