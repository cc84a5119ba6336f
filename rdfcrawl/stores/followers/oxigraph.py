"""Follow a crawl with an Oxigraph store on this machine: `oxigraph:PATH`.

`PATH` is an ordinary database of Oxigraph. The ledger is a file in the same folder, so
deleting the database deletes it, too.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Self, cast

import pyoxigraph as ox

from rdfcrawl.core.errors import ConfigError, StoreFault
from rdfcrawl.stores.followers.ledger import DocumentLedger, WrittenGraphs
from rdfcrawl.stores.followers.local_disk import (
    LOCK_SECS,
    LocalFollower,
    disk_faults,
    key_of,
)
from rdfcrawl.stores.followers.protocol import DocumentRefused
from rdfcrawl.stores.followers.statements import (
    file_of,
    iter_foreign_graphs,
    split_lines,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rdfcrawl.stores.crawl_folder import LogIdentity
    from rdfcrawl.stores.log.documents import Checkpoint, LogDocument

_LEDGER: Final = "rdfcrawl.sqlite"
LOCK_NAME: Final = "rdfcrawl.lock"
_QUADS: Final = ox.RdfFormat.N_QUADS
_MAX_DUMPED_BYTES: Final = 1024 * 1024  # of a graph; longer ones take little memory


class OxigraphFollower(LocalFollower):
    """Store of Oxigraph in a folder; see `protocol.Follower`.

    Args:
        path: of the folder; created if it is missing.
        lock_secs: longest wait for another process that has the store open.
        has_provenance: it has the provenance, too.
    """

    def __init__(
        self,
        path: Path,
        *,
        lock_secs: float = LOCK_SECS,
        has_provenance: bool = True,
    ) -> None:
        super().__init__(path, lock_secs)
        self._has_failed = False
        self._has_provenance = has_provenance

    @property
    def takes_provenance(self) -> bool:
        """Whether the provenance is read for it."""
        return self._has_provenance

    @classmethod
    def from_options(cls, uri: str, options: Mapping[str, object]) -> Self:
        """Return the store of a URI.

        Raises:
            ConfigError: the URI has no path, or there are options.
        """
        if options:
            raise ConfigError(f"has no option {next(iter(options))!r}")
        path = uri.partition(":")[2].removeprefix("//")
        if not path:
            raise ConfigError("must be oxigraph:PATH")
        return cls(Path(path).expanduser().absolute())

    def open(self, log: LogIdentity) -> Checkpoint | None:
        """Open the database; return the checkpoint of the last commit.

        Raises:
            StoreFault: another process has it open, or it is damaged.
        """
        try:
            self._path.mkdir(parents=True, exist_ok=True)
            self._take_lock(self._path / LOCK_NAME)
        except OSError as error:
            raise StoreFault(f"{self._path}: {error}") from error
        with self._opening():
            self._file = self._ledger = DocumentLedger(self._path / _LEDGER)
            self.store = ox.Store(str(self._path))
            if self._ledger.is_empty:
                self._ledger.note_statements(
                    had_any=next(iter(self.store), None) is not None
                )
            self._remove_orphans()
            checkpoint = self._ledger.checkpoint(log.log)
        self._log = log
        return checkpoint

    def apply(self, documents: Sequence[LogDocument]) -> None:
        """Replace documents with these versions, unless the store has later ones.

        Raises:
            DocumentRefused: a document is not valid N-Quads.
            StoreFault: the disk is full.
        """
        with self._writing():
            wanted, graphs = self._note_planned(documents)
            self._replace(wanted, graphs)
            with self._ledger.transaction():
                for document in wanted:
                    if graphs[document.graph].shared:
                        self._ledger.release(key_of(document.graph.encode()))
                self._ledger.note_applied(wanted)
            self._remove_orphans()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Turn errors of the disk into a `StoreFault`.

        After an error RocksDB refuses all writes until it is reopened, even if the disk
        has room.
        """
        with disk_faults(self._path):
            if self._has_failed:
                self.__dict__.pop("store", None)
                self.store = ox.Store(str(self._path))
            self._has_failed = True
            yield
            self._has_failed = False

    def _note_planned(
        self, documents: Sequence[LogDocument]
    ) -> tuple[list[LogDocument], dict[str, WrittenGraphs]]:
        """Write the planned changes to the ledger."""
        ledger = self._ledger
        with ledger.transaction():
            wanted = ledger.newer(documents, self._log)
            for document in wanted:
                ledger.note_planned(document, iter_foreign_graphs(document), self._log)
            graphs = {each.graph: ledger.graphs_of(each) for each in wanted}
            for document in wanted:
                for graph in graphs[document.graph].shared:
                    self._share(graph)
            for document in wanted:
                if shared := graphs[document.graph].shared:
                    self._claim(document, shared)
        return wanted, graphs

    def _share(self, graph: bytes) -> None:
        """Record the documents of the statements in a graph that becomes shared."""
        noted = self._ledger.share(graph)
        if noted is None:
            return
        name, first = noted
        if first is not None:
            lines = self.read_graph(name)
            self._ledger.claim(first, b"".join(lines), is_new=True)
        elif self._ledger.had_statements:
            self.store.remove_graph(ox.NamedNode(name))

    def _claim(self, document: LogDocument, shared: frozenset[bytes]) -> None:
        key = key_of(document.graph.encode())
        self._ledger.supersede(key)
        with _refused(document):
            for piece in document.pieces():
                lines = normal_lines(split_lines(piece, document.graph, shared))
                self._ledger.claim(key, lines, is_new=True)

    def _replace(
        self, documents: Sequence[LogDocument], graphs: Mapping[str, WrittenGraphs]
    ) -> None:
        """Replace the statements of documents."""
        simple = []
        for document in documents:
            written = graphs[document.graph]
            names = written.former
            if self._ledger.had_statements:
                names = (*names, document.graph, *iter_foreign_graphs(document))
            for name in names:
                if key_of(name.encode()) not in written.shared:
                    self.store.remove_graph(ox.NamedNode(name))
            if written.shared:
                self._extend(document)
            elif document.n_bytes:
                simple.append(document)
        self._load(simple)

    def _extend(self, document: LogDocument) -> None:
        """Add statements; blank nodes keep their labels."""
        with _refused(document):
            for piece in document.pieces():
                self.store.extend(ox.parse(piece, format=_QUADS))

    def _load(self, documents: Sequence[LogDocument]) -> None:
        """Add statements in bulk."""
        if not documents:
            return
        pieces = (piece for document in documents for piece in document.pieces())
        try:
            self.store.bulk_load(file_of(pieces), format=_QUADS)
        except SyntaxError as error:
            for document in documents:  # find the refused one
                with _refused(document):
                    for piece in document.pieces():
                        for _ in ox.parse(piece, format=_QUADS):
                            pass
            raise StoreFault(f"{self._path}: {error}") from error

    def _remove_orphans(self) -> None:
        for line in self._ledger.orphans():
            for quad in ox.parse(line, format=_QUADS):
                self.store.remove(quad)

    def add_provenance(self, quads: Iterable[bytes]) -> None:
        """Add statements to the existing ones.

        Raises:
            StoreFault: the disk is full.
        """
        with self._writing():
            self.store.bulk_load(file_of(iter(quads)), format=_QUADS)

    def commit(self, checkpoint: Checkpoint) -> None:
        """Make the database durable on disk, then the checkpoint.

        Raises:
            StoreFault: the disk is full.
        """
        with self._writing():
            self.store.flush()
            self._ledger.commit(checkpoint)

    def close(self) -> None:
        """Close the database, and release its lock."""
        self.__dict__.pop("store", None)
        super().close()

    def graphs(self) -> Iterator[str]:
        """Yield the names of all graphs."""
        return iter_graphs(self.store)

    def has_graph(self, graph: str) -> bool:
        """Return whether there is a graph of this name."""
        return self.store.contains_named_graph(ox.NamedNode(graph))

    def read_graph(self, graph: str) -> Iterator[bytes]:
        """Yield the statements of a graph as lines of N-Quads."""
        return iter_graph(self.store, graph)


def iter_graphs(store: ox.Store) -> Iterator[str]:
    """Yield the names of all graphs of a database."""
    for name in store.named_graphs():
        if isinstance(name, ox.NamedNode):
            yield name.value


def iter_graph(store: ox.Store, graph: str) -> Iterator[bytes]:
    """Yield the statements of a graph as lines of N-Quads."""
    name, triples = ox.NamedNode(graph), _Triples()
    try:
        store.dump(triples.file(), format=ox.RdfFormat.N_TRIPLES, from_graph=name)
    except _TooLong:
        for quad in store.quads_for_pattern(None, None, None, name):
            yield f"{quad} .\n".encode()
    else:
        end = b" <%s> .\n" % graph.encode()
        lines = b"".join(triples.pieces).replace(b" .\n", end)
        yield from lines.splitlines(keepends=True)


class _TooLong(Exception):
    """A graph is longer than `_MAX_DUMPED_BYTES`."""


class _Triples:
    """Lines of a short graph."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self._room = _MAX_DUMPED_BYTES

    def file(self) -> IO[bytes]:
        """Return a file that writes to `pieces`."""
        return cast("IO[bytes]", self)

    def write(self, piece: bytes) -> int:
        """Append bytes.

        Raises:
            _TooLong: there are too many.
        """
        self._room -= len(piece)
        if self._room < 0:
            raise _TooLong
        self.pieces.append(piece)
        return len(piece)

    def flush(self) -> None:
        """Do nothing: there is no buffer."""


def normal_lines(lines: bytes) -> bytes:
    """Return statements as the store returns them: it normalizes numbers."""
    if not lines:
        return b""
    store = ox.Store()
    store.extend(ox.parse(lines, format=_QUADS))
    return b"".join(f"{quad} .\n".encode() for quad in store)


@contextmanager
def _refused(document: LogDocument) -> Iterator[None]:
    try:
        yield
    except SyntaxError as error:
        raise DocumentRefused(document.graph, str(error)) from error
