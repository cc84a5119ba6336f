"""Checkpoints in a SQLite database, in one transaction with other changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rdfcrawl.stores.log.documents import Checkpoint

if TYPE_CHECKING:
    import sqlite3

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
