"""Stores that keep documents in a table, and publish them to readers from it."""

from __future__ import annotations

import os
import sqlite3
from abc import abstractmethod
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import StoreFault
from rdfcrawl.stores.followers.document_table import DocumentTable
from rdfcrawl.stores.followers.local_disk import (
    LOCK_SECS,
    disk_faults,
    lock_store,
    opening_fault,
)
from rdfcrawl.stores.followers.protocol import Follower
from rdfcrawl.stores.followers.renewals import Renewals

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from rdfcrawl.stores.crawl_folder import LogIdentity
    from rdfcrawl.stores.log.documents import Checkpoint, LogDocument


class TableFollower(Follower):
    """Follower whose documents are in a table; see `protocol.Follower`.

    Args:
        path: for readers.
        state: folder of the table and its lock.
        layout: how documents are published; fixed when the store is created.
        renew_secs: least time between two renewals.
        lock_secs: longest wait for another process that has the store open.
    """

    def __init__(
        self,
        path: Path,
        state: Path,
        layout: dict[str, str],
        *,
        renew_secs: float,
        lock_secs: float = LOCK_SECS,
    ) -> None:
        self._path, self._state, self._layout = path, state, layout
        self._renewals = Renewals(renew_secs)
        self._lock_secs = lock_secs
        self._lock: int | None = None

    def open(self, log: LogIdentity) -> Checkpoint | None:
        """Open the table of documents; return the checkpoint of the last commit.

        Raises:
            ConfigError: something else is at the path, or the layout differs.
            StoreFault: another process has the store open, or it is damaged.
        """
        try:
            self._prepare()
            lock = lock_store(self._state / "lock", self._lock_secs)
        except OSError as error:
            raise StoreFault(f"{self._path}: {error}", may_pass=True) from error
        try:
            self._open_table()
            checkpoint = self._read_checkpoint(log)
        except (OSError, sqlite3.DatabaseError) as error:
            os.close(lock)
            raise opening_fault(self._path, error) from error
        except BaseException:
            os.close(lock)
            raise
        self._lock, self._log = lock, log
        self._renewals.begin()
        return checkpoint

    def _open_table(self) -> None:
        path = self._state / "documents.sqlite"
        self._table = DocumentTable(path, self._part_of, self._layout)
        try:
            self._resume()
        except BaseException:
            self._table.close()
            raise

    def _read_checkpoint(self, log: LogIdentity) -> Checkpoint | None:
        try:
            return self._table.checkpoint(log.log)
        except BaseException:
            self._table.close()
            raise

    @abstractmethod
    def _prepare(self) -> None:
        """Create the folder of the state; check that nothing else is at the path."""

    @abstractmethod
    def _resume(self) -> None:
        """Create further tables; finish an interrupted renewal."""

    @abstractmethod
    def _part_of(self, graph: str, version_ms: int) -> str:
        """Return the part of a document."""

    @abstractmethod
    def _renew(self) -> None:
        """Publish the changed documents."""

    def apply(self, documents: Sequence[LogDocument]) -> None:
        """Replace documents with these versions, unless the store has later ones.

        Raises:
            DocumentRefused: a document is not valid N-Quads.
            StoreFault: the disk is full.
        """
        with disk_faults(self._path):
            self._table.put(documents, self._log)

    def commit(self, checkpoint: Checkpoint) -> None:
        """Make the documents and the checkpoint durable on disk.

        Raises:
            StoreFault: the disk is full.
        """
        with disk_faults(self._path):
            self._table.commit(checkpoint)

    def renew(self, *, at_once: bool) -> None:
        """Publish committed documents, if that is due.

        Raises:
            StoreFault: the disk is full.
        """
        if not (at_once or self._renewals.is_due):
            return
        with disk_faults(self._path):
            if self._table.has_changes:
                with self._renewals.measured():
                    self._renew()

    def close(self) -> None:
        """Close the table, and release the lock."""
        if self._lock is None:
            return
        self._table.close()
        os.close(self._lock)
        self._lock = None

    def earlier_documents(self, log: LogIdentity) -> Iterator[tuple[str, int]]:
        """Yield documents of earlier generations of a log, and their versions."""
        return self._table.earlier(log)

    def checkpoints(self) -> Iterable[Checkpoint]:
        """Return the checkpoints of all logs in the store."""
        return self._table.checkpoints()
