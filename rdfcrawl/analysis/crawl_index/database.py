"""The SQLite file of an index: open and check it, and query it from any thread.

It is emptied if the logs were replaced.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, Self

from rdfcrawl.stores.crawl_folder import read_identity

logger = logging.getLogger(__name__)

FORMAT: Final = 1  # of the tables; with another format the index is rebuilt
_HEAD: Final = """
CREATE TABLE IF NOT EXISTS head (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS checkpoint (name TEXT PRIMARY KEY, offset INTEGER)
    WITHOUT ROWID;
"""


def index_path(root: Path) -> Path:
    """Return the path of the index of a crawl, by the folder of the crawl."""
    return root / "page" / "index.sqlite"


class IndexDatabase:
    """One connection to the index of a crawl; used by one thread at a time.

    Args:
        connection: open.
        path: of the file.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.connection = connection
        self._path = path
        self._inode = _inode(path)

    @property
    def is_current(self) -> bool:
        """Whether the file was not replaced after opening."""
        return _inode(self._path) == self._inode

    @classmethod
    def open(cls, root: Path, *, schemas: Iterable[str] = (), is_read: bool) -> Self:
        """Return a connection.

        Args:
            root: `CRAWL_DIR/<CRAWL_ID>`.
            schemas: of the tables, for the writer.
            is_read: open read-only; the file must exist.

        Raises:
            sqlite3.Error: the file cannot be used.
        """
        path = index_path(root)
        if is_read:
            where = f"{path.as_uri()}?mode=ro"
            connection = sqlite3.connect(where, uri=True, check_same_thread=False)
            return cls(connection, path)
        path.parent.mkdir(parents=True, exist_ok=True)
        database = cls(sqlite3.connect(path, check_same_thread=False), path)
        try:
            database._prepare(identity_of(root), tuple(schemas))
        except BaseException:
            database.close()
            raise
        return database

    def _prepare(self, identity: str, schemas: Sequence[str]) -> None:
        """Drop the tables of other logs or schemas, and create all tables."""
        self.connection.execute("PRAGMA journal_mode = WAL")
        # The logs are complete: rows lost by a power cut are read again.
        self.connection.execute("PRAGMA synchronous = OFF")
        self.connection.executescript(_HEAD)
        # A new table would lack the members read so far.
        tables = blake2b("\0".join(schemas).encode(), digest_size=16).hexdigest()
        if (self.head("identity"), self.head("tables")) != (identity, tables):
            self._drop_all()
            self.connection.executescript(_HEAD)
        for schema in schemas:
            self.connection.executescript(schema)
        with self.connection:
            self.connection.executemany(
                "INSERT OR REPLACE INTO head VALUES (?, ?)",
                (("identity", identity), ("tables", tables)),
            )

    def _drop_all(self) -> None:
        rows = self.rows("SELECT name FROM sqlite_master WHERE type = 'table'")
        with self.connection:
            for (name,) in rows:
                if not name.startswith("sqlite_"):
                    self.connection.execute(f'DROP TABLE "{name}"')

    def head(self, name: str) -> str:
        """Return a value of the head; empty if it is not set."""
        rows = self.rows("SELECT value FROM head WHERE name = ?", (name,))
        return str(rows[0][0]) if rows else ""

    def offsets(self) -> dict[str, int]:
        """Return the offset up to which each segment was read, by `LogMember.name`."""
        return dict(self.rows("SELECT name, offset FROM checkpoint"))

    def rows(
        self, query: str, values: Sequence[Any] | Mapping[str, Any] = ()
    ) -> list[Any]:
        """Return all rows of a query."""
        return self.connection.execute(query, values).fetchall()

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def identity_of(root: Path) -> str:
    """Return a text that identifies the logs and the format of the index."""
    found = read_identity(root / "quads")
    log = f"{found.log} {found.generation}" if found else "none"
    return f"{FORMAT} {log}"


def remove_index(root: Path) -> None:
    """Remove the index of a crawl; it is rebuilt from the logs."""
    path = index_path(root)
    for suffix in ("-wal", "-shm", ""):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0


class IndexReaders:
    """Connections to one index, each used by one thread at a time.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._idle: list[IndexDatabase] = []

    def rows(
        self, query: str, values: Sequence[Any] | Mapping[str, Any] = ()
    ) -> list[Any]:
        """Return the rows of a query, as `sqlite3.Row`; none without an index."""
        try:
            database = self._take()
            found = database.rows(query, values)
        except sqlite3.Error as error:
            logger.debug("the index of %s cannot be queried: %s", self._root, error)
            return []
        self._idle.append(database)
        return found

    def _take(self) -> IndexDatabase:
        """Return a connection to the present file.

        Raises:
            sqlite3.Error: there is no file.
        """
        while self._idle:
            database = self._idle.pop()
            if database.is_current:
                return database
            database.close()
        database = IndexDatabase.open(self._root, is_read=True)
        database.connection.row_factory = sqlite3.Row
        return database

    def close(self) -> None:
        """Close idle connections."""
        while self._idle:
            self._idle.pop().close()
