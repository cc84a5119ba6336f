"""Locks that let segments be replaced while others read them.

A reader lists the paths of segments first and opens them later. So a replaced segment
is removed only when there are no readers: readers share the lock of
`quads/readers.lock`, and the process that removes files takes it exclusively.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_READERS: Final = "readers.lock"
_REPLACING: Final = "compaction.lock"


@contextmanager
def reading(segments: Path) -> Iterator[None]:
    """Keep all segments of a folder where they are."""
    try:
        fd = os.open(segments / _READERS, os.O_RDONLY | os.O_CREAT, 0o644)
    except OSError:  # the folder is read-only, or gone
        yield
        return
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(fd, fcntl.LOCK_SH)
        yield
    finally:
        os.close(fd)


@contextmanager
def removing(directory_fd: int) -> Iterator[bool]:
    """Block new readers during the context; yields whether there are no readers.

    Args:
        directory_fd: of the folder, whose path may change.

    Raises:
        OSError: the folder cannot be written to, or its file system has no locks.
    """
    with _locked(directory_fd, _READERS) as is_locked:
        yield is_locked


@contextmanager
def replacing(directory_fd: int) -> Iterator[bool]:
    """Block other compactions during the context; yields whether there are none.

    Raises:
        OSError: as `removing`.
    """
    with _locked(directory_fd, _REPLACING) as is_locked:
        yield is_locked


@contextmanager
def _locked(directory_fd: int, name: str) -> Iterator[bool]:
    fd = os.open(name, os.O_RDWR | os.O_CREAT, 0o644, dir_fd=directory_fd)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(fd)
