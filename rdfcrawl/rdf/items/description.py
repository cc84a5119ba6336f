"""The statements of a document by subject, with the names that items have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.namespaces import RDF, RDF_TYPE
from rdfcrawl.rdf.items.names import canonical_iri, short_name
from rdfcrawl.rdf.rdf_11 import warn_of_triple_terms

if TYPE_CHECKING:
    import pyoxigraph as ox

MAX_STATEMENTS: Final = 100_000
NIL: Final = f"{RDF}nil"
_CELL: Final = frozenset({"rdf:first", "rdf:rest"})
_TYPED_CELL: Final = _CELL | {"@type"}

Name: TypeAlias = str
"""IRI, or label of a blank node with `_:`."""

Description: TypeAlias = dict[str, dict[Any, None]]
"""Values of each property of a node, each once, in the order of the document.

A value is the name of a node (`str`) or a literal of pyoxigraph.
"""


def is_blank(name: Name) -> bool:
    """Return whether a name is that of a blank node."""
    return name.startswith("_:")


class Descriptions:
    """The nodes of a document; graphs are merged, triple terms are left out.

    Args:
        quads: statements of the document.
        url: of the document.

    Attributes:
        url: of the document.
        nodes: with at least one statement, in the order of the document.
        classes: IRIs of the classes of each node that has any, in the same order.
        n_statements: number of statements.

    Raises:
        SourceFault: `TOO_LARGE`: more than `MAX_STATEMENTS`.
    """

    def __init__(self, quads: Iterable[ox.Quad], url: str) -> None:
        import pyoxigraph as ox  # noqa: PLC0415 (slow to import)

        self.url = url
        self.nodes: dict[Name, Description] = {}
        self.classes: dict[Name, list[str]] = {}
        self.n_statements = n_left_out = 0
        self._n_uses: Counter[Name] = Counter()  # of blank nodes
        for quad in quads:
            if self.n_statements == MAX_STATEMENTS:
                detail = f"items of more than {MAX_STATEMENTS} statements"
                raise SourceFault(Reason.TOO_LARGE, detail)
            self.n_statements += 1
            value: Any = quad.object
            if isinstance(value, ox.Triple):
                n_left_out += 1
            else:
                named = not isinstance(value, ox.Literal)
                self._add(quad, _name(value) if named else value)
        warn_of_triple_terms(n_left_out, "items")

    def _add(self, quad: ox.Quad, value: Any) -> None:
        subject, predicate = _name(quad.subject), quad.predicate.value
        key = short_name(predicate)
        if predicate == RDF_TYPE and isinstance(value, str) and not is_blank(value):
            self.classes.setdefault(subject, []).append(value)
            key, value = "@type", short_name(value)
        values = self.nodes.setdefault(subject, {}).setdefault(key, {})
        if value not in values:
            values[value] = None
            if isinstance(value, str) and is_blank(value):
                self._n_uses[value] += 1

    def has_class(self, name: Name, classes: frozenset[str] | None) -> bool:
        """Return whether a node has one of some classes; of any class, if None."""
        found = self.classes.get(name, [])
        return bool(found) if classes is None else not classes.isdisjoint(found)

    def is_cell(self, name: Name) -> bool:
        """Return whether a node is a part of a list of RDF."""
        return is_blank(name) and "rdf:rest" in self.nodes[name]

    def elements(self, name: Name) -> list[Any] | None:
        """Return the elements of a list of RDF; None if the node is not one.

        Each cell must be a blank node with nothing but `rdf:first` and `rdf:rest`, to
        which nothing else refers.
        """
        found: list[Any] = []
        while name != NIL:
            cell = self.nodes.get(name, {})
            is_cell = cell.keys() == _CELL or cell.keys() == _TYPED_CELL
            if not (is_cell and is_blank(name) and self._n_uses[name] == 1):
                return None
            (first, *others), rests = cell["rdf:first"], list(cell["rdf:rest"])
            if others or len(rests) != 1 or not isinstance(rests[0], str):
                return None
            found.append(first)
            name = rests[0]
        return found

    def values(self, name: Name) -> Iterator[Any]:
        """Yield the values of a node, without its classes."""
        for key, values in self.nodes[name].items():
            if key != "@type":
                yield from values

    def named(self, name: Name) -> Iterator[Name]:
        """Yield the nodes that are values of a node."""
        return (each for each in self.values(name) if isinstance(each, str))


def _name(term: Any) -> Name:
    text = str(term)
    return canonical_iri(text[1:-1]) if text[0] == "<" else text
