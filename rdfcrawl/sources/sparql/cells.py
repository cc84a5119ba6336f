"""Cells of a result table, and their terms in N-Quads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from rdfcrawl.rdf import terms

CellKind = Literal["iri", "blank", "literal"]


class ResultTerm(NamedTuple):
    """One RDF term of a row; `text` is an IRI, a label without `_:`, or a lexical form.

    `datatype` and `language` are empty unless a literal states them.
    """

    kind: CellKind
    text: str
    datatype: str = ""
    language: str = ""


Row = dict[str, ResultTerm]
"""One row: variable, without question mark, -> term."""


def term(cell: ResultTerm, name_blank: Callable[[str], str]) -> str:
    """Return the N-Quads term of a cell; `name_blank` maps labels of blank nodes.

    >>> term(ResultTerm("literal", "x", language="en"), str)
    '"x"@en'
    """
    if cell.kind == "iri":
        return terms.iri(cell.text)
    if cell.kind == "blank":
        return terms.blank(name_blank(cell.text))
    return terms.literal(cell.text, datatype=cell.datatype, language=cell.language)
