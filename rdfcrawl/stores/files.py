"""Files that several processes use: replaced atomically, made durable, locked.

Several processes may write one file at the same time: each writes its own draft, and
the last one counts. The next writer removes the drafts of killed processes. A lock of a
file, by flock(2), ends with the process.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final, TextIO

_DRAFT: Final = ".draft"
_POLL_SECS: Final = 0.05  # between two attempts to lock a file


@contextmanager
def replacing_file(path: Path, *, is_lasting: bool = True) -> Iterator[TextIO]:
    """Open a text file that replaces another, unless the context raises.

    Args:
        path: of the file.
        is_lasting: sync the file; otherwise it may be empty after power loss.

    Raises:
        OSError: the disk is full or cannot be written; the file is unchanged.
    """
    _remove_left(path)
    draft, fd = _locked_draft(path)
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            yield file
            file.flush()
            if is_lasting:
                os.fsync(fd)
            draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


@contextmanager
def operator_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file that an operator names for output; a pipe or device is written to.

    Raises:
        OSError: the file cannot be written; one that was there is unchanged.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    with replacing_file(path.resolve(), is_lasting=False) as text:
        yield text.buffer


def _locked_draft(path: Path) -> tuple[Path, int]:
    """Return a new file in the same folder, which is locked while it is open."""
    while True:
        draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}{_DRAFT}")
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with suppress(OSError):  # a file system without locks
            fcntl.flock(fd, fcntl.LOCK_EX)
        # Another writer may have removed the file before it was locked.
        if os.fstat(fd).st_nlink:
            return draft, fd
        os.close(fd)


def _remove_left(path: Path) -> None:
    """Remove the drafts of a file that have no writer."""
    begin = f".{path.name}."
    for name in os.listdir(path.parent):  # noqa: PTH208  # a name may be a pattern
        if not (name.startswith(begin) and name.endswith(_DRAFT)):
            continue
        draft = path.with_name(name)
        with suppress(OSError), open_locked(draft, os.O_RDONLY) as fd:
            if fd is not None:
                draft.unlink()


def sync(path: Path) -> None:
    """Make a file, or the entries of a folder, durable on disk.

    Raises:
        OSError: the disk cannot be written.
    """
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextmanager
def synced_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file that is on disk after the context, or removed if the context raises.

    Raises:
        OSError: the disk is full, or refuses the file.
    """
    try:
        with path.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def try_lock(fd: int, *, is_shared: bool = False) -> bool:
    """Lock an open file; return False if another process has it locked.

    Args:
        fd: descriptor of the file or folder.
        is_shared: several processes may have such a lock.

    Raises:
        OSError: the file system has no locks.
    """
    kind = fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_for_lock(fd: int, secs: float, *, is_shared: bool = False) -> bool:
    """Lock an open file as `try_lock` does, for which it waits up to some seconds."""
    deadline = time.monotonic() + secs
    while not try_lock(fd, is_shared=is_shared):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECS)
    return True


@contextmanager
def open_locked(path: Path, flags: int = os.O_RDWR) -> Iterator[int | None]:
    """Open and lock a file or folder; yield its descriptor.

    None: it does not exist, or another process has it locked.

    Raises:
        OSError: it cannot be opened, or the file system has no locks.
    """
    try:
        fd = os.open(path, flags, 0o644)
    except FileNotFoundError:
        yield None
        return
    try:
        yield fd if try_lock(fd) else None
    finally:
        os.close(fd)
