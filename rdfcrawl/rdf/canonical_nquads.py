"""Canonical N-Quads, by URDNA2015 of PyLD, in bounded time.

Import this on first use, for PyLD.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pyoxigraph as ox
from pyld.canon import URDNA2015

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.rdf_11 import I18N

MAX_STATEMENTS: Final = 100_000
_MAX_STEPS: Final = 2_000_000
_SLOW_STEPS: Final = 500  # what a step takes that compares neighbours
_MAX_ALIKE: Final = 6  # neighbours of a blank node: all their permutations are tried


def canonical_nquads(quads: Iterable[ox.Quad]) -> str:
    """Return statements as canonical N-Quads, each once.

    Base directions become part of the datatype, as for rdflib.

    Raises:
        SourceFault: `TOO_LARGE`: too many statements, blank nodes that are alike, or
            triple terms.
    """
    dataset: dict[str, list[Any]] = {}
    seen = set[ox.Quad]()
    for quad in quads:
        if quad in seen:
            continue
        if len(seen) == MAX_STATEMENTS:
            raise _too_large(f"more than {MAX_STATEMENTS} statements")
        seen.add(quad)
        statement = _pyld_statement(quad)
        if statement is None:
            raise _too_large("a statement about a statement")
        name = str(quad.graph_name).strip("<>")
        is_default = isinstance(quad.graph_name, ox.DefaultGraph)
        dataset.setdefault("@default" if is_default else name, []).append(statement)
    try:
        text: str = _BoundedUrdna().main(dataset, {"format": "application/n-quads"})
    except RecursionError as error:
        raise _too_large("a long chain of blank nodes that are alike") from error
    return text


def _pyld_term(term: Any) -> dict[str, str] | None:
    """Return a term of a dataset; None for a triple term, which PyLD has not."""
    if isinstance(term, ox.NamedNode):
        return {"type": "IRI", "value": term.value}
    if isinstance(term, ox.BlankNode):
        return {"type": "blank node", "value": f"_:{term.value}"}
    if isinstance(term, ox.Triple):
        return None
    found = {"type": "literal", "value": term.value, "datatype": term.datatype.value}
    if term.direction:
        return found | {"datatype": f"{I18N}{term.language}_{term.direction}"}
    return found | ({"language": term.language} if term.language else {})


def _pyld_statement(quad: ox.Quad) -> dict[str, dict[str, str]] | None:
    """Return a statement of a dataset; None if it has a triple term."""
    obj = _pyld_term(quad.object)
    subject, predicate = _pyld_term(quad.subject), _pyld_term(quad.predicate)
    if obj is None or subject is None or predicate is None:
        return None
    return {"subject": subject, "predicate": predicate, "object": obj}


class _BoundedUrdna(URDNA2015):  # type: ignore[misc]
    """The algorithm, which takes exponential time for some datasets."""

    def __init__(self) -> None:
        super().__init__()
        self._n_steps = 0

    def hash_first_degree_quads(self, id_: str) -> Any:
        self._count(1)
        return super().hash_first_degree_quads(id_)

    def create_hash_to_related(self, id_: str, issuer: Any) -> Any:
        self._count(_SLOW_STEPS)
        found = super().create_hash_to_related(id_, issuer)
        if any(len(alike) > _MAX_ALIKE for alike in found.values()):
            raise _too_large("blank nodes with many neighbours that are alike")
        return found

    def _count(self, n_steps: int) -> None:
        self._n_steps += n_steps
        if self._n_steps > _MAX_STEPS:
            raise _too_large("blank nodes that are alike")


def _too_large(detail: str) -> SourceFault:
    return SourceFault(Reason.TOO_LARGE, f"canonical N-Quads: {detail}")
