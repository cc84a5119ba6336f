"""Where bodies are kept while a visit is open: in memory or in a spool file."""

from __future__ import annotations

import fcntl
import logging
import os
import secrets
import shutil
from typing import TYPE_CHECKING, Self

from rdfcrawl.errors import Reason, SourceFault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import RawIOBase
    from pathlib import Path

    from rdfcrawl.fetch.answer import Answer, Ask
    from rdfcrawl.records import Document

logger = logging.getLogger(__name__)


class Spool:
    """The bodies that one process holds, counted, and its spool files.

    Each process has a folder of its own under `folder`, named in a lock file that
    the process keeps locked for its life: the folders of dead processes are removed
    when the next one opens, whatever they died of. Close it at the end.
    """

    def __init__(self, folder: Path, *, memory_limit_bytes: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.memory_bytes = 0
        """Bytes of bodies held in memory, by finished documents and open fetches."""
        self._memory_limit_bytes = memory_limit_bytes
        self._n_files = 0
        self._lock_path, self._lock_fd = _lock_new(folder)
        self.folder = self._lock_path.with_suffix("")
        self.folder.mkdir()
        _remove_stale(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def sink(self, ask: Ask) -> Sink:
        """Return a place for one body, within the limits of `ask`."""
        return Sink(self, ask)

    def has_room(self, n_bytes: int) -> bool:
        """Say whether a body of `n_bytes` may be kept in memory."""
        return self.memory_bytes + n_bytes <= self._memory_limit_bytes

    def new_path(self) -> Path:
        """Return the name of a spool file that does not exist yet."""
        self._n_files += 1
        return self.folder / f"{self._n_files}.body"

    def release(self, holder: Document | Answer) -> None:
        """Free the body of a document that is done with; a second call is nothing.

        The body must still be the one that was fetched: whoever unpacks it into
        something else keeps that elsewhere.
        """
        if holder.body is not None:
            self.memory_bytes -= len(holder.body)
            holder.body = None
        if holder.path is not None:
            holder.path.unlink(missing_ok=True)
            holder.path = None

    def close(self) -> None:
        """Remove all spool files of this process."""
        if self._lock_fd < 0:
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        self._lock_path.unlink(missing_ok=True)
        os.close(self._lock_fd)
        self._lock_fd = -1


class Sink:
    """One body on its way in. End it with `keep` or `discard`."""

    def __init__(self, spool: Spool, ask: Ask) -> None:
        self._spool = spool
        self._ask = ask
        self._pieces: list[bytes] = []
        self._n_held = 0
        self._file: RawIOBase | None = None
        self._path: Path | None = None
        self.n_bytes = 0
        """Bytes written so far."""

    def write(self, piece: bytes) -> None:
        """Add `piece`.

        Raises:
            SourceFault: `TOO_LARGE`: the body is kept up to the limit; `INTERNAL`:
                the disk is full or broken.
        """
        room = self._ask.max_bytes - self.n_bytes
        is_over = len(piece) > room
        if is_over:
            piece = piece[:room]
        self.n_bytes += len(piece)
        if self._file is None and self._fits(len(piece)):
            self._pieces.append(piece)
            self._n_held += len(piece)
            self._spool.memory_bytes += len(piece)
        else:
            self._write_file(piece)
        if is_over:
            raise SourceFault(Reason.TOO_LARGE, f"over {self._ask.max_bytes} bytes")

    def keep(self, answer: Answer) -> None:
        """Close the body and hand it to `answer`."""
        answer.n_bytes = self.n_bytes
        if self._file is None:
            pieces = self._pieces
            answer.body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        else:
            self._file.close()
            answer.path = self._path

    def discard(self) -> None:
        """Forget the body."""
        self._spool.memory_bytes -= self._n_held
        self._n_held = 0
        self._pieces.clear()
        if self._file is not None and self._path is not None:
            self._file.close()
            self._path.unlink(missing_ok=True)

    def _fits(self, n_bytes: int) -> bool:
        return self.n_bytes <= self._ask.spool_bytes and self._spool.has_room(n_bytes)

    def _write_file(self, piece: bytes) -> None:
        try:
            if self._file is None:
                self._path = self._spool.new_path()
                # Unbuffered: pieces are large, and closing must not fail.
                self._file = self._path.open("xb", buffering=0)
                held = b"".join(self._pieces)
                self._pieces.clear()
                self._spool.memory_bytes -= self._n_held
                self._n_held = 0
                _write_all(self._file, held)
            _write_all(self._file, piece)
        except OSError as exc:
            raise SourceFault(Reason.INTERNAL, f"spool: {exc.strerror}") from exc


def _write_all(file: RawIOBase, octets: bytes) -> None:
    """Write all of `octets`; a raw file may take only a part at a time."""
    rest = memoryview(octets)
    while rest:
        rest = rest[file.write(rest) or 0 :]


def _lock_new(folder: Path) -> tuple[Path, int]:
    """Create and lock the lock file of this process."""
    while True:
        path = folder / f"{os.getpid()}-{secrets.token_hex(4)}.lock"
        lock_fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(lock_fd, fcntl.LOCK_EX)
        # Invariant: whoever removes a lock file holds its lock. If another process
        # took this file for stale before it was locked, the name is gone now.
        if path.exists():
            return path, lock_fd
        os.close(lock_fd)


def _remove_stale(folder: Path) -> None:
    """Remove what dead processes left behind."""
    for path, lock_fd in _iter_stale(folder):
        shutil.rmtree(path.with_suffix(""), ignore_errors=True)
        path.unlink(missing_ok=True)
        os.close(lock_fd)
        logger.info("Removed the spool of a dead process: %(path)s", {"path": path})


def _iter_stale(folder: Path) -> Iterator[tuple[Path, int]]:
    for path in folder.glob("*.lock"):
        try:
            lock_fd = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            continue  # its process has just closed it
        try:
            fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock_fd)
            continue
        yield path, lock_fd
