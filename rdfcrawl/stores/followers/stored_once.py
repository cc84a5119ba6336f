"""Store identical statements of several documents once.

Between a log and a store, a document with the same statements as a stored one is
replaced by one statement, which names the other document: its *representative*. The
log keeps all statements, so the choice is not final. When the representative changes or
is deleted, another of its duplicates replaces it.

Interruptions are safe because:

* The version of a duplicate without statements sorts before the same version with them.
  A store takes the latest version, so only a later fetch removes its statements, even
  if changes are lost, repeated or restored from a backup.
* The table of duplicates is written before the store. The checkpoint of the store has
  the turn of the table; if they do not match, the table is dropped and the log is read
  from its beginning.
* Changes of the table without a new version in the log are pending until the store has
  them. Versions that a compaction has moved are read again, since followers read its
  new segments from the beginning.
"""

from __future__ import annotations

import logging
import os
import secrets
import sqlite3
import time
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import StoreFault
from rdfcrawl.core.messages import counted
from rdfcrawl.core.namespaces import RC
from rdfcrawl.stores.followers.local_disk import disk_faults, key_of, lock_store
from rdfcrawl.stores.followers.representatives import (
    DuplicateTotals,
    KnownDocument,
    RepresentativeChoice,
    RepresentativeTable,
    hidden_digest,
    rank_of,
)
from rdfcrawl.stores.log.documents import (
    Checkpoint,
    LogDocument,
    latest_versions,
    made_document,
    read_places,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from rdfcrawl.stores.log.crawl_log import CrawlLog

logger = logging.getLogger(__name__)

_MARK: Final = "once/"
_MAX_BYTES: Final = 4 * 1024 * 1024  # of documents that are restored together
_FILES: Final = ("", "-wal", "-shm")


def is_marked(checkpoint: Checkpoint) -> bool:
    """Return whether a store has duplicates without their statements."""
    return any(name.startswith(_MARK) for name in checkpoint.offsets)


def link_to(graph: str, representative: str) -> bytes:
    r"""Return the statement that replaces those of a duplicate.

    >>> link_to("http://e/2", "http://e/1")
    b'<http://e/2> <urn:rdfcrawl:vocab#storedAs> <http://e/1> <http://e/2> .\n'
    """
    return f"<{graph}> <{RC}storedAs> <{representative}> <{graph}> .\n".encode()


def linked_from(line: bytes, graph: str) -> str | None:
    r"""Return the representative that a statement of a duplicate names, if any.

    >>> linked_from(link_to("http://e/2", "http://e/1"), "http://e/2")
    'http://e/1'
    """
    start, end = f"<{graph}> <{RC}storedAs> <".encode(), f"> <{graph}> .\n".encode()
    if line.startswith(start) and line.endswith(end):
        return line[len(start) : -len(end)].decode()
    return None


def linked_document(
    graph: str, version_ms: int, representative: str, turn: int
) -> LogDocument:
    """Return a duplicate as the store receives it.

    Args:
        graph: IRI of the duplicate.
        version_ms: of its latest version.
        representative: IRI of the document that has its statements.
        turn: in which the representative was chosen.
    """
    link = link_to(graph, representative)
    return made_document(graph, (version_ms, hidden_digest(turn, link)), link)


class StoredOnce:
    """The documents of one store, without duplicates.

    Args:
        path: of the table.
        log: that the store follows.

    Attributes:
        has_pending: an earlier process has left changes that the store may lack.
    """

    def __init__(self, path: Path, log: CrawlLog) -> None:
        self._path, self._log = path, log
        self._lock: int | None = None
        self._opened_table: RepresentativeTable | None = None
        self.has_pending = False
        self._number = self._n_missing = 0
        self._prepared = self._settled = 0  # turns
        self._given: set[bytes] = set()  # keys of the documents of this turn

    def open(self, found: Checkpoint | None) -> Checkpoint | None:
        """Open the table; return where to continue, or None for the beginning.

        Args:
            found: checkpoint of the last commit of the store.

        Raises:
            StoreFault: the disk cannot be used, or another process has the table open.
        """
        self.close()
        with disk_faults(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = lock_store(self._path.with_name(f"{self._path.name}.lock"))
            self._opened_table = self._opened()
            self._number, self._prepared, self._settled = self._table.turns()
            mark = found.offsets.get(self._mark) if found else None
            if not self._number or mark not in {self._prepared, self._settled}:
                self._begin()
                return None
            self._settled = mark
            self.has_pending = next(self._table.pending(), None) is not None
        return found

    @property
    def _table(self) -> RepresentativeTable:
        if self._opened_table is None:
            raise StoreFault(f"{self._path}: is not open")
        return self._opened_table

    @property
    def _mark(self) -> str:
        return f"{_MARK}{self._number}"

    def _opened(self) -> RepresentativeTable:
        try:
            return RepresentativeTable(self._path)
        except sqlite3.OperationalError:  # the disk, not its content
            raise
        except sqlite3.DatabaseError as error:
            logger.warning("%s: damaged (%s), and rebuilt", self._path, error)
            self.remove()
            return RepresentativeTable(self._path)

    def _begin(self) -> None:
        """Begin with an empty table, and with turns later than all before."""
        self._table.close()
        self.remove()
        self._opened_table = RepresentativeTable(self._path)
        self._number = secrets.randbits(62) + 1
        self._prepared = self._settled = int(time.time() * 1000)
        self._table.note_turns(self._number, self._prepared, self._settled)
        self.has_pending = False

    def remove(self) -> None:
        """Remove the closed table.

        Raises:
            OSError: the disk cannot be written.
        """
        for suffix in _FILES:
            with suppress(FileNotFoundError):
                os.unlink(f"{self._path}{suffix}")  # noqa: PTH108

    def close(self) -> None:
        """Close the table, if there is one."""
        if self._lock is not None:
            if self._opened_table is not None:
                self._opened_table.close()
                self._opened_table = None
            os.close(self._lock)
            self._lock = None

    def choose(
        self,
        documents: Iterable[LogDocument],
        refused: Collection[tuple[str, int]] = (),
        *,
        is_last: bool = False,
    ) -> Iterator[list[LogDocument]]:
        """Yield the documents for the store, in parts to apply one by one.

        Documents that replace a representative come first, so that its statements never
        leave the store. After all parts, commit `marked` and call `settle`; otherwise
        the next call yields them again.

        Args:
            documents: from the log, or tombstones made for dropped documents.
            refused: documents that the store refuses, with the times of their versions.
            is_last: documents of earlier generations are being dropped.

        Raises:
            StoreFault: the disk cannot be used.
        """
        latest = latest_versions(documents)
        with disk_faults(self._path):
            noted = self._prepare(latest, refused, is_last=is_last)
            chosen = [self._as_stored(document) for document in noted]
        self._given = {key_of(x.graph.encode()) for x in noted}
        yield from self._pending()
        yield chosen

    def _prepare(
        self,
        latest: dict[str, LogDocument],
        refused: Collection[tuple[str, int]],
        *,
        is_last: bool,
    ) -> list[LogDocument]:
        """Write the choice; return the documents without a later known version."""
        turn, generation = self._prepared + 1, self._log.identity.generation
        table = self._table
        choice = RepresentativeChoice(
            table, turn, generation, refused=refused, is_last=is_last
        )
        with table.transaction():
            table.note_turns(self._number, turn, self._settled)
            choice.exclude_refused()
            # The first of equal documents becomes their representative.
            ranked = sorted(latest.values(), key=lambda each: rank_of(each.graph))
            noted = [document for document in ranked if choice.add(document)]
        self._prepared = turn
        return noted

    def _as_stored(self, document: LogDocument) -> LogDocument:
        known = self._table.find(document.graph)
        return (known and self._linked(known)) or document

    def _linked(self, known: KnownDocument) -> LogDocument | None:
        """Return the link of a duplicate; None if the document is not a duplicate."""
        if known.representative is None:
            return None
        name = self._table.name_of(known.representative)
        return linked_document(known.iri, known.version_ms, name, known.turn)

    def _pending(self) -> Iterator[list[LogDocument]]:
        """Yield chosen documents without a new version."""
        part: list[LogDocument] = []
        n_bytes = n_missing = 0
        given = set(self._given)
        for page in self._table.pending():
            left = [each for each in page if each.key not in given]
            for known, document in self._read(left):
                if document is None:
                    n_missing += 1
                    continue
                self._given.add(known.key)
                part.append(document)
                n_bytes += len(document.quads or b"")
                if n_bytes >= _MAX_BYTES:
                    yield part
                    part, n_bytes = [], 0
            if part:
                yield part
                part, n_bytes = [], 0
        if n_missing and n_missing != self._n_missing:
            # A compaction may have moved them; then they are read from the log again.
            logger.warning(
                "%s of changed documents missing at their former position in the log",
                counted(n_missing, "duplicate"),
            )
        self._n_missing = n_missing

    def _read(
        self, pending: Sequence[KnownDocument]
    ) -> Iterator[tuple[KnownDocument, LogDocument | None]]:
        """Yield the version to store of each document; None if it has moved."""
        for generation, some in groupby(pending, lambda each: each.generation):
            moved = {}
            for known in some:
                if link := self._linked(known):
                    yield known, link
                elif not known.place.segment:  # dropped, and in no log
                    yield known, made_document(known.iri, known.version, b"")
                else:
                    moved[known.place] = known
            folder = self._log.folder_of(generation)
            for place, document in read_places(folder, moved) if folder else ():
                known = moved.pop(place)
                is_it = (document.graph, document.version) == (known.iri, known.version)
                yield known, document if is_it else None
            for known in moved.values():
                yield known, None

    def marked(self, checkpoint: Checkpoint) -> Checkpoint:
        """Return a checkpoint with the current turn of the table."""
        offsets = {**checkpoint.offsets, self._mark: self._prepared}
        return replace(checkpoint, offsets=offsets)

    def settle(self) -> None:
        """Note that the store has committed all documents yielded last.

        Raises:
            StoreFault: the disk cannot be used.
        """
        table = self._table
        with disk_faults(self._path), table.transaction():
            table.settle(self._given)
            table.note_turns(self._number, self._prepared, self._prepared)
        self._settled = self._prepared
        self.has_pending = False

    def earlier(self) -> Iterator[tuple[str, int]]:
        """Yield documents of earlier generations, and their versions."""
        return self._table.earlier(self._log.identity.generation)

    def totals(self) -> DuplicateTotals:
        """Return the number of duplicates and of the statements they save.

        Raises:
            StoreFault: the table is not open, or the disk cannot be used.
        """
        with disk_faults(self._path):
            return self._table.totals()
