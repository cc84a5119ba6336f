"""Functions for stores on this machine: lock, faults of the disk, SQLite files.

Transactions of the SQLite files are durable; checkpoints are in one transaction with
other changes.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import PASSING, StoreFault, passing_fault
from rdfcrawl.stores.log.documents import Checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


LOCK_SECS: Final = 10.0
"""Default wait for another process to finish."""


def lock_store(path: Path, patience_secs: float = LOCK_SECS) -> int:
    """Return a descriptor that holds the lock of a store.

    Raises:
        OSError: the disk cannot be written.
        StoreFault: another process has held it for too long.
    """
    fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
    deadline = time.monotonic() + patience_secs
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(fd)
                raise StoreFault(
                    f"{path.parent}: another process has the store open", may_pass=True
                ) from None
            time.sleep(0.05)
        else:
            return fd


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


def open_durable(path: Path, schema: str) -> sqlite3.Connection:
    """Open a file, and create missing tables.

    Args:
        path: of the file.
        schema: statements that create the tables if they are missing.

    Raises:
        sqlite3.DatabaseError: the file is damaged, or the disk cannot be used.
    """
    table = sqlite3.connect(path, isolation_level=None)
    try:
        table.execute("PRAGMA journal_mode = WAL")
        table.execute("PRAGMA synchronous = FULL")
        table.executescript(schema)
    except BaseException:
        table.close()
        raise
    return table


@contextmanager
def in_transaction(table: sqlite3.Connection) -> Iterator[None]:
    """Make all changes of the context durable, or none."""
    table.execute("BEGIN IMMEDIATE")
    try:
        yield
        table.execute("COMMIT")
    except BaseException:
        if table.in_transaction:  # SQLite may have rolled back already
            table.execute("ROLLBACK")
        raise


CHECKPOINT_TABLES: Final = """
CREATE TABLE IF NOT EXISTS logs (
    log TEXT PRIMARY KEY, generation INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS offsets (
    log TEXT, segment TEXT, offset INTEGER NOT NULL, PRIMARY KEY (log, segment)
) WITHOUT ROWID;
"""
"""Tables for the functions below."""


def read_checkpoint(db: sqlite3.Connection, log: str) -> Checkpoint | None:
    """Return the checkpoint of the last commit for a log."""
    found = db.execute("SELECT generation FROM logs WHERE log = ?", [log]).fetchone()
    if found is None:
        return None
    rows = db.execute("SELECT segment, offset FROM offsets WHERE log = ?", [log])
    return Checkpoint(log, found[0], dict(rows))


def read_checkpoints(db: sqlite3.Connection) -> list[Checkpoint]:
    """Return the checkpoint of the last commit for each log."""
    names = [log for (log,) in db.execute("SELECT log FROM logs").fetchall()]
    return [found for name in names if (found := read_checkpoint(db, name))]


def write_checkpoint(db: sqlite3.Connection, checkpoint: Checkpoint) -> None:
    """Replace the checkpoint of a log, within a transaction."""
    log, offsets = checkpoint.log, checkpoint.offsets
    db.execute(
        "INSERT OR REPLACE INTO logs VALUES (?, ?)", [log, checkpoint.generation]
    )
    found = db.execute("SELECT segment, offset FROM offsets WHERE log = ?", [log])
    known = dict(found.fetchall())
    db.executemany(
        "DELETE FROM offsets WHERE log = ? AND segment = ?",
        [(log, segment) for segment in known.keys() - offsets.keys()],
    )
    # A long crawl has very many segments, and writes to few of them.
    changed = dict(offsets.items() - known.items())
    db.executemany(
        "INSERT OR REPLACE INTO offsets VALUES (?, ?, ?)",
        [(log, segment, offset) for segment, offset in changed.items()],
    )
