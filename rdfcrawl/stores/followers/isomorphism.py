"""Test whether graphs are equal up to blank node labels, in bounded time.

Each blank node gets a colour: a hash of its statements and the colours of its
neighbours, refined in rounds (Weisfeiler and Leman, 1968). Graphs with different
colours are different. Equal colours prove equality if all colours in each group of
linked blank nodes differ, or if the links form a tree, which is nearly always the case.
The rest is canonicalized if it is small, since that may take exponential time.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

import pyoxigraph as ox

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_TIED: Final = 8  # largest number of blank nodes to canonicalize
_MAX_STEPS: Final = 5_000_000  # of colouring; some seconds
_MIN_ROUNDS: Final = 16


def is_same(one: set[ox.Quad], other: set[ox.Quad]) -> bool | None:
    """Return whether two graphs are equal; None if that would take too long."""
    if one == other:
        return True
    if len(one) != len(other):
        return False
    first, second = _ColouredGraph(one), _ColouredGraph(other)
    same = first.ground == second.ground and first.refine_with(second)
    if not same or (not first.tied and not second.tied):
        return same
    if first.is_deep or second.is_deep or max(first.tied, second.tied) > MAX_TIED:
        return None
    return _canonical(one) == _canonical(other)


def _canonical(quads: set[ox.Quad]) -> set[ox.Quad]:
    dataset = ox.Dataset(quads)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return set(dataset)


class _ColouredGraph:
    """A graph with coloured blank nodes.

    Attributes:
        ground: statements without blank nodes.
        is_deep: triple terms contain blank nodes.
    """

    def __init__(self, quads: Iterable[ox.Quad]) -> None:
        self.ground: set[ox.Quad] = set()
        self.is_deep = False
        self._colours: dict[ox.BlankNode, int] = {}
        self._about: dict[ox.BlankNode, list[tuple[int, object]]] = defaultdict(list)
        self._linked: dict[ox.BlankNode, set[ox.BlankNode]] = defaultdict(set)
        for quad in quads:
            self._add(quad)

    def _add(self, quad: ox.Quad) -> None:
        ends: tuple[object, object] = quad.subject, quad.object
        nodes = [each for each in ends if isinstance(each, ox.BlankNode)]
        self.is_deep |= isinstance(quad.object, ox.Triple) and "_:" in str(quad.object)
        if not nodes:
            self.ground.add(quad)
            return
        for node in nodes:
            self._colours[node] = 0
        if len(nodes) == 2 and nodes[0] != nodes[1]:
            self._linked[nodes[0]].add(nodes[1])
            self._linked[nodes[1]].add(nodes[0])
        for position, (near, far) in enumerate((ends, ends[::-1])):
            if isinstance(near, ox.BlankNode):
                fixed = hash((position, str(quad.predicate)))
                self._about[near].append((fixed, far if far != near else None))

    def refine_with(self, other: _ColouredGraph) -> bool | None:
        """Colour both graphs; return whether they have the same colours.

        None: equal so far, and further rounds would take too long.
        """
        n_colours = 0
        n_ends = sum(map(len, self._about.values()))
        for _ in range(max(_MIN_ROUNDS, _MAX_STEPS // (n_ends + 1))):
            self._refine()
            other._refine()
            found = Counter(self._colours.values())
            if found != Counter(other._colours.values()):
                return False
            if len(found) == n_colours:
                return True
            n_colours = len(found)
        return None

    def _refine(self) -> None:
        colours = self._colours
        self._colours = {
            node: hash(
                (
                    colours[node],
                    *sorted(
                        hash((fixed, self._colour(far, colours)))
                        for fixed, far in self._about[node]
                    ),
                )
            )
            for node in colours
        }

    @staticmethod
    def _colour(term: object, colours: dict[ox.BlankNode, int]) -> int:
        if isinstance(term, ox.BlankNode):
            return colours[term]
        return 1 if term is None else hash(str(term))

    @property
    def tied(self) -> int:
        """Number of blank nodes for which equal colours are no proof."""
        n_tied, left = 0, set(self._colours)
        while left:
            group = self._group(left.pop())
            left -= group
            n_links = sum(len(self._linked[node]) for node in group) // 2
            colours = {self._colours[node] for node in group}
            if len(colours) < len(group) and n_links >= len(group):
                n_tied += len(group)
        return n_tied

    def _group(self, node: ox.BlankNode) -> set[ox.BlankNode]:
        group, waiting = {node}, [node]
        while waiting:
            new = self._linked[waiting.pop()] - group
            group |= new
            waiting += new
        return group
