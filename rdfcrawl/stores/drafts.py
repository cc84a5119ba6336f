"""Replace files atomically, and make files and folders durable.

Several processes may write one file at the same time: each writes its own draft, and
the last one counts. The next writer removes the drafts of killed processes.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final, TextIO

from rdfcrawl.core.processes import open_locked

_DRAFT: Final = ".draft"


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
