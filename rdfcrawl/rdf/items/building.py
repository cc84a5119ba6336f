"""Build the items of a document: nodes nested in each other."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.items.description import NIL, Descriptions, Name, is_blank
from rdfcrawl.rdf.items.roots import choose_roots
from rdfcrawl.rdf.items.values import full_value, plain_value

if TYPE_CHECKING:
    import pyoxigraph as ox

MAX_DEPTH: Final = 32
"""Levels of nodes and lists in an item."""

MAX_VALUES: Final = 10_000
"""Values in an item."""

_VALUES_PER_STATEMENT: Final = 10  # items of a document share nodes, each has a copy
_FEW_VALUES: Final = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRule:
    """The wanted items, and their form.

    Attributes:
        classes: IRIs of their classes; None for any.
        nested: items for all nodes of the class, also for those within other items;
            those with an IRI are then named there, not nested.
        lists: each value is a list.
        full: literals have their language and datatype.
        across: longest chain of other documents from which nodes are nested.
    """

    classes: frozenset[str] | None = None
    nested: bool = False
    lists: bool = False
    full: bool = False
    across: int = 0


class DocumentItems:
    """The items of a document, built while they are iterated.

    Args:
        known: statements of the document.
        rule: for the items.
        find: returns the statements of another document that describes an IRI, if
            there is one; raises `SourceFault` if it is too large.

    Attributes:
        cut: number of items that lack something, by reason (`TOO_DEEP`, `TOO_LARGE`).
    """

    def __init__(
        self,
        known: Descriptions,
        rule: ItemRule,
        find: Callable[[str], Descriptions | None] | None = None,
    ) -> None:
        self._known, self.rule, self.find = known, rule, find
        self._n_left = _FEW_VALUES + _VALUES_PER_STATEMENT * known.n_statements
        self.cut: Counter[Reason] = Counter()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        known = self._known
        wanted = [
            name
            for name in known.classes
            if known.has_class(name, self.rule.classes) and not known.is_cell(name)
        ]
        roots = wanted if self.rule.nested else choose_roots(wanted, self._nested)
        covered: set[Name] = set()
        # Nodes that a bound kept out of the items of others have their own.
        for name in (*roots, *wanted):
            if name not in covered:
                n_own = sum(1 for _ in known.values(name))
                item = _ItemBuilder(self, min(MAX_VALUES, max(self._n_left, n_own)))
                yield item.build(name, known)
                inner = set() if self.rule.nested else item.placed.keys()
                covered |= {name} | (inner - item.lacking)
                self._n_left = max(0, self._n_left - item.n_values)
                self.cut.update(item.cut)

    def _nested(self, name: Name) -> Iterator[Name]:
        known = self._known
        return (x for x in known.named(name) if self.may_nest(x, known))

    def may_nest(self, name: Name, known: Descriptions) -> bool:
        """Return whether a node is nested in those of its document that refer to it."""
        if name not in known.nodes or name == known.url:
            return False
        if is_blank(name) or not self.rule.nested:
            return True
        return not known.has_class(name, self.rule.classes)

    def literal(self, literal: ox.Literal) -> Any:
        """Return the value of a literal."""
        return full_value(literal) if self.rule.full else plain_value(literal)


class _NodePlace(NamedTuple):
    """Position of a node in an item."""

    depth: int
    known: Descriptions  # of the document that describes the node
    n_across: int  # other documents on the way to it

    def below(self) -> _NodePlace:
        return self._replace(depth=self.depth + 1)


class _ItemBuilder:
    """One item; each node is nested once, as near to the root as possible."""

    def __init__(self, items: DocumentItems, max_values: int) -> None:
        self._items, self._max_values = items, max_values
        self._waiting: deque[tuple[Name, _NodePlace]] = deque()
        self._n_labels = self.n_values = 0
        self.placed: dict[Name, dict[str, Any]] = {}
        self.cut: set[Reason] = set()
        self.lacking: set[Name] = set()  # placed, but without all of their values

    def build(self, root: Name, known: Descriptions) -> dict[str, Any]:
        """Return the item."""
        item = self._nest(root, _NodePlace(0, known, 0), source=known.url)
        while self._waiting:
            self._fill(*self._waiting.popleft())
        return item

    def _nest(self, name: Name, place: _NodePlace, source: str = "") -> dict[str, Any]:
        node = self.placed[name] = {}
        if not is_blank(name):
            node["@id"] = name
        if place.depth >= MAX_DEPTH:
            self._cut(name, Reason.TOO_DEEP)
            return node
        if "@type" in place.known.nodes[name]:
            node["@type"] = None  # its place
        if source:
            node["@source"] = source
        self._waiting.append((name, place))
        return node

    def _cut(self, name: Name, reason: Reason) -> None:
        self.placed[name]["@fault"] = str(reason)
        self.cut.add(reason)
        self.lacking.add(name)

    def _fill(self, name: Name, place: _NodePlace) -> None:
        node, description = self.placed[name], place.known.nodes[name]
        for key in sorted(description):
            values: list[Any] = []
            for each in description[key]:
                if key == "@type":  # always there: it is short, and says the most
                    values.append(each)
                elif self.n_values < self._max_values:
                    self.n_values += 1
                    values.append(self._value(each, place.below()))
                else:
                    self._cut(name, Reason.TOO_LARGE)
                    break
            if values:
                distinct = _distinct(values)
                is_one = len(distinct) == 1 and not self._items.rule.lists
                node[key] = distinct[0] if is_one else distinct

    def _value(self, value: Any, place: _NodePlace) -> Any:
        if not isinstance(value, str):
            return self._items.literal(value)
        if value in self.placed:
            return self._reference(value)
        elements = [] if value == NIL else self._elements(value, place)
        if elements is not None:
            self.n_values += len(elements)
            return [self._value(each, place.below()) for each in elements]
        if self._items.may_nest(value, place.known):
            return self._nest(value, place)
        return self._reference(value) if is_blank(value) else self._iri(value, place)

    def _elements(self, name: Name, place: _NodePlace) -> list[Any] | None:
        if place.depth >= MAX_DEPTH or not is_blank(name):
            return None
        found = place.known.elements(name)
        too_many = found and self.n_values + len(found) > self._max_values
        return None if too_many else found

    def _reference(self, name: Name) -> dict[str, Any]:
        if not is_blank(name):
            return {"@id": name}
        node = self.placed.setdefault(name, {})
        if "@id" not in node:  # it gets a label now, before all else
            content = dict(node)
            node.clear()
            node["@id"] = f"_:{self._n_labels}"
            node.update(content)
            self._n_labels += 1
        return {"@id": node["@id"]}

    def _iri(self, name: Name, place: _NodePlace) -> str | dict[str, Any]:
        """Return an IRI, or the node if another document describes it."""
        find = self._items.find
        is_own = name == place.known.url or name in place.known.nodes
        if find is None or is_own or place.n_across >= self._items.rule.across:
            return name
        try:
            other = find(name)
        except SourceFault as fault:
            node = self.placed[name] = {"@id": name}
            self._cut(name, fault.fault.reason)
            return node
        if other is None or name not in other.nodes:
            return name
        there = _NodePlace(place.depth, other, place.n_across + 1)
        return self._nest(name, there, source=other.url)


def _distinct(values: list[Any]) -> list[Any]:
    """Return values without repetition: the same text in two languages, for instance.

    Numbers and booleans that Python holds equal are different.
    """
    if len(values) == 1:
        return values
    seen = set()
    found = []
    for each in values:
        key = (type(each), each) if isinstance(each, str | int | float) else id(each)
        if key not in seen:
            seen.add(key)
            found.append(each)
    return found
