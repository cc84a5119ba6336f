"""Functions for stores on this machine: lock, faults of the disk, sync."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import PASSING, StoreFault, passing_fault

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
