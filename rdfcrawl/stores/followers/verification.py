"""Compare what a store has with what a log stands for, graph by graph."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import pyoxigraph as ox

from rdfcrawl.core.errors import ConfigError, StoreFault
from rdfcrawl.stores.followers.following import LogFollowing
from rdfcrawl.stores.followers.isomorphism import is_same
from rdfcrawl.stores.followers.oxigraph import OxigraphFollower, iter_graph, iter_graphs
from rdfcrawl.stores.followers.stored_once import linked_from

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rdfcrawl.stores.followers.protocol import Follower
    from rdfcrawl.stores.log.crawl_log import CrawlLog

_PROVENANCE: Final = "urn:rdfcrawl:provenance"
_PREFIX: Final = "verify-"  # of folders
_NAMED: Final = 20  # of each kind
MAX_HELD: Final = 100_000  # statements of a graph; longer ones are compared on disk
_LINES_AT_ONCE: Final = 10_000

GraphKind: TypeAlias = Literal["equal", "missing", "stale", "not_compared"]


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
        not_compared: both have them, and to compare them takes too much: blank nodes
            in a long graph, or many that are linked alike.
    """

    n_graphs: int = 0
    missing: DifferentGraphs = field(default_factory=DifferentGraphs)
    stale: DifferentGraphs = field(default_factory=DifferentGraphs)
    surplus: DifferentGraphs = field(default_factory=DifferentGraphs)
    not_compared: DifferentGraphs = field(default_factory=DifferentGraphs)

    @property
    def is_equal(self) -> bool:
        """Whether the store has what the log stands for, and nothing else."""
        return not any(
            each.n_graphs
            for each in (self.missing, self.stale, self.surplus, self.not_compared)
        )

    def add(self, graph: str, pair: _GraphPair) -> None:
        """Count a graph of the log.

        Raises:
            StoreFault: the store cannot be read.
        """
        self.n_graphs += 1
        kind = pair.kind()
        if kind != "equal":
            getattr(self, kind).add(graph)


def compare(
    log: CrawlLog,
    store: Follower,
    scratch: Path,
    *,
    is_once: bool = False,
) -> StoreComparison:
    """Return how a store, which is open, differs from a log.

    What the log stands for is written to a store in a folder in `scratch`; so is what
    is in a store that cannot be asked for a graph, and each graph that is too long for
    memory. Provenance is not compared.

    Args:
        log: that the store follows.
        store: that is read.
        scratch: folder for all that is written.
        is_once: what several documents say may be stored as one of them says it, which
            is then compared in their place.

    Raises:
        ConfigError: the log cannot be read, or `fresh=1` has moved it aside meanwhile;
            or the store can never be read.
        StoreFault: a store cannot be read, or the disk is full.
    """
    with _scratch_folder(scratch) as folder:
        return _compared(log, store, folder, is_once=is_once)


@contextmanager
def _scratch_folder(parent: Path) -> Iterator[Path]:
    """Make a folder for the time of the context; remove those of killed processes."""
    for left in parent.glob(f"{_PREFIX}*"):
        with _locked(left) as is_locked:
            if is_locked:
                rmtree(left, ignore_errors=True)
    with TemporaryDirectory(dir=parent, prefix=_PREFIX) as name, _locked(Path(name)):
        yield Path(name)


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Lock a folder; yield False if another process has it locked, or removed."""
    try:
        fd = os.open(folder, os.O_RDONLY)
    except OSError:
        yield False
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # also that of a file system without locks
        yield False
    else:
        yield True
    finally:
        os.close(fd)


def _compared(
    log: CrawlLog,
    store: Follower,
    folder: Path,
    *,
    is_once: bool,
) -> StoreComparison:
    """Return the same; at the end, no database in the folder is open any more."""
    found, identity = StoreComparison(), log.identity
    there: Follower | _StatementStore = store
    if store.graphs() is None:
        statements = store.statements()
        if statements is None:
            name = type(store).__name__
            raise ConfigError(f"store verify: {name} with these options cannot be read")
        there = _StatementStore(statements, folder / "there")
    expected = OxigraphFollower(folder / "expected")
    following = LogFollowing(log, expected, patience_secs=0, ends_if_unusable=True)
    following.open()
    try:
        following.catch_up()
        log.check_kept(identity)
        for graph in expected.graphs():
            if graph != _PROVENANCE:
                there_is = there.read_graph(graph)
                if is_once:
                    there_is = _represented(there, graph, there_is)
                found.add(graph, _GraphPair(expected, there_is, graph, folder))
        for graph in there.graphs() or ():
            if graph != _PROVENANCE and not expected.has_graph(graph):
                found.surplus.add(graph)
    finally:
        expected.close()
    return found


def _represented(
    store: Follower | _StatementStore, graph: str, lines: Iterable[bytes]
) -> Iterator[bytes]:
    """Yield what a graph says; in place of a link, what that leads to."""
    tail = b" <%s> .\n" % graph.encode()
    for line in lines:
        other = linked_from(line, graph)
        if other is None:
            yield line
            continue
        other_tail = b" <%s> .\n" % other.encode()
        for said in store.read_graph(other):
            yield said.removesuffix(other_tail) + tail


class _StatementStore:
    """Store of statements on the disk, by graph."""

    def __init__(self, statements: Iterable[bytes], path: Path) -> None:
        self.store = ox.Store(str(path))
        try:
            for piece in statements:  # blank nodes keep their labels
                self.store.extend(ox.parse(piece, format=ox.RdfFormat.N_QUADS))
        except Exception as error:  # each library has its own for what is damaged
            what = f"{type(error).__qualname__}: {error}"
            raise StoreFault(f"the store cannot be read: {what}") from error

    def graphs(self) -> Iterator[str]:
        """Yield the names of all graphs."""
        return iter_graphs(self.store)

    def read_graph(self, graph: str) -> Iterator[bytes]:
        """Yield the statements of a graph as lines of N-Quads."""
        return iter_graph(self.store, graph)


class _GraphPair:
    """What a graph says in the log, and in the store."""

    def __init__(
        self,
        expected: OxigraphFollower,
        there: Iterable[bytes],
        graph: str,
        folder: Path,
    ) -> None:
        self._expected, self._there = expected.store, iter(there)
        self._name, self._folder = ox.NamedNode(graph), folder

    def kind(self) -> GraphKind:
        """Return how both differ.

        Raises:
            StoreFault: the store cannot be read.
        """
        first = list(islice(self._there, MAX_HELD + 1))
        if not first:
            return "missing"
        expected = self._expected.quads_for_pattern(None, None, None, self._name)
        held = set(islice(expected, MAX_HELD + 1))
        if max(len(first), len(held)) > MAX_HELD:
            with TemporaryDirectory(dir=self._folder) as name:
                return self._kind_of_long(chain(first, self._there), Path(name))
        same = is_same(held, quads_of(first))
        return "not_compared" if same is None else "equal" if same else "stale"

    def _kind_of_long(self, lines: Iterable[bytes], folder: Path) -> GraphKind:
        """Compare statements without blank nodes, and how many there are with some."""
        there = _StatementStore(_batched(lines), folder).store
        n_nodes = n_ground = 0
        for quad in self._expected.quads_for_pattern(None, None, None, self._name):
            if _has_nodes(quad):
                n_nodes += 1
            elif quad in there:
                n_ground += 1
            else:
                return "stale"
        n_there = sum(map(_has_nodes, there))
        if n_there != n_nodes or len(there) - n_there != n_ground:
            return "stale"
        return "not_compared" if n_nodes else "equal"


def _has_nodes(quad: ox.Quad) -> bool:
    if isinstance(quad.object, ox.Triple):
        return "_:" in f"{quad.subject} {quad.object}"
    return any(isinstance(x, ox.BlankNode) for x in (quad.subject, quad.object))


def _batched(lines: Iterable[bytes]) -> Iterator[bytes]:
    iterator = iter(lines)
    while some := list(islice(iterator, _LINES_AT_ONCE)):
        yield b"".join(some)


def is_isomorphic(one: Iterable[bytes], other: Iterable[bytes]) -> bool | None:
    """Return whether two graphs differ in the labels of blank nodes at most.

    Numbers and times are compared by value, as Oxigraph has them. None: it would take
    too long to say.
    """
    return is_same(quads_of(one), quads_of(other))


def quads_of(lines: Iterable[bytes]) -> set[ox.Quad]:
    """Return lines of N-Quads as Oxigraph has them."""
    store = ox.Store()
    store.extend(ox.parse(b"".join(lines), format=ox.RdfFormat.N_QUADS))
    return set(store)
