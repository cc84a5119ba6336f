"""Compare what a store has with what a log stands for, graph by graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import pyoxigraph as ox

from rdfcrawl.followers.following import LogFollowing
from rdfcrawl.followers.oxigraph import OxigraphFollower

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rdfcrawl.followers.protocol import ReadableFollower
    from rdfcrawl.log.crawl_log import CrawlLog

_PROVENANCE: Final = "urn:rdfcrawl:provenance"
_NAMED: Final = 20  # of each kind


@dataclass(slots=True)
class DifferentGraphs:
    """Graphs of one kind: their number, and the names of the first."""

    n_graphs: int = 0
    names: list[str] = field(default_factory=list)

    def add(self, name: str) -> None:
        """Count a graph."""
        self.n_graphs += 1
        if len(self.names) < _NAMED:
            self.names.append(name)


@dataclass(slots=True)
class StoreComparison:
    """How a store differs from a log.

    Attributes:
        n_graphs: that the log has.
        missing: the log has them, the store has not.
        stale: they say something else in the store.
        surplus: the store has them, the log has not.
    """

    n_graphs: int = 0
    missing: DifferentGraphs = field(default_factory=DifferentGraphs)
    stale: DifferentGraphs = field(default_factory=DifferentGraphs)
    surplus: DifferentGraphs = field(default_factory=DifferentGraphs)

    @property
    def is_equal(self) -> bool:
        """Whether the store has what the log stands for, and nothing else."""
        return not any(
            each.n_graphs for each in (self.missing, self.stale, self.surplus)
        )


def compare(log: CrawlLog, store: ReadableFollower, scratch: Path) -> StoreComparison:
    """Return how a store, which is open, differs from a log.

    What the log stands for is written to a store in a folder in `scratch`, so that
    memory does not grow with the log. Provenance is not compared.

    Raises:
        ConfigError: the log cannot be read.
        StoreFault: a store cannot be read, or the disk is full.
    """
    found = StoreComparison()
    with TemporaryDirectory(dir=scratch, prefix="verify-") as folder:
        expected = OxigraphFollower(scratch / folder)
        following = LogFollowing(log, expected, patience_secs=0)
        following.open()
        try:
            following.catch_up()
            there = set(store.graphs())
            for graph in expected.graphs():
                if graph != _PROVENANCE:
                    _compare_graph(graph, expected, store, there, found)
            for graph in there - {_PROVENANCE}:
                if not expected.has_graph(graph):
                    found.surplus.add(graph)
        finally:
            expected.close()
    return found


def _compare_graph(
    graph: str,
    expected: ReadableFollower,
    store: ReadableFollower,
    there: set[str],
    found: StoreComparison,
) -> None:
    found.n_graphs += 1
    if graph not in there:
        found.missing.add(graph)
    elif not is_isomorphic(expected.read_graph(graph), store.read_graph(graph)):
        found.stale.add(graph)


def is_isomorphic(one: Iterable[bytes], other: Iterable[bytes]) -> bool:
    """Return whether two graphs differ in the labels of blank nodes at most.

    Numbers and times are compared by value, as Oxigraph has them.
    """
    first, second = _quads(one), _quads(other)
    if first == second:
        return True
    if len(first) != len(second):
        return False
    datasets = ox.Dataset(first), ox.Dataset(second)
    for each in datasets:
        each.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return set(datasets[0]) == set(datasets[1])


def _quads(lines: Iterable[bytes]) -> set[ox.Quad]:
    store = ox.Store()
    store.extend(ox.parse(b"".join(lines), format=ox.RdfFormat.N_QUADS))
    return set(store)
