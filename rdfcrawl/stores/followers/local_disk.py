"""Functions for stores on this machine: lock, faults of the disk, SQLite files.

Transactions of the SQLite files are durable; checkpoints are in one transaction with
other changes.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import PASSING, StoreFault, passing_fault
from rdfcrawl.stores.files import wait_for_lock
from rdfcrawl.stores.followers.protocol import Follower
from rdfcrawl.stores.log.documents import Checkpoint, LogDocument

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from rdfcrawl.stores.crawl_folder import LogIdentity


LOCK_SECS: Final = 10.0
"""Default wait for another process to finish."""
_KEY_BYTES: Final = 16


def lock_store(path: Path, patience_secs: float = LOCK_SECS) -> int:
    """Return a descriptor that holds the lock of a store.

    Raises:
        OSError: the disk cannot be written.
        StoreFault: another process has held it for too long.
    """
    fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
    if wait_for_lock(fd, patience_secs):
        return fd
    os.close(fd)
    why = f"{path.parent}: another process has the store open"
    raise StoreFault(why, may_pass=True)


def key_of(text: bytes) -> bytes:
    """Return the key of an IRI or of a statement."""
    return blake2b(text, digest_size=_KEY_BYTES).digest()


@contextmanager
def disk_faults(path: Path) -> Iterator[None]:
    """Turn errors of the disk, and damage of a store, into a `StoreFault`.

    Args:
        path: of the store.
    """
    try:
        yield
    except (OSError, sqlite3.OperationalError) as error:
        fault = passing_fault(error) or StoreFault(str(error), may_pass=True)
        raise fault from error
    except (RuntimeError, sqlite3.DatabaseError) as error:  # RocksDB, SQLite
        raise opening_fault(path, error) from error


def opening_fault(path: Path, error: Exception) -> StoreFault:
    """Return the fault of a store that cannot be opened: full disk or damage."""
    if isinstance(error, sqlite3.OperationalError):  # the disk, not its content
        return StoreFault(f"{path}: {error}", may_pass=True)
    what = f"{path}: {error}"
    if any(os.strerror(number) in what for number in PASSING):
        return StoreFault(what, may_pass=True)  # RocksDB's errors have no number
    return passing_fault(error) or StoreFault(
        f"{what}; delete it to fill the store again"
    )


class DurableFile:
    """A file of SQLite with durable transactions.

    Args:
        path: of the file.
        schema: statements that create the tables if they are missing.

    Attributes:
        db: the database.

    Raises:
        sqlite3.DatabaseError: the file is damaged, or the disk cannot be used.
    """

    def __init__(self, path: Path, schema: str) -> None:
        self.db = sqlite3.connect(path, isolation_level=None)
        try:
            self.db.execute("PRAGMA journal_mode = WAL")
            self.db.execute("PRAGMA synchronous = FULL")
            self.db.executescript(schema)
        except BaseException:
            self.db.close()
            raise

    def close(self) -> None:
        """Close the file; uncommitted changes are lost."""
        self.db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make all changes of the context durable, or none."""
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.db.execute("COMMIT")
        except BaseException:
            self.roll_back()  # unless SQLite has done so
            raise

    def begin(self) -> None:
        """Begin a transaction, unless one is open."""
        if not self.db.in_transaction:
            self.db.execute("BEGIN IMMEDIATE")

    def roll_back(self) -> None:
        """Undo uncommitted changes."""
        if self.db.in_transaction:
            self.db.execute("ROLLBACK")

    def documents_where(
        self, condition: str, *values: object
    ) -> Iterator[tuple[str, int]]:
        """Yield IRI and version of documents, which may be changed meanwhile.

        Args:
            condition: in SQL, of the table `documents`.
            values: of its parameters.
        """
        query = f"SELECT key, iri, version FROM documents WHERE key > ? AND {condition}"  # noqa: S608
        last = b""
        while rows := self.db.execute(
            f"{query} ORDER BY key LIMIT 1000", [last, *values]
        ).fetchall():
            yield from ((iri, version) for _, iri, version in rows)
            last = rows[-1][0]


_CHECKPOINTS: Final = """
CREATE TABLE IF NOT EXISTS logs (
    log TEXT PRIMARY KEY, generation INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS offsets (
    log TEXT, segment TEXT, offset INTEGER NOT NULL, PRIMARY KEY (log, segment)
) WITHOUT ROWID;
"""


class DocumentsFile(DurableFile):
    """A table `documents` with those taken from logs, and the checkpoints of the logs.

    Args:
        path: see `DurableFile`.
        schema: likewise; of the table.
    """

    def __init__(self, path: Path, schema: str = "") -> None:
        super().__init__(path, _CHECKPOINTS + schema)

    def checkpoint(self, log: str) -> Checkpoint | None:
        """Return the checkpoint of the last commit for a log."""
        query = "SELECT generation FROM logs WHERE log = ?"
        if (found := self.db.execute(query, [log]).fetchone()) is None:
            return None
        rows = self.db.execute(
            "SELECT segment, offset FROM offsets WHERE log = ?", [log]
        )
        return Checkpoint(log, found[0], dict(rows))

    def checkpoints(self) -> list[Checkpoint]:
        """Return the checkpoint of the last commit for each log."""
        names = [log for (log,) in self.db.execute("SELECT log FROM logs").fetchall()]
        return [found for name in names if (found := self.checkpoint(name))]

    def put_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint of a log, within a transaction."""
        log, offsets = checkpoint.log, checkpoint.offsets
        self.db.execute(
            "INSERT OR REPLACE INTO logs VALUES (?, ?)", [log, checkpoint.generation]
        )
        query = "SELECT segment, offset FROM offsets WHERE log = ?"
        known = dict(self.db.execute(query, [log]).fetchall())
        self.db.executemany(
            "DELETE FROM offsets WHERE log = ? AND segment = ?",
            [(log, segment) for segment in known.keys() - offsets.keys()],
        )
        # A long crawl has very many segments, and writes to few of them.
        changed = dict(offsets.items() - known.items())
        self.db.executemany(
            "INSERT OR REPLACE INTO offsets VALUES (?, ?, ?)",
            [(log, segment, offset) for segment, offset in changed.items()],
        )

    def lacks(self, document: LogDocument, log: LogIdentity) -> bool:
        """Return whether a version is new; note the time of one that is the same."""
        key = key_of(document.graph.encode())
        found = self.db.execute(
            "SELECT version, digest FROM documents WHERE key = ?", [key]
        ).fetchone()
        if found is None or (document.version > found and document.digest != found[1]):
            return True
        if document.version > found:
            self.note_time(key, document, log)
        return False

    def note_time(self, key: bytes, document: LogDocument, log: LogIdentity) -> None:
        """Note the time of a version whose statements are unchanged."""
        self.db.execute(
            "UPDATE documents SET version = ?, log = ?, generation = ? WHERE key = ?",
            [document.version_ms, log.log, log.generation, key],
        )

    def commit(self, checkpoint: Checkpoint) -> None:
        """Make all changes durable on disk, with the checkpoint."""
        self.begin()
        self.put_checkpoint(checkpoint)
        self.db.execute("COMMIT")

    def earlier(self, log: LogIdentity) -> Iterator[tuple[str, int]]:
        """Yield documents of earlier generations of a log, and their versions."""
        return self.documents_where(
            "log = ? AND generation < ?", log.log, log.generation
        )


class LocalFollower(Follower):
    """Follower whose documents are in a locked file on this machine.

    Args:
        path: of the store.
        lock_secs: longest wait for another process that has the store open.
    """

    _file: DocumentsFile | None = None

    def __init__(self, path: Path, lock_secs: float) -> None:
        self._path, self._lock_secs = path, lock_secs
        self._lock: int | None = None

    def _take_lock(self, path: Path) -> None:
        self._lock = lock_store(path, self._lock_secs)

    @contextmanager
    def _opening(self) -> Iterator[None]:
        """Close the store if the context fails; turn errors into a `StoreFault`."""
        try:
            yield
        except BaseException as error:
            self.close()
            if isinstance(error, OSError | RuntimeError | sqlite3.DatabaseError):
                raise opening_fault(self._path, error) from error
            raise

    def close(self) -> None:
        """Close the file, and release the lock."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @property
    def _opened(self) -> DocumentsFile:
        if self._file is None:
            raise StoreFault(f"{self._path}: is not open")
        return self._file

    def earlier_documents(self, log: LogIdentity) -> Iterator[tuple[str, int]]:
        """Yield documents of earlier generations of a log, and their versions."""
        return self._opened.earlier(log)

    def checkpoints(self) -> Iterable[Checkpoint]:
        """Return the checkpoints of all logs in the store."""
        return self._opened.checkpoints()
