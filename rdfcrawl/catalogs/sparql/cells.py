"""What stands in a field of a result table, and its term in N-Quads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from rdfcrawl.rdf import terms

if TYPE_CHECKING:
    from collections.abc import Callable

CellKind = Literal["iri", "blank", "literal"]


class ResultTerm(NamedTuple):
    """One RDF term of a row.

    Attributes:
        kind: of the term.
        text: the IRI, the label (without `_:`) or the lexical form.
        datatype: of a literal; empty if it has none of its own.
        language: of a literal; empty if it has none.
    """

    kind: CellKind
    text: str
    datatype: str = ""
    language: str = ""


Row = dict[str, ResultTerm]
"""One row: variable, without its question mark, to what it is bound to."""


def term(cell: ResultTerm, name_blank: Callable[[str], str]) -> str:
    """Return the N-Quads term of a field.

    Args:
        cell: the field.
        name_blank: label in the answer -> label that is written; whoever gives it
            decides how far a label reaches.

    >>> term(ResultTerm("literal", "x", language="en"), str)
    '"x"@en'
    """
    if cell.kind == "iri":
        return terms.iri(cell.text)
    if cell.kind == "blank":
        return terms.blank(name_blank(cell.text))
    return terms.literal(cell.text, datatype=cell.datatype, language=cell.language)
