"""Compare the graphs of a store with those of a log."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import pyoxigraph as ox

from rdfcrawl.core.batches import in_batches
from rdfcrawl.core.errors import StoreFault
from rdfcrawl.core.namespaces import XSD
from rdfcrawl.stores.files import open_locked, try_lock
from rdfcrawl.stores.followers.oxigraph import OxigraphFollower, iter_graph, iter_graphs
from rdfcrawl.stores.followers.statements import file_of

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Iterator

_Form: TypeAlias = tuple[object, ...]
_NODE: Final = b"_:"
_TRIPLE_TERM: Final = b"<<("
MAX_TIED: Final = 8  # largest number of blank nodes to canonicalize
_MAX_STEPS: Final = 5_000_000  # of colouring; some seconds
_MIN_ROUNDS: Final = 16
_SPACES: Final = " \t\r\n"
_PREFIX: Final = "verify-"  # of folders
_NAMED: Final = 20  # of each kind
MAX_HELD: Final = 100_000  # statements of a graph; longer ones are compared on disk
_BATCH_LINES: Final = 10_000


def is_same(one: set[ox.Quad], other: set[ox.Quad]) -> bool | None:
    """Return whether two graphs are equal; None if that would take too long."""
    if one == other:
        return True
    if len(one) != len(other):
        return False
    first, second = _ColouredGraph(_of_quads(one)), _ColouredGraph(_of_quads(other))
    same = first.ground == second.ground and first.refine_with(second)
    if not same or (not first.tied and not second.tied):
        return same
    if max(first.tied, second.tied) > MAX_TIED:
        return None
    return _canonical(one) == _canonical(other)


def is_same_text(one: Collection[bytes], other: Collection[bytes]) -> bool:
    """Return whether two graphs certainly differ in labels of blank nodes alone.

    Much faster than `is_same`, as terms stay text.

    Args:
        one: lines of N-Quads, each once.
        other: likewise.
    """
    if any(_TRIPLE_TERM in b"".join(lines) for lines in (one, other)):
        return False
    left, right = _ColouredGraph(_of_lines(one)), _ColouredGraph(_of_lines(other))
    same = left.ground == right.ground and left.refine_with(right)
    return bool(same) and not left.tied and not right.tied


def _canonical(quads: set[ox.Quad]) -> set[ox.Quad]:
    dataset = ox.Dataset(quads)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return set(dataset)


class _ColouredGraph:
    """A graph with coloured blank nodes.

    Args:
        statements: the form of each, without blank nodes, and these in their order.

    Attributes:
        ground: statements without blank nodes.
    """

    def __init__(self, statements: Iterable[tuple[_Form, list[Hashable]]]) -> None:
        self.ground: set[_Form] = set()
        # For each statement of several nodes: its form, and the other nodes in it.
        self._about: dict[Hashable, list[tuple[int, list[Hashable]]]] = defaultdict(
            list
        )
        self._linked: dict[Hashable, set[Hashable]] = defaultdict(set)
        alone: dict[Hashable, list[int]] = defaultdict(list)
        for form, places in statements:
            if len(places) == 1:  # the usual case
                alone[places[0]].append(hash(form))
            elif places:
                self._link(form, places)
            else:
                self.ground.add(form)
        self._colours = {
            node: hash(tuple(sorted(alone.get(node, ()))))
            for node in alone.keys() | self._about.keys()
        }

    def _link(self, form: _Form, places: list[Hashable]) -> None:
        nodes = set(places)
        for node in nodes:
            own = tuple([each == node for each in places])
            others = [each for each in places if each != node]
            self._about[node].append((hash((*form, own)), others))
            self._linked[node] |= nodes - {node}

    def refine_with(self, other: _ColouredGraph) -> bool | None:
        """Colour both graphs; return whether they have the same colours.

        None: equal so far, and further rounds would take too long.
        """
        n_colours = len(set(self._colours.values()))
        n_steps = len(self._colours) + sum(map(len, self._about.values()))
        for _ in range(max(_MIN_ROUNDS, _MAX_STEPS // (n_steps + 1))):
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
        self._colours = colours | {
            node: hash(
                (
                    colours[node],
                    *sorted(
                        hash((form, *map(colours.__getitem__, others)))
                        for form, others in about
                    ),
                )
            )
            for node, about in self._about.items()
        }

    @property
    def tied(self) -> int:
        """Number of blank nodes for which equal colours are no proof."""
        n_tied, left = 0, set(self._linked)
        while left:
            group = self._group(left.pop())
            left -= group
            n_links = sum(len(self._linked[node]) for node in group) // 2
            colours = {self._colours[node] for node in group}
            if len(colours) < len(group) and n_links >= len(group):
                n_tied += len(group)
        return n_tied

    def _group(self, node: Hashable) -> set[Hashable]:
        group, waiting = {node}, [node]
        while waiting:
            new = self._linked[waiting.pop()] - group
            group |= new
            waiting += new
        return group


def _of_quads(quads: Iterable[ox.Quad]) -> Iterator[tuple[_Form, list[Hashable]]]:
    for quad in quads:
        places: list[Hashable] = []
        yield tuple([_form(term, places) for term in quad]), places


def _of_lines(lines: Iterable[bytes]) -> Iterator[tuple[_Form, list[Hashable]]]:
    """Yield the statements of lines without triple terms."""
    for line in lines:
        places: list[Hashable] = []
        subject, predicate, rest = line.split(b" ", 2)
        # The empty text is no term.
        if subject.startswith(_NODE):
            places.append(subject)
            subject = b""
        if rest.startswith(_NODE):
            node, _, rest = rest.partition(b" ")
            places.append(node)
        yield (subject, predicate, rest), places


def _form(term: object, nodes: list[Hashable]) -> object:
    """Return a term without its blank nodes, which are added to `nodes` in order."""
    if isinstance(term, ox.BlankNode):
        nodes.append(term)
        return None
    if isinstance(term, ox.Triple):
        return tuple([_form(each, nodes) for each in term])
    return term


_QUADS: Final = ox.RdfFormat.N_QUADS
_STRING: Final = ox.NamedNode(f"{XSD}string")

GraphKind: TypeAlias = Literal["equal", "missing", "stale", "surplus", "not_compared"]


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
    """Differences between a store and a log.

    Attributes:
        n_graphs: number of graphs in the log.
        missing: graphs of the log that the store lacks.
        stale: graphs with other statements in the store.
        surplus: graphs of the store that the log lacks.
        not_compared: graphs that take too long to compare: long ones with blank nodes,
            or those with many similar blank nodes.
    """

    n_graphs: int = 0
    missing: DifferentGraphs = field(default_factory=DifferentGraphs)
    stale: DifferentGraphs = field(default_factory=DifferentGraphs)
    surplus: DifferentGraphs = field(default_factory=DifferentGraphs)
    not_compared: DifferentGraphs = field(default_factory=DifferentGraphs)

    @property
    def is_equal(self) -> bool:
        """Whether the store has exactly the graphs of the log."""
        return not any(
            each.n_graphs
            for each in (self.missing, self.stale, self.surplus, self.not_compared)
        )

    def add(self, graph: str, pair: GraphPair) -> None:
        """Count a graph of the log.

        Raises:
            StoreFault: the store cannot be read.
        """
        self.n_graphs += 1
        kind = pair.kind()
        if kind != "equal":
            getattr(self, kind).add(graph)


def compare_statements(
    expected: Iterable[bytes], actual: Iterable[bytes], scratch: Path
) -> dict[str, GraphKind]:
    """Return the kind of each graph that one or both of two sets of statements have.

    A graph that only `actual` has is `surplus`, one that only `expected` has is
    `missing`.

    Args:
        expected: complete lines of N-Quads.
        actual: likewise.
        scratch: folder of temporary stores.
    """
    with scratch_folder(scratch) as folder:
        return _kinds_of(expected, actual, folder)


def _kinds_of(
    expected: Iterable[bytes], actual: Iterable[bytes], folder: Path
) -> dict[str, GraphKind]:
    """Return the kind of each graph; the databases in the folder are closed."""
    one = StatementStore(expected, folder / "expected")
    other = StatementStore(actual, folder / "actual")
    kinds: dict[str, GraphKind] = dict.fromkeys(other.graphs(), "surplus")
    for graph in one.graphs():
        lines = other.read_graph(graph)
        kinds[graph] = GraphPair(one, lines, graph, folder).kind()
    return kinds


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """Create a temporary folder; remove those of killed processes."""
    for left in parent.glob(f"{_PREFIX}*"):
        # A file system without locks keeps them.
        with suppress(OSError), open_locked(left, os.O_RDONLY) as fd:
            if fd is not None:
                rmtree(left, ignore_errors=True)
    with TemporaryDirectory(dir=parent, prefix=_PREFIX) as name:
        fd = os.open(name, os.O_RDONLY)
        try:
            with suppress(OSError):
                try_lock(fd)
            yield Path(name)
        finally:
            os.close(fd)


class StatementStore:
    """Store on disk, which groups statements by graph."""

    def __init__(self, statements: Iterable[bytes], path: Path) -> None:
        self.store = ox.Store(str(path))
        try:
            # As one file: in it, equal labels are one blank node.
            self.store.bulk_load(file_of(iter(statements)), format=_QUADS)
        except Exception as error:  # each library has its own for damaged files
            what = f"{type(error).__qualname__}: {error}"
            raise StoreFault(f"the store cannot be read: {what}") from error

    def graphs(self) -> Iterator[str]:
        """Yield the names of all graphs."""
        return iter_graphs(self.store)

    def read_graph(self, graph: str) -> Iterator[bytes]:
        """Yield the statements of a graph as lines of N-Quads."""
        return iter_graph(self.store, graph)


class GraphPair:
    """A graph of the log, and the same graph of the store."""

    def __init__(
        self,
        expected: OxigraphFollower | StatementStore,
        actual: Iterable[bytes],
        graph: str,
        folder: Path,
    ) -> None:
        self._expected, self._actual = expected.store, iter(actual)
        self._name, self._folder = ox.NamedNode(graph), folder

    def kind(self) -> GraphKind:
        """Return the kind of difference.

        Raises:
            StoreFault: the store cannot be read.
        """
        first = list(islice(self._actual, MAX_HELD + 1))
        if not first:
            return "missing"
        expected = self._expected.quads_for_pattern(None, None, None, self._name)
        held = set(islice(expected, MAX_HELD + 1))
        if max(len(first), len(held)) > MAX_HELD:
            with TemporaryDirectory(dir=self._folder) as name:
                return self._kind_of_long(chain(first, self._actual), Path(name))
        actual = quads_of(first)
        same = is_same(held, actual)
        if same is False:  # TDB2 stores ` 1 ` as `1`
            same = is_same(_collapsed(held), _collapsed(actual))
        return "not_compared" if same is None else "equal" if same else "stale"

    def _kind_of_long(self, lines: Iterable[bytes], folder: Path) -> GraphKind:
        """Compare statements; of those with blank nodes, all but these."""
        actual = StatementStore(
            map(b"".join, in_batches(lines, _BATCH_LINES)), folder
        ).store
        n_nodes = n_ground = forms = 0
        for quad in self._expected.quads_for_pattern(None, None, None, self._name):
            if form := _form_with_nodes(quad):
                n_nodes, forms = n_nodes + 1, forms + form
            elif quad in actual:
                n_ground += 1
            else:
                return "stale"
        found = [form for each in actual if (form := _form_with_nodes(each))]
        if len(found) != n_nodes or len(actual) - n_nodes != n_ground:
            return "stale"
        if sum(found) != forms:
            return "stale"
        return "not_compared" if n_nodes else "equal"


def _collapsed(quads: set[ox.Quad]) -> set[ox.Quad]:
    """Return statements without white space around numbers, dates and the like."""
    return quads_of(f"{_collapsed_quad(each)} .\n".encode() for each in quads)


def _collapsed_quad(quad: ox.Quad) -> ox.Quad:
    value = quad.object
    if not isinstance(value, ox.Literal) or value.datatype == _STRING:
        return quad
    text = value.value.strip(_SPACES)
    if text == value.value or not value.datatype.value.startswith(XSD):
        return quad
    number = ox.Literal(text, datatype=value.datatype)
    return ox.Quad(quad.subject, quad.predicate, number, quad.graph_name)


def _form_with_nodes(quad: ox.Quad) -> int:
    """Return the hash of a statement without its blank nodes; 0 if it has none."""
    nodes: list[Hashable] = []
    form = [_form(term, nodes) for term in _collapsed_quad(quad)]
    return hash((*form, len(nodes))) if nodes else 0


def quads_of(lines: Iterable[bytes]) -> set[ox.Quad]:
    """Return lines of N-Quads as Oxigraph stores them."""
    store = ox.Store()
    store.extend(ox.parse(b"".join(lines), format=ox.RdfFormat.N_QUADS))
    return set(store)
