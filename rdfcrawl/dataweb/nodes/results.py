"""SPARQL 1.1 result tables, written row by row so that any can be cut short."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Sequence
from xml.sax.saxutils import escape, quoteattr

import pyoxigraph as ox

from rdfcrawl.core.namespaces import XSD

Term = ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple
_XSD_STRING = f"{XSD}string"
_CONTROLS = {chr(code): f"&#{code};" for code in (9, 10, 13)}


def write_json(variables: Sequence[str], rows: Iterable[Sequence[Term | None]]) -> str:
    """Write SPARQL 1.1 Query Results JSON."""
    bindings = [
        {
            name: _json_term(term)
            for name, term in zip(variables, row, strict=True)
            if term is not None
        }
        for row in rows
    ]
    table = {"head": {"vars": list(variables)}, "results": {"bindings": bindings}}
    return json.dumps(table, ensure_ascii=False)


def write_xml(variables: Sequence[str], rows: Iterable[Sequence[Term | None]]) -> str:
    """Write SPARQL Query Results XML."""
    out = [
        (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            '<sparql xmlns="http://www.w3.org/2005/sparql-results#"><head>'
        )
    ]
    out += [f"<variable name={quoteattr(name)}/>" for name in variables]
    out.append("</head><results>")
    for row in rows:
        out.append("<result>")
        out += [
            f"<binding name={quoteattr(name)}>{_xml_term(term)}</binding>"
            for name, term in zip(variables, row, strict=True)
            if term is not None
        ]
        out.append("</result>\n")
    out.append("</results></sparql>\n")
    return "".join(out)


def write_csv(variables: Sequence[str], rows: Iterable[Sequence[Term | None]]) -> str:
    """Write SPARQL 1.1 Query Results CSV: values without their kind."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(variables)
    writer.writerows([_plain(term) for term in row] for row in rows)
    return out.getvalue()


def write_tsv(variables: Sequence[str], rows: Iterable[Sequence[Term | None]]) -> str:
    """Write SPARQL 1.1 Query Results TSV: terms as in N-Triples."""
    lines = ["\t".join(f"?{name}" for name in variables)]
    lines += [
        "\t".join("" if term is None else str(term) for term in row) for row in rows
    ]
    return "\n".join(lines) + "\n"


Writer = Callable[[Sequence[str], Iterable[Sequence[Term | None]]], str]
WRITERS: dict[ox.QueryResultsFormat, Writer] = {
    ox.QueryResultsFormat.JSON: write_json,
    ox.QueryResultsFormat.XML: write_xml,
    ox.QueryResultsFormat.CSV: write_csv,
    ox.QueryResultsFormat.TSV: write_tsv,
}


def _json_term(term: Term) -> dict[str, object]:
    if isinstance(term, ox.NamedNode):
        return {"type": "uri", "value": term.value}
    if isinstance(term, ox.BlankNode):
        return {"type": "bnode", "value": term.value}
    if isinstance(term, ox.Literal):
        literal: dict[str, object] = {"type": "literal", "value": term.value}
        if term.language:
            literal["xml:lang"] = term.language
        elif term.datatype.value != _XSD_STRING:
            literal["datatype"] = term.datatype.value
        return literal
    parts = (term.subject, term.predicate, term.object)
    names = ("subject", "predicate", "object")
    inner = {name: _json_term(part) for name, part in zip(names, parts, strict=True)}
    return {"type": "triple", "value": inner}


def _xml_term(term: Term) -> str:
    if isinstance(term, ox.NamedNode):
        return f"<uri>{escape(term.value)}</uri>"
    if isinstance(term, ox.BlankNode):
        return f"<bnode>{escape(term.value)}</bnode>"
    if isinstance(term, ox.Literal):
        attribute = ""
        if term.language:
            attribute = f" xml:lang={quoteattr(term.language)}"
        elif term.datatype.value != _XSD_STRING:
            attribute = f" datatype={quoteattr(term.datatype.value)}"
        return f"<literal{attribute}>{escape(term.value, _CONTROLS)}</literal>"
    parts = (
        ("subject", term.subject),
        ("predicate", term.predicate),
        ("object", term.object),
    )
    inner = "".join(f"<{name}>{_xml_term(part)}</{name}>" for name, part in parts)
    return f"<triple>{inner}</triple>"


def _plain(term: Term | None) -> str:
    if term is None:
        return ""
    if isinstance(term, ox.BlankNode | ox.Triple):
        return str(term)
    return term.value
