"""The last capture of each URI, on disk, to detect repeated payloads.

An SQLite file next to the archive, shared by the workers of a machine. An entry is
written once its record is on disk; a lost entry only costs a repeated payload.
"""

from __future__ import annotations

import fcntl
import logging
import os
import sqlite3
from contextlib import contextmanager, suppress
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

logger = logging.getLogger(__name__)

_BUSY_SECS: Final = 5.0
_MAX_PENDING: Final = 100_000
_KEY_BYTES: Final = 16
_TABLE: Final = """
    CREATE TABLE IF NOT EXISTS captures (
        uri BLOB PRIMARY KEY, digest BLOB, at_ms INTEGER, record TEXT
    ) WITHOUT ROWID
"""


class LastCapture(NamedTuple):
    """The last record with the payload of a URI.

    Attributes:
        digest: SHA-1 of the payload.
        at_ms: when it was captured, Unix time in ms.
        record_id: its URN.
    """

    digest: bytes
    at_ms: int
    record_id: str


class CaptureIndex:
    """The last capture of each URI; may be used from any thread.

    Args:
        path: of its file, created if missing.

    Raises:
        OSError: the disk does not accept it, or another process holds it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._pending: dict[bytes, LastCapture] = {}
        self._writing: dict[bytes, LastCapture] = {}
        self._is_told = False
        self._is_damaged = False
        with _locked(path):
            self._connect()

    def _connect(self) -> None:
        try:
            self._reader = _connect(self._path)
        # an error of the disk, not of its content
        except sqlite3.OperationalError as error:
            raise OSError(f"{self._path.name}: {error}") from error
        except sqlite3.DatabaseError as error:
            logger.warning("%s: replaced because it is damaged: %s", self._path, error)
            _put_aside(self._path)
            self._reader = _connect(self._path)
        self._writer = _connect(self._path)
        self._inode = self._path.stat().st_ino

    def _reopen(self) -> None:
        """Open the index that another worker has created, or create one.

        Raises:
            OSError: the disk does not accept it, or another process holds it.
            sqlite3.Error: the same.
        """
        self._reader.close()
        self._writer.close()
        with _locked(self._path):
            if not self._is_replaced():
                logger.warning("%s: replaced because it is damaged", self._path)
                _put_aside(self._path)
            self._connect()
        self._is_damaged = self._is_told = False

    def _is_replaced(self) -> bool:
        """Return whether another worker has replaced this index."""
        try:
            return self._path.stat().st_ino != self._inode
        except FileNotFoundError:
            return True

    def find(self, uri: str) -> LastCapture | None:
        """Return the last capture of a URI, if there is one."""
        key = _key(uri)
        with self._lock:
            found = self._pending.get(key) or self._writing.get(key)
            if found is not None:
                return found
            try:
                row = self._reader.execute(
                    "SELECT digest, at_ms, record FROM captures WHERE uri = ?", (key,)
                ).fetchone()
            except sqlite3.Error as error:
                self._note(error)
                return None
        return LastCapture(*row) if row else None

    def note(self, uri: str, capture: LastCapture) -> None:
        """Note a capture whose record was written."""
        with self._lock:
            self._pending[_key(uri)] = capture

    def take(self) -> None:
        """Take the notes so far; the records are about to be synced."""
        with self._lock:
            self._writing = {**self._writing, **self._pending}
            self._pending = {}
            # the disk has not accepted it for long
            if len(self._writing) > _MAX_PENDING:
                self._writing.clear()

    def keep(self) -> None:
        """Write the taken notes; their records are on disk."""
        rows = [(key, *capture) for key, capture in self._writing.items()]
        try:
            if self._is_damaged:
                with self._lock:
                    self._reopen()
            if rows:
                with self._writer:
                    self._writer.executemany(
                        "INSERT OR REPLACE INTO captures VALUES (?, ?, ?, ?)", rows
                    )
        except (sqlite3.Error, OSError) as error:
            self._note(error)
        else:
            with self._lock:
                self._writing = {}

    def _note(self, error: Exception) -> None:
        """Note an error of the index; `keep` replaces a damaged one."""
        is_of_disk = isinstance(error, sqlite3.OperationalError | OSError)
        self._is_damaged |= not is_of_disk or self._is_replaced()
        if not self._is_told:
            self._is_told = True
            logger.warning(
                "%s: repeated payloads may be stored twice: %s", self._path, error
            )

    def close(self) -> None:
        """Close the file."""
        self._reader.close()
        self._writer.close()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let one worker at a time replace an index."""
    fd = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o644)
    try:
        with suppress(OSError):  # some file systems have no locks
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _put_aside(path: Path) -> None:
    """Rename a damaged index; processes that have it open do not see the next one.

    Its log goes first: SQLite would write it into the next index.
    """
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        path.replace(path.with_name(f"{path.name}.damaged"))


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_BUSY_SECS, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(_TABLE)
    connection.commit()
    return connection


def _key(uri: str) -> bytes:
    return blake2b(
        uri.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES
    ).digest()
