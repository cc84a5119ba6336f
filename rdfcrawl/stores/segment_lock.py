"""Locks that let segments be replaced while others read them.

A reader knows segments by their paths and opens them when it comes to them. So a
segment that was replaced is only removed when nobody reads: readers share the lock of
`quads/readers.lock`, and who removes has it alone, for the moment.
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
    except OSError:  # a folder that cannot be written to, or has gone
        yield
        return
    try:
        with suppress(OSError):  # of a file system without locks
            fcntl.flock(fd, fcntl.LOCK_SH)
        yield
    finally:
        os.close(fd)


@contextmanager
def removing(directory_fd: int) -> Iterator[bool]:
    """Keep readers away for the moment; tells whether there are none.

    Args:
        directory_fd: of the folder, which may be moved.

    Raises:
        OSError: the folder cannot be written to, or its file system has no locks.
    """
    with _locked(directory_fd, _READERS) as is_locked:
        yield is_locked


@contextmanager
def replacing(directory_fd: int) -> Iterator[bool]:
    """Keep others from replacing segments; tells whether nobody does.

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
