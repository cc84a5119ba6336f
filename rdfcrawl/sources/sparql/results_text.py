"""SPARQL 1.2 Query Results TSV and CSV, read one row at a time."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import pyoxigraph as ox

from rdfcrawl.core.errors import FaultLog, Reason, SourceFault
from rdfcrawl.core.messages import counted
from rdfcrawl.core.namespaces import XSD
from rdfcrawl.rdf.nesting import is_text_too_deep
from rdfcrawl.sources.sparql.writing import ResultTerm, Row, triple_of

if TYPE_CHECKING:
    from rdfcrawl.sources.sparql.settings import ResultLimits

# Turtle's own shorthands (Turtle 2.5.2, 2.5.3), which TSV may use.
_NUMBERS = (
    (re.compile(r"[+-]?[0-9]+\Z").match, "integer"),
    (re.compile(r"[+-]?[0-9]*\.[0-9]+\Z").match, "decimal"),
    (
        re.compile(r"[+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)[eE][+-]?[0-9]+\Z").match,
        "double",
    ),
    (re.compile(r"(?:true|false)\Z").match, "boolean"),
)
_LITERAL = re.compile(
    r"""(?P<quotes>\"{3}|'{3}|["'])(?P<text>(?:(?!(?P=quotes))[^\\]|\\.)*+)(?P=quotes)"""
    r"""(?:@(?P<language>[A-Za-z0-9_-]+)|\^\^<(?P<datatype>[^<>]*)>)?\Z""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f"}
# Schemes that distinguish an IRI from a text with a colon.
_IRI = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://|urn:|mailto:|tel:)[^\s<>\"{}|\\^`]+\Z", re.IGNORECASE
)


def iter_tsv(
    file: BinaryIO, limits: ResultLimits, log: FaultLog
) -> Iterator[Row | SourceFault]:
    """Yield the rows of a tab-separated table in UTF-8.

    Without question marks in the head (Virtuoso) the kinds of terms are lost, and the
    table is read like CSV. Each field that is not a term is a `BAD_TERM`; its row is
    skipped. In place of a row with another number of fields than the head, a fault is
    yielded.

    Raises:
        SourceFault: a line is too long or truncated, or there are too many variables;
            earlier rows were yielded.

    Source: SPARQL 1.1 Query Results CSV and TSV Formats, 4.
    """
    lines = _iter_lines(file, limits)
    head = next(lines, "").rstrip("\r\n").split("\t")
    _check_head(head, limits)
    if not all(name.startswith(("?", "$")) for name in head):
        names = [name.strip('"') for name in head]
        table = csv.reader(lines, delimiter="\t")
        yield from _iter_plain(names, table, log)
        return
    names = [name[1:] for name in head]
    for line in lines:
        fields = line.rstrip("\r\n").split("\t")
        if bad := _misfit(names, fields):
            yield bad
            continue
        row = _to_row(names, fields)
        if row is None and not line.endswith("\n"):
            raise SourceFault(Reason.SYNTAX, f"cut off at {line[:80]!r}")
        if row is None:
            log.note(Reason.BAD_TERM, line[:80])
        elif row or len(fields) == len(names):
            yield row


def iter_csv(
    file: BinaryIO, limits: ResultLimits, log: FaultLog
) -> Iterator[Row | SourceFault]:
    """Yield the rows of a comma-separated table in UTF-8, without kinds of terms.

    `_:x` is a blank node, any other value of `s`, `p` or `g` an IRI. In other columns
    the kind is guessed (`REPAIRED`): an absolute IRI, or a plain literal. In place of a
    row with another number of fields than the head, a fault is yielded.

    Raises:
        SourceFault: a row is too long or not CSV, or there are too many variables;
            earlier rows were yielded.

    Source: SPARQL 1.1 Query Results CSV and TSV Formats, 3.
    """
    table = csv.reader(_iter_lines(file, limits), strict=True)
    try:
        head = next(table, [])
    except csv.Error as error:
        raise SourceFault(Reason.SYNTAX, f"CSV: {error}") from error
    _check_head(head, limits)
    yield from _iter_plain([name.lstrip("?$") for name in head], table, log)


def _check_head(head: list[str], limits: ResultLimits) -> None:
    if len(head) > limits.variables:
        raise SourceFault(Reason.TOO_LARGE, "variables of the response")
    if head and head[0].lstrip().startswith(("<", "{")):
        raise SourceFault(Reason.BAD_ANSWER, "not a table of values")


def _misfit(names: list[str], fields: list[str]) -> SourceFault | None:
    """Return a fault unless a row has a field for each variable, or is a blank line.

    Any other number means truncation, or an error message among the rows:
    `## Query cancelled due to timeout during execution ##` (Fuseki).
    """
    if len(fields) == len(names) or fields in ([], [""]):
        return None
    text = " ".join(fields)[:80]
    return SourceFault(Reason.SYNTAX, f"{counted(len(fields), 'field')}: {text!r}")


def _iter_lines(file: BinaryIO, limits: ResultLimits) -> Iterator[str]:
    decoder = codecs.getreader("utf-8-sig")(file, "replace")
    # `readline` of a codec also breaks lines at U+2028 and others.
    rest = ""
    while piece := decoder.read(64 * 1024):
        *lines, rest = (rest + piece).split("\n")
        for line in lines:
            yield f"{line}\n"
        if len(rest) > limits.row_chars:
            raise SourceFault(Reason.TOO_LARGE, "a row of the response")
    if rest:
        yield rest


def _iter_plain(
    names: list[str], table: Iterator[list[str]], log: FaultLog
) -> Iterator[Row | SourceFault]:
    try:
        for fields in table:
            if bad := _misfit(names, fields):
                yield bad
                continue
            row: Row = {}
            for name, text in zip(names, fields, strict=False):
                if text or name == "o":
                    row[name] = _guess(name, text, log)
            yield row
    except csv.Error as error:
        raise SourceFault(Reason.SYNTAX, f"CSV: {error}") from error


def _guess(name: str, text: str, log: FaultLog) -> ResultTerm:
    if text.startswith("_:"):
        return ResultTerm("blank", text[2:])
    if text.startswith("nodeID://"):  # Virtuoso
        return ResultTerm("blank", text)
    if text.startswith("<") and text.endswith(">") and _IRI.match(text[1:-1]):
        text = text[1:-1]
    if name in ("s", "p", "g"):
        return ResultTerm("iri", text)
    log.note(Reason.REPAIRED, "guessed kinds of values")
    return ResultTerm("iri" if _IRI.match(text) else "literal", text)


def _to_row(names: list[str], fields: list[str]) -> Row | None:
    row: Row = {}
    for name, field in zip(names, fields, strict=False):
        if not field:
            continue
        cell = _parse_term(field.strip(" "))
        if cell is None:
            return None
        row[name] = cell
    return row


def _parse_term(field: str) -> ResultTerm | None:
    if field.startswith("<") and field.endswith(">") and field[1:2] != "<":
        return ResultTerm("iri", _unescape(field[1:-1]))
    if field.startswith("_:"):
        return ResultTerm("blank", field[2:])
    if field.startswith("<<"):
        return _parse_triple(field)
    found = _LITERAL.match(field)
    if found:
        text = _unescape(found["text"])
        language = found["language"] or ""
        return ResultTerm("literal", text, found["datatype"] or "", language)
    for is_form, name in _NUMBERS:
        if is_form(field):
            return ResultTerm("literal", field, XSD + name)
    return None


def _parse_triple(field: str) -> ResultTerm | None:
    """Return a triple term (RDF 1.2), or one in the older form `<< s p o >>`."""
    if not field.startswith("<<("):
        field = f"<<( {field[2:].removesuffix('>>')} )>>"
    line = f"_:a <a:a> {field} .".encode()
    if is_text_too_deep(line):
        return None
    try:
        (quad,) = ox.parse(line, ox.RdfFormat.TURTLE)
    except (SyntaxError, ValueError):
        return None
    return _cell_of(quad.object)


def _cell_of(
    found: ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple,
) -> ResultTerm | None:
    if isinstance(found, ox.Triple):
        return triple_of([_cell_of(x) for x in found])
    return _parse_term(str(found))


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_unescape_one, text) if "\\" in text else text


def _unescape_one(found: re.Match[str]) -> str:
    short, long, single = found.groups()
    if single is not None:
        return _ESCAPED.get(single, single)
    number = int(short or long, 16)
    return chr(number) if number <= 0x10FFFF else "\ufffd"
