"""Store what several documents say once, as one document says the statements.

Between a log and a store, a document whose statements the store has already, as those
of another one, is replaced by one statement, which names that: its *representative*.
The log has all of it, so nothing is decided for good. When the representative says
something else, or nothing any more, another of its duplicates comes into its place.

What makes this safe whenever it is interrupted:

* The version of a duplicate, without statements, is before the same version with them.
  A store takes the latest version, so it never loses statements that it has but to a
  later fetch, whatever is lost, repeated or restored from a backup.
* The table of duplicates is written before the store. Its turn stands in the checkpoint
  of the store; if both do not match, the table is dropped and the log read again.
* What the table has changed without a new version in the log is pending until the
  store has it. Versions that a compaction has moved come by again, as it has followers
  read its segments from the beginning.
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

from rdfcrawl.core.counting import counted
from rdfcrawl.core.errors import StoreFault
from rdfcrawl.core.namespaces import RC
from rdfcrawl.stores.followers.ledger import key_of
from rdfcrawl.stores.followers.local_disk import disk_faults, lock_store
from rdfcrawl.stores.followers.representatives import (
    DuplicateTotals,
    KnownDocument,
    RepresentativeChoice,
    RepresentativeTable,
    hidden_digest,
    rank_of,
)
from rdfcrawl.stores.log.documents import made_document, read_places

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from rdfcrawl.stores.log.crawl_log import CrawlLog
    from rdfcrawl.stores.log.documents import Checkpoint, LogDocument

logger = logging.getLogger(__name__)

_MARK: Final = "once/"
_MAX_BYTES: Final = 4 * 1024 * 1024  # of documents that are stored again at once
_FILES: Final = ("", "-wal", "-shm")


def is_marked(checkpoint: Checkpoint) -> bool:
    """Return whether a store has duplicates without their statements."""
    return any(name.startswith(_MARK) for name in checkpoint.offsets)


def link_to(graph: str, representative: str) -> bytes:
    r"""Return what a store has of a duplicate.

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
    """Return what a store gets of a duplicate.

    Args:
        graph: IRI of the duplicate.
        version_ms: of its latest version.
        representative: IRI of the document that has its statements.
        turn: in which that was chosen.
    """
    link = link_to(graph, representative)
    return made_document(graph, (version_ms, hidden_digest(turn, link)), link)


class StoredOnce:
    """The documents of one store, each content of which is stored once.

    Args:
        path: of the table.
        log: that the store follows.

    Attributes:
        has_pending: an earlier process has left something that the store may not have.
    """

    def __init__(self, path: Path, log: CrawlLog) -> None:
        self._path, self._log = path, log
        self._lock: int | None = None
        self._opened_table: RepresentativeTable | None = None
        self.has_pending = False
        self._number = self._n_missing = 0
        self._prepared = self._settled = 0  # turns
        self._given: set[bytes] = set()  # keys of what the store gets in this turn

    def open(self, found: Checkpoint | None) -> Checkpoint | None:
        """Open the table; return where to go on, or None: at the beginning.

        Args:
            found: checkpoint of the last commit of the store.

        Raises:
            StoreFault: the disk refuses it, or another process has the table open.
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
        except sqlite3.OperationalError:  # the disk, not what is on it
            raise
        except sqlite3.DatabaseError as error:
            logger.warning("%s: damaged (%s), and made anew", self._path, error)
            self.remove()
            return RepresentativeTable(self._path)

    def _begin(self) -> None:
        """Begin with an empty table, and turns that are later than all before."""
        self._table.close()
        self.remove()
        self._opened_table = RepresentativeTable(self._path)
        self._number = secrets.randbits(62) + 1
        self._prepared = self._settled = int(time.time() * 1000)
        self._table.note_turns(self._number, self._prepared, self._settled)
        self.has_pending = False

    def remove(self) -> None:
        """Remove the table, which is not open.

        Raises:
            OSError: the disk refuses it.
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
        """Yield what the store is to get, in parts that are applied one by one.

        Documents that come into the place of others are first, so that what these have
        said never leaves the store. After all parts comes the commit of `marked`, and
        `settle`; else the next call yields them again.

        Args:
            documents: from the log; or absences that are in none.
            refused: documents that the store does not take, with the times of their
                versions.
            is_last: documents of earlier generations are being dropped.

        Raises:
            StoreFault: the disk refuses something.
        """
        latest: dict[str, LogDocument] = {}
        for document in documents:
            known = latest.get(document.graph)
            if known is None or document.version > known.version:
                latest[document.graph] = document
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
        """Write down what is chosen; return the documents that were not known later."""
        turn, generation = self._prepared + 1, self._log.identity.generation
        table = self._table
        choice = RepresentativeChoice(
            table, turn, generation, refused=refused, is_last=is_last
        )
        with table.transaction():
            table.note_turns(self._number, turn, self._settled)
            choice.leave_refused()
            # The best of those that come together represents them.
            ranked = sorted(latest.values(), key=lambda each: rank_of(each.graph))
            noted = [document for document in ranked if choice.add(document)]
        self._prepared = turn
        return noted

    def _as_stored(self, document: LogDocument) -> LogDocument:
        known = self._table.find(document.graph)
        return (known and self._linked(known)) or document

    def _linked(self, known: KnownDocument) -> LogDocument | None:
        """Return what the store gets of a duplicate; None: the document is none."""
        if known.representative is None:
            return None
        name = self._table.name_of(known.representative)
        return linked_document(known.iri, known.version_ms, name, known.turn)

    def _pending(self) -> Iterator[list[LogDocument]]:
        """Yield what was chosen of documents that have no new version."""
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
            # Mostly a compaction has moved them, and they come again in the log.
            logger.warning(
                "%s of changed documents missing at the former place in the log",
                counted(n_missing, "duplicate"),
            )
        self._n_missing = n_missing

    def _read(
        self, pending: Sequence[KnownDocument]
    ) -> Iterator[tuple[KnownDocument, LogDocument | None]]:
        """Yield what is to be stored of each document; None: its place is empty."""
        for generation, some in groupby(pending, lambda each: each.generation):
            moved = {}
            for known in some:
                if link := self._linked(known):
                    yield known, link
                elif not known.place.segment:  # it was dropped, and is in no log
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
        """Return a checkpoint that tells which turn of the table the store has."""
        offsets = {**checkpoint.offsets, self._mark: self._prepared}
        return replace(checkpoint, offsets=offsets)

    def settle(self) -> None:
        """Note that the store has all that was yielded last, for good.

        Raises:
            StoreFault: the disk refuses it.
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
        """Return how much is stored once only.

        Raises:
            StoreFault: the table is not open, or the disk refuses it.
        """
        with disk_faults(self._path):
            return self._table.totals()
