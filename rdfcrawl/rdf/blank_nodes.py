"""Name blank nodes by their statements, independent of labels.

RDFC-1.0 also covers all graphs, but takes more than 8 s for 8 blank nodes that all
point to each other. Here, nodes that no statement distinguishes are marked in turn, a
bounded number of times.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Final

Triple = tuple[str, str, str]
"""Subject, predicate and object as in N-Triples."""

MARK: Final = "_:"  # prefix of blank nodes, and of no other term
_MAX_ROUNDS: Final = 64
_MAX_NODES: Final = 2_000  # distinguished in one component


def iter_components(triples: Iterable[Triple]) -> Iterator[list[Triple]]:
    """Yield groups of triples connected by blank nodes; other triples stay single."""
    parents: dict[str, str] = {}

    def root(node: str) -> str:
        while parents.setdefault(node, node) != node:
            parents[node] = node = parents[parents[node]]
        return node

    blanks = {triple: _blanks(triple) for triple in triples}
    for nodes in blanks.values():
        if len(nodes) == 2:
            parents[root(nodes[0])] = root(nodes[1])
    groups: dict[str, list[Triple]] = defaultdict(list)
    for triple, nodes in blanks.items():
        if nodes:
            groups[root(nodes[0])].append(triple)
        else:
            yield [triple]
    yield from groups.values()


def neighbours(component: Iterable[Triple]) -> dict[str, set[str]]:
    """Return the blank nodes of triples, each with those in the same triple."""
    near: dict[str, set[str]] = {}
    for triple in component:
        nodes = _blanks(triple)
        for node in nodes:
            near.setdefault(node, set()).update(nodes)
    return near


def stable_names(
    component: list[Triple], names: dict[str, str] | None = None
) -> dict[str, str]:
    """Return a name for each blank node: a hash of the statements around the node.

    Starting from `names`, if given, names are refined by those of the neighbours until
    the number of distinct names stays constant. Nodes of equal components have equal
    names.
    """
    if names is None:
        names = dict.fromkeys((x for t in component for x in _blanks(t)), "")
    n_before = 1
    for _ in range(_MAX_ROUNDS if names else 0):
        seen: dict[str, list[str]] = {node: [] for node in names}
        for subject, predicate, obj in component:
            if subject in names:
                mine = obj == subject
                seen[subject].append(f">{predicate} {mine} {names.get(obj, obj)}")
            if obj in names:
                seen[obj].append(f"<{predicate} {names.get(subject, subject)}")
        names = {x: _hash(names[x], *sorted(found)) for x, found in seen.items()}
        n_now = len(set(names.values()))
        if n_now in (n_before, len(names)):
            break
        n_before = n_now
    return names


def unique_names(component: list[Triple]) -> dict[str, str]:
    """Return a unique name for each blank node, the same in equal components.

    Indistinguishable nodes are marked in turn. Beyond the bounds, names depend on the
    labels.
    """
    nodes = {node for triple in component for node in _blanks(triple)}
    if len(nodes) > _MAX_NODES:
        return {node: _hash(node) for node in nodes}
    names = stable_names(component)
    for _ in range(_MAX_ROUNDS):
        alike: dict[str, list[str]] = defaultdict(list)
        for node, name in names.items():
            alike[name].append(node)
        first = min((x for x in alike if len(alike[x]) > 1), default=None)
        if first is None:
            return names
        names[alike[first][0]] = _hash(first, "first")
        names = stable_names(component, names)
    return {node: _hash(name, node) for node, name in names.items()}


def signature(component: list[Triple], names: dict[str, str], graph: str = "") -> str:
    """Return a hash of triples with the names of their blank nodes, and of a graph."""
    return _hash(
        graph, *sorted(" ".join(names.get(x, x) for x in t) for t in component)
    )


def _blanks(triple: Triple) -> list[str]:
    return [term for term in (triple[0], triple[2]) if term.startswith(MARK)]


def _hash(*texts: str) -> str:
    return blake2b("\n".join(texts).encode(), digest_size=12).hexdigest()
