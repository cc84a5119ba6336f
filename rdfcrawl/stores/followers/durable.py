"""SQLite files with durable transactions."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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
