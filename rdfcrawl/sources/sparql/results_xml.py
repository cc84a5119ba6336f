"""SPARQL Query Results XML, read one row at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, NoReturn
from xml.parsers import expat

from rdfcrawl.core.errors import FaultLog, Reason, SourceFault
from rdfcrawl.rdf.nesting import MAX_DEPTH
from rdfcrawl.sources.sparql.writing import ResultTerm, Row, triple_of, with_direction

if TYPE_CHECKING:
    from rdfcrawl.sources.sparql.settings import ResultLimits

_READ_BYTES = 64 * 1024
# XML has no control characters, but Virtuoso writes references to them. They are mapped
# to the 32 noncharacters that XML allows and Unicode never assigns.
_FIRST_STAND_IN = 0xFDD0
_CONTROL = re.compile(
    rb"&#(?:x0*(1?[0-9a-f])|0*([12]?[0-9]|3[01]));|[\x00-\x08\x0b\x0c\x0e-\x1f]",
    re.IGNORECASE,
)
_STAND_INS = {_FIRST_STAND_IN + code: code for code in range(32)}
_REFERENCE_BYTES = 12
_WIDE = (b"\xff\xfe", b"\xfe\xff", b"\0", b"<\0")  # UTF-16 and UTF-32
_ROW = re.compile(rb"<(?:[\w.-]+:)?result[\s>]")
_TAG_BYTES = 64  # before a row that may be cut
_TERMS = frozenset(("uri", "bnode", "literal"))
_PARTS = ("subject", "predicate", "object")


def iter_xml(
    file: BinaryIO, limits: ResultLimits, log: FaultLog
) -> Iterator[Row | SourceFault]:
    """Yield the rows of a table in XML; namespaces are ignored.

    Each field that is not an RDF term is a `BAD_TERM`; its row is skipped. In place of
    a row in UTF-8 that is not well-formed, a fault is yielded.

    Raises:
        SourceFault: not well-formed outside of a row, not a table, entities are
            declared, or a row is too long; earlier rows were yielded.

    Source: SPARQL 1.2 Query Results XML Format, 2.3.
    """
    handler = _Handler(limits, log)
    parser = _RowParser(handler)
    is_end, rest, is_wide = False, b"", None
    while not is_end:
        data = file.read(_READ_BYTES)
        is_end = not data
        if is_wide is None:
            is_wide = data.startswith(_WIDE)
        if not is_wide:
            data, rest = _stand_in(rest + data, is_end=is_end)
        try:
            parser.feed(data, is_end=is_end)
        except SourceFault:
            yield from handler.taken()
            raise
        yield from handler.taken()
    if not handler.is_table:
        raise SourceFault(Reason.BAD_ANSWER, "XML without results")


class _RowParser:
    """Parser that goes on with the next row after an error."""

    def __init__(self, handler: _Handler) -> None:
        self._handler, self._parser = handler, _new_parser(handler)
        self._n_fed = 0
        self._is_lost = False  # after an error, before the next row
        self._tail = b""

    def feed(self, data: bytes, *, is_end: bool) -> None:
        data = self._tail + data
        while not self._is_lost or (data := self._from_row(data)):
            try:
                self._parser.Parse(data, is_end)
            except expat.ExpatError as error:
                self._handler.add_fault(f"XML: {error}")
                begin = self._parser.ErrorByteIndex - self._n_fed
                data, self._is_lost = data[max(1, begin) :], True
            else:
                self._n_fed += len(data)
                return

    def _from_row(self, data: bytes) -> bytes:
        """Return the text from the next row on, for a new parser; empty for none."""
        found = _ROW.search(data)
        self._tail = b"" if found else data[-_TAG_BYTES:]
        if found is None:
            return b""
        self._parser, head = _new_parser(self._handler), self._handler.head
        self._parser.Parse(head)
        self._n_fed, self._is_lost = len(head), False
        return data[found.start() :]


def _new_parser(handler: _Handler) -> expat.XMLParserType:
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = handler.start
    parser.EndElementHandler = handler.end
    parser.CharacterDataHandler = handler.text
    parser.EntityDeclHandler = _refuse_entity
    parser.XmlDeclHandler = handler.declaration
    return parser


def _stand_in(data: bytes, *, is_end: bool) -> tuple[bytes, bytes]:
    """Return the input of the parser, and a rest that may be a partial reference."""
    at = data.rfind(b"&", max(0, len(data) - _REFERENCE_BYTES)) if not is_end else -1
    if at >= 0:
        return _CONTROL.sub(_stand_in_one, data[:at]), data[at:]
    return _CONTROL.sub(_stand_in_one, data), b""


def _stand_in_one(found: re.Match[bytes]) -> bytes:
    hexadecimal, decimal = found.groups()
    if hexadecimal or decimal:
        code = int(hexadecimal or decimal, 16 if hexadecimal else 10)
    else:
        code = found[0][0]
    return chr(_FIRST_STAND_IN + code).encode()


def _refuse_entity(*_: object) -> NoReturn:
    raise SourceFault(Reason.ENTITY_EXPANSION, "the response declares entities")


class _Handler:
    """Collects the rows of the table."""

    def __init__(self, limits: ResultLimits, log: FaultLog) -> None:
        self.is_table = False
        self._max_chars, self._log = limits.row_chars, log
        self._rows: list[Row | SourceFault] = []
        self._around: list[str] = []  # names of the elements around the rows
        self._is_utf_8 = True
        self._row: Row = {}
        self._name = ""
        self._attributes: dict[str, str] = {}
        self._text: list[str] = []
        self._n_chars = self._n_inner = 0
        self._is_in_term = self._is_bad = False
        self._triples: list[dict[str, ResultTerm]] = []  # open ones
        self._part: list[str] = []  # of each

    def taken(self) -> list[Row | SourceFault]:
        rows, self._rows = self._rows, []
        return rows

    @property
    def head(self) -> bytes:
        """The start tags before the first row."""
        return "".join(f"<{name}>" for name in self._around).encode()

    def declaration(self, _version: str, encoding: str | None, _: int) -> None:
        self._is_utf_8 = (encoding or "utf-8").lower() in ("utf-8", "utf8", "us-ascii")

    def add_fault(self, detail: str) -> None:
        """Add the fault of a row.

        Raises:
            SourceFault: no other rows can be found.
        """
        fault = SourceFault(Reason.SYNTAX, detail)
        if not (self.is_table and self._is_utf_8):
            raise fault
        self._rows.append(fault)
        self._is_in_term, self._n_inner = False, 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        if not self._around or (name == "results" and len(self._around) == 1):
            self._around.append(tag)
        if self._is_in_term:
            self._n_inner += 1
            self._is_bad = True  # terms have no elements
        elif name in _TERMS:
            self._is_in_term, self._attributes, self._text = True, attributes, []
        elif name == "triple":
            self._triples.append({})
            if len(self._triples) > MAX_DEPTH:
                raise SourceFault(Reason.TOO_DEEP, "XML: triple terms")
        elif name in _PARTS:
            self._part.append(name)
        elif name == "binding":
            self._name = attributes.get("name", "")
        elif name == "result":
            self._row, self._is_bad, self._n_chars = {}, False, 0
            self._triples, self._part = [], []
        elif name in ("results", "boolean"):
            self.is_table = True

    def text(self, text: str) -> None:
        if not self._is_in_term:
            return
        self._n_chars += len(text)
        if self._n_chars > self._max_chars:
            raise SourceFault(Reason.TOO_LARGE, "a row of the response")
        self._text.append(text)

    def end(self, tag: str) -> None:
        name = tag.rpartition(":")[2]
        if self._n_inner:
            self._n_inner -= 1
        elif self._is_in_term:
            self._is_in_term = False
            self._finish_term(name)
        elif name == "triple" and self._triples:
            parts = self._triples.pop()
            self._place(triple_of([parts.get(part) for part in _PARTS]))
        elif name in _PARTS and self._part:
            self._part.pop()
        elif name == "result":
            if self._is_bad:
                self._log.note(Reason.BAD_TERM, "a row with a term that is not of RDF")
            else:
                self._rows.append(self._row)

    def _place(self, cell: ResultTerm | None) -> None:
        """Place a term into the open triple, or into the row."""
        if cell is None or (self._triples and not self._part):
            self._is_bad = True
        elif self._triples:
            self._triples[-1][self._part[-1]] = cell
        else:
            self._row[self._name] = cell

    def _finish_term(self, name: str) -> None:
        text = "".join(self._text).translate(_STAND_INS)
        if name == "uri":
            self._place(ResultTerm("iri", text.strip()))
        elif name == "bnode":
            self._place(ResultTerm("blank", text.strip().removeprefix("_:")))
        else:
            datatype = self._attributes.get("datatype", "")
            direction = self._attributes.get("its:dir", "")
            language = self._attributes.get("xml:lang", "")
            language = with_direction(language, direction)
            self._place(ResultTerm("literal", text, datatype, language))
