"""Compare a store with the log that it follows.

Most documents are alone in their graph, and the store returns their lines as the log
has them: these are compared one by one. All others are written to a scratch store, as a
follower does, and compared there.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Final

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.rdf.graphs import SERVICE
from rdfcrawl.stores.followers.local_disk import key_of
from rdfcrawl.stores.followers.oxigraph import OxigraphFollower, normal_lines
from rdfcrawl.stores.followers.protocol import DocumentRefused, Follower
from rdfcrawl.stores.followers.statements import iter_foreign_graphs
from rdfcrawl.stores.followers.stored_once import linked_from
from rdfcrawl.stores.followers.verification import (
    GraphPair,
    StatementStore,
    StoreComparison,
    is_same_text,
    quads_of,
    scratch_folder,
)
from rdfcrawl.stores.log.crawl_log import (
    CrawlLog,
    LatestVersions,
    find_latest,
    iter_numbered,
)
from rdfcrawl.stores.log.documents import LogDocument
from rdfcrawl.stores.provenance.statements import GRAPH
from rdfcrawl.stores.reading import reading
from rdfcrawl.stores.scratch_table import scratch_table

_BATCH_DOCUMENTS: Final = 1000  # of at most 1 MiB in memory each
_BATCH_BYTES: Final = 16 * 1024 * 1024
_NODE: Final = b"_:"
_TYPED: Final = b'"^^<'
_EQUAL: Final = "CREATE TABLE equal (key BLOB PRIMARY KEY) WITHOUT ROWID"


def compare(
    log: CrawlLog, store: Follower, scratch: Path, *, is_once: bool = False
) -> StoreComparison:
    """Return the differences between an open store and a log.

    Statements of a store that cannot be read by graph are written to a folder in
    `scratch`; so are graphs that are too long for memory. Provenance is not compared.

    Args:
        log: that the store follows.
        store: to compare.
        scratch: folder of temporary stores.
        is_once: identical statements of several documents may be stored once; links are
            replaced by the statements they lead to.

    Raises:
        ConfigError: the log cannot be read, `fresh=1` has moved it aside, or
            the store is of a kind that cannot be read.
        StoreFault: a store cannot be read, or the disk is full.
    """
    with scratch_folder(scratch) as folder:
        actual: Follower | StatementStore = store
        if store.graphs() is None:
            statements = store.statements()
            if statements is None:
                name = type(store).__name__
                raise ConfigError(
                    f"store verify: {name} with these options cannot be read"
                )
            actual = StatementStore(statements, folder / "actual")
        comparison = _LogComparison(log, store, actual, folder, is_once=is_once)
        try:
            return comparison.run()
        finally:
            comparison.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class _HeldDocument(LogDocument):
    """A version with the statements that a store can hold."""

    store: Follower

    def pieces(self) -> Iterator[bytes]:
        """Yield the statements as the store holds them."""
        for piece in LogDocument.pieces(self):
            yield self.store.held_statements(self.graph, piece)


_NAMES: Final = [each.name for each in fields(LogDocument)]


class _LogComparison:
    """The comparison of a log with a store.

    Args:
        log: that the store follows.
        store: says which statements it can hold.
        actual: statements of the store.
        folder: of temporary stores.
        is_once: see `compare`.
    """

    def __init__(
        self,
        log: CrawlLog,
        store: Follower,
        actual: Follower | StatementStore,
        folder: Path,
        *,
        is_once: bool,
    ) -> None:
        self._log, self._store, self._actual = log, store, actual
        self._identity = log.identity
        self._folder, self._is_once = folder, is_once
        self._found = StoreComparison()
        self._segments: list[Path]
        self._latest: LatestVersions
        # Documents that are not compared one by one.
        self._others = OxigraphFollower(folder / "expected", has_provenance=False)
        self._may_share = False  # a version of a document writes graphs of others
        self._waiting: list[LogDocument] = []
        self._n_waiting_bytes = 0
        self._others.open(log.identity)

    def close(self) -> None:
        """Close the scratch store."""
        self._others.close()

    def run(self) -> StoreComparison:
        """Return the differences."""
        with reading(self._log.root / "quads"):
            self._segments = self._log.segments()
            self._latest = find_latest(
                self._log, self._segments, scratch=self._folder, look=self._note_foreign
            )
            has_shared = self._set_shared_aside()
            with scratch_table(self._folder, _EQUAL) as equal:
                for document in self._documents():
                    if has_shared and self._is_shared(document):
                        continue
                    if self._is_equal(document):
                        key = key_of(document.graph.encode())
                        equal.execute("INSERT OR IGNORE INTO equal VALUES (?)", [key])
                        self._found.n_graphs += 1
                    else:
                        self._set_aside(document)
                self._apply_waiting()
                self._log.check_kept(self._identity)
                self._compare_others()
                self._find_surplus(equal)
        return self._found

    def _compare_others(self) -> None:
        for graph in self._others.graphs():
            lines = self._lines_of(graph)
            pair = GraphPair(self._others, lines, graph, self._folder)
            self._found.add(graph, pair)

    def _find_surplus(self, equal: sqlite3.Connection) -> None:
        query = "SELECT 1 FROM equal WHERE key = ?"
        for graph in self._actual.graphs() or ():
            key = key_of(graph.encode())
            is_known = graph == GRAPH or self._others.has_graph(graph)
            if not is_known and not equal.execute(query, [key]).fetchone():
                self._found.surplus.add(graph)

    def _documents(self) -> Iterator[LogDocument]:
        """Yield the latest version of each document."""
        for document, number in iter_numbered(self._log, self._segments):
            is_expected = not document.is_tombstone and not document.graph.endswith(
                SERVICE
            )
            if is_expected and self._latest.has(document.segment, number):
                yield document

    def _held(self, document: LogDocument) -> _HeldDocument:
        values = {name: getattr(document, name) for name in _NAMES}
        return _HeldDocument(**values, store=self._store)

    def _note_foreign(self, document: LogDocument) -> None:
        self._may_share = self._may_share or self._writes_others(document)

    def _set_shared_aside(self) -> bool:
        """Set documents aside that write graphs of others; return if there are any."""
        if not self._may_share:  # usual, and spares a reading
            return False
        for document in self._documents():
            if self._writes_others(document):
                self._set_aside(document)
        self._apply_waiting()
        return next(self._others.graphs(), None) is not None

    def _is_shared(self, document: LogDocument) -> bool:
        """Return whether a document shares graphs; it is or will be set aside."""
        if self._writes_others(document):
            return True
        if not self._others.has_graph(document.graph):
            return False
        self._set_aside(document)
        return True

    def _writes_others(self, document: LogDocument) -> bool:
        if next(iter_foreign_graphs(document), None) is None:
            return False
        return next(iter_foreign_graphs(self._held(document)), None) is not None

    def _set_aside(self, document: LogDocument) -> None:
        self._waiting.append(self._held(document))
        self._n_waiting_bytes += min(document.n_bytes, _BATCH_BYTES // 16)
        is_long = self._n_waiting_bytes >= _BATCH_BYTES
        if is_long or len(self._waiting) >= _BATCH_DOCUMENTS:
            self._apply_waiting()

    def _apply_waiting(self) -> None:
        """Write documents to the scratch store, without those that it refuses."""
        waiting, self._waiting, self._n_waiting_bytes = self._waiting, [], 0
        while waiting:
            try:
                self._others.apply(waiting)
            except DocumentRefused as refusal:  # the store has refused it, too
                refused = {each.graph for each in (refusal, *refusal.others)}
                waiting = [each for each in waiting if each.graph not in refused]
            else:
                return

    def _lines_of(self, graph: str) -> Iterable[bytes]:
        lines = self._actual.read_graph(graph)
        return _resolved(self._actual, graph, lines) if self._is_once else lines

    def _is_equal(self, document: LogDocument) -> bool:
        """Return whether the store certainly has the statements of a document alone.

        Stores write numbers in another way, and blank nodes with other labels.
        """
        if document.quads is None:  # too long for memory
            return False
        pieces = b"".join(self._held(document).pieces())
        expected = set(pieces.splitlines(keepends=True))
        lines = islice(self._lines_of(document.graph), len(expected) + 1)
        actual = set(lines)
        if len(actual) != len(expected):
            return False
        return expected == actual or _is_same(expected, actual)


def _is_same(expected: set[bytes], actual: set[bytes]) -> bool:
    """Return whether as many lines are certainly the same statements."""
    left, right = (
        {line for line in lines if _NODE in line} for lines in (expected, actual)
    )
    if len(left) != len(right):
        return False
    ground = expected - actual - left
    if ground and quads_of(ground) != quads_of(actual - expected - right):
        return False
    return left == right or is_same_text(*_in_same_form(left, right))


def _in_same_form(one: set[bytes], other: set[bytes]) -> tuple[set[bytes], set[bytes]]:
    """Return lines with numbers and the like as Oxigraph has them, if they differ."""
    typed = [{line for line in lines if _TYPED in line} for lines in (one, other)]
    literals = [{line.partition(b' "')[2] for line in lines} for lines in typed]
    if literals[0] == literals[1]:
        return one, other
    normal = [
        normal_lines(b"".join(lines)).splitlines(keepends=True) for lines in typed
    ]
    return one - typed[0] | set(normal[0]), other - typed[1] | set(normal[1])


def _resolved(
    store: Follower | StatementStore, graph: str, lines: Iterable[bytes]
) -> Iterator[bytes]:
    """Yield the statements of a graph; a link is replaced by those it leads to."""
    tail = b" <%s> .\n" % graph.encode()
    for line in lines:
        other = linked_from(line, graph)
        if other is None:
            yield line
            continue
        other_tail = b" <%s> .\n" % other.encode()
        for other_line in store.read_graph(other):
            yield other_line.removesuffix(other_tail) + tail
