"""Write the solutions of SPARQL queries: a table, JSON, CSV, TSV or XML.

Formats: SPARQL 1.2 Query Results JSON, CSV and TSV, and XML Formats (W3C).
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, TextIO
from xml.sax.saxutils import escape, quoteattr

import pyoxigraph as ox

from rdfcrawl.core.namespaces import XSD

if TYPE_CHECKING:
    Row = Sequence[ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple | None]
    Term = ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple

_MEASURED_ROWS: Final = 200  # of a table, before its first line is written
_MAX_WIDTH: Final = 70
_RESULTS: Final = "http://www.w3.org/2005/sparql-results#"
_ITS: Final = "http://www.w3.org/2005/11/its"
_XSD_STRING: Final = f"{XSD}string"
_CONTROLS: Final = {n: f"\\x{n:02x}" for n in (*range(32), *range(127, 160))}


def write_json(names: Sequence[str], rows: Iterable[Row], file: TextIO) -> None:
    """Write solutions as `application/sparql-results+json`, one a line."""
    file.write(f'{{"head":{{"vars":{json.dumps(names)}}},"results":{{"bindings":[')
    end = "\n"
    for row in rows:
        bound = {
            name: json_term(term)
            for name, term in zip(names, row, strict=True)
            if term is not None
        }
        file.write(end + json.dumps(bound, ensure_ascii=False))
        end = ",\n"
    file.write("\n]}}\n")


def json_term(term: Term) -> dict[str, object]:
    """Return a term in the JSON form of SPARQL 1.2."""
    if isinstance(term, ox.NamedNode):
        return {"type": "uri", "value": term.value}
    if isinstance(term, ox.BlankNode):
        return {"type": "bnode", "value": term.value}
    if isinstance(term, ox.Triple):
        found = {
            "subject": json_term(term.subject),
            "predicate": json_term(term.predicate),
            "object": json_term(term.object),
        }
        return {"type": "triple", "value": found}
    literal: dict[str, object] = {"type": "literal", "value": term.value}
    if term.language:
        literal["xml:lang"] = term.language
        if term.direction:
            literal["its:dir"] = term.direction.value
    elif term.datatype.value != _XSD_STRING:
        literal["datatype"] = term.datatype.value
    return literal


def write_csv(names: Sequence[str], rows: Iterable[Row], file: TextIO) -> None:
    """Write solutions as `text/csv`: values without their kinds."""
    writer = csv.writer(file)  # lines end in CRLF (RFC 4180)
    writer.writerow(names)
    writer.writerows([_csv_value(term) for term in row] for row in rows)


def _csv_value(term: Term | None) -> str:
    if term is None:
        return ""
    is_plain = isinstance(term, ox.NamedNode | ox.Literal)
    return term.value if is_plain else str(term)  # type: ignore[union-attr]


def write_tsv(names: Sequence[str], rows: Iterable[Row], file: TextIO) -> None:
    """Write solutions as `text/tab-separated-values`: terms as in Turtle."""
    file.write("\t".join(f"?{name}" for name in names) + "\n")
    for row in rows:
        values = ("" if term is None else _tsv_value(term) for term in row)
        file.write("\t".join(x.replace("\t", "\\t") for x in values) + "\n")


def _tsv_value(term: Term) -> str:
    return f"<<( {term} )>>" if isinstance(term, ox.Triple) else str(term)


def write_xml(names: Sequence[str], rows: Iterable[Row], file: TextIO) -> None:
    """Write solutions as `application/sparql-results+xml`."""
    variables = "".join(f"<variable name={quoteattr(name)}/>" for name in names)
    file.write(
        f'<?xml version="1.0"?>\n<sparql xmlns="{_RESULTS}" xmlns:its="{_ITS}"'
        f' its:version="2.0"><head>{variables}</head>'
        "<results>\n"
    )
    for row in rows:
        bindings = (
            f"<binding name={quoteattr(name)}>{_xml_term(term)}</binding>"
            for name, term in zip(names, row, strict=True)
            if term is not None
        )
        file.write(f"<result>{''.join(bindings)}</result>\n")
    file.write("</results></sparql>\n")


def _xml_term(term: Term) -> str:
    if isinstance(term, ox.NamedNode):
        return f"<uri>{_xml_text(term.value)}</uri>"
    if isinstance(term, ox.BlankNode):
        return f"<bnode>{_xml_text(term.value)}</bnode>"
    if isinstance(term, ox.Triple):
        parts = zip(
            ("subject", "predicate", "object"),
            (term.subject, term.predicate, term.object),
            strict=True,
        )
        inner = "".join(f"<{name}>{_xml_term(part)}</{name}>" for name, part in parts)
        return f"<triple>{inner}</triple>"
    kind = ""
    if term.language:
        kind = f" xml:lang={quoteattr(term.language)}"
        if term.direction:
            kind += f" its:dir={quoteattr(term.direction.value)}"
    elif term.datatype.value != _XSD_STRING:
        kind = f" datatype={quoteattr(term.datatype.value)}"
    return f"<literal{kind}>{_xml_text(term.value)}</literal>"


def _xml_text(text: str) -> str:
    """Return text for XML 1.0, which has no control characters (section 2.2)."""
    kept = (x if x >= " " or x in "\t\n" else "\N{REPLACEMENT CHARACTER}" for x in text)
    return escape("".join(kept), {"\r": "&#13;"})


def write_table(
    names: Sequence[str],
    rows: Iterable[Row],
    file: TextIO,
    *,
    prefixes: Mapping[str, str],
) -> None:
    """Write solutions for human readers: columns, short IRIs, controls escaped."""
    cells = ([_cell(term, prefixes) for term in row] for row in rows)
    first = list(islice(cells, _MEASURED_ROWS))
    columns = zip(names, *first, strict=True)
    widths = [min(_MAX_WIDTH, max(map(len, column))) for column in columns]
    file.write(_line(names, widths) + _line(["-" * width for width in widths], widths))
    n_rows = 0
    for line in chain(first, cells):
        file.write(_line(line, widths))
        n_rows += 1
    file.write(f"({n_rows:,} row{'s' * (n_rows != 1)})\n")


def _line(cells: Iterable[str], widths: Sequence[int]) -> str:
    padded = (f"{x:{width}}" for x, width in zip(cells, widths, strict=True))
    return "  ".join(padded).rstrip() + "\n"


def _cell(term: Term | None, prefixes: Mapping[str, str]) -> str:
    if term is None:
        return ""
    if isinstance(term, ox.Literal):
        text = term.value + (f"@{term.language}" if term.language else "")
    elif isinstance(term, ox.NamedNode):
        text = _shortened(term.value, prefixes)
    else:
        text = str(term)
    # Crawled text may contain control sequences of a terminal.
    return text.translate(_CONTROLS)


def _shortened(iri: str, prefixes: Mapping[str, str]) -> str:
    for name, namespace in prefixes.items():
        if iri.startswith(namespace):
            local = iri[len(namespace) :]
            if local.replace("-", "_").isidentifier():
                return f"{name}:{local}"
    return iri


WRITERS: Final[Mapping[str, Callable[[Sequence[str], Iterable[Row], TextIO], None]]] = {
    "json": write_json,
    "csv": write_csv,
    "tsv": write_tsv,
    "xml": write_xml,
}
