"""Which node of the web has which kind, and which node links to which."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdfcrawl.dataweb.attachment import DegreeUrn, iter_link_counts
from rdfcrawl.dataweb.config import NodeKind

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from rdfcrawl.dataweb.config import WebConfig


@dataclass(frozen=True, slots=True)
class NodeGraph:
    """The links between nodes.

    Attributes:
        kinds: kind of each node, by node id.
        links: ids that a node links to, by node id, without duplicates.
        seeds: node ids from which all nodes can be reached, ascending.
    """

    kinds: tuple[NodeKind, ...]
    links: tuple[tuple[int, ...], ...]
    seeds: tuple[int, ...]


def may_link(source: NodeKind, target: NodeKind) -> bool:
    """Return whether a link is possible; ORCA excludes CKAN -> dereferencing."""
    return not (source is NodeKind.CKAN and target is NodeKind.DEREFERENCING)


def draw_kinds(config: WebConfig, rng: random.Random) -> tuple[NodeKind, ...]:
    """Draw the kinds: one of each that has a weight, the rest by weight.

    Ids are contiguous per kind, in the order of `NodeKind`.
    """
    occurring = config.kinds
    rest = rng.choices(
        occurring,
        weights=[config.weights[kind] for kind in occurring],
        k=config.n_nodes - len(occurring),
    )
    drawn = [*occurring, *rest]
    order = list(NodeKind)
    return tuple(sorted(drawn, key=order.index))


def draw_graph(
    kinds: Sequence[NodeKind], *, degree: int, rng: random.Random
) -> NodeGraph:
    """Link the nodes by preferential attachment; ceil(N*degree/2) links.

    Where kinds exclude each other there may be fewer, if a node finds no partner.
    """
    order = _interleave(kinds)
    growth = _Growth(kinds, order, rng)
    n_kinds = len(set(kinds))
    n_edges = math.ceil(len(kinds) * degree / 2)
    first = growth.start(n_kinds)
    for position, count in iter_link_counts(
        len(kinds),
        n_edges=n_edges - growth.n_edges,
        degree=degree,
        first=first,
        rng=rng,
    ):
        growth.add(order[position], count)
    links = tuple(tuple(targets) for targets in growth.links)
    return NodeGraph(tuple(kinds), links, choose_seeds(links))


def choose_seeds(links: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Choose nodes from which all are reachable.

    Nodes without in-link (or node 0), then the lowest node not reached yet.
    """
    linked = {target for targets in links for target in targets}
    seeds = [node for node in range(len(links)) if node not in linked] or [0]
    reached = _reach(links, seeds, set())
    for node in range(len(links)):
        if node not in reached:
            seeds.append(node)
            _reach(links, [node], reached)
    return tuple(sorted(seeds))


def _reach(
    links: Sequence[Sequence[int]], starts: Sequence[int], reached: set[int]
) -> set[int]:
    queue = deque(starts)
    reached.update(starts)
    while queue:
        for target in links[queue.popleft()]:
            if target not in reached:
                reached.add(target)
                queue.append(target)
    return reached


def _interleave(kinds: Sequence[NodeKind]) -> list[int]:
    """Order nodes so that kinds alternate in proportion, one of each kind first."""
    members: dict[NodeKind, list[int]] = {}
    for node, kind in enumerate(kinds):
        members.setdefault(kind, []).append(node)
    placed = [
        (index / len(nodes), rank, node)
        for rank, nodes in enumerate(members.values())
        for index, node in enumerate(nodes)
    ]
    return [node for _, _, node in sorted(placed)]


class _Growth:
    """The graph while nodes are added to it."""

    def __init__(
        self, kinds: Sequence[NodeKind], order: Sequence[int], rng: random.Random
    ) -> None:
        self._kinds, self._order, self._rng = kinds, order, rng
        self._urn = DegreeUrn(rng)
        self._n_added = 0
        self.links: list[list[int]] = [[] for _ in kinds]
        self.n_edges = 0

    def start(self, n_kinds: int) -> int:
        """Place the first node of each kind, linked to another kind; their number."""
        starters = self._order[:n_kinds]
        for node in starters:
            self._urn.add_vertex(node)
        for node in starters:
            targets = (
                other
                for other in starters
                if other != node and may_link(self._kinds[node], self._kinds[other])
            )
            target = next(targets, None)
            if target is not None:
                self._link(node, target)
        self._n_added = n_kinds
        return n_kinds

    def add(self, node: int, count: int) -> None:
        """Add a node with `count` links: half out, half in."""
        n_out = self._rng.randint(0, 1) if count == 1 else (count + 1) // 2
        kinds = self._kinds
        targets = self._urn.draw(
            n_out, allowed=lambda other: may_link(kinds[node], kinds[other])
        )
        # Nodes that a CKAN node cannot link to may link to it.
        sources = self._urn.draw(
            min(count - len(targets), self._n_added),
            allowed=lambda other: may_link(kinds[other], kinds[node]),
        )
        self._urn.add_vertex(node)
        self._n_added += 1
        for target in targets:
            self._link(node, target)
        for source in sources:
            self._link(source, node)

    def _link(self, source: int, target: int) -> None:
        self.links[source].append(target)
        self._urn.add_in_edge(target)
        self.n_edges += 1
