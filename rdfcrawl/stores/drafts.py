"""Files that take the place of others once they are whole.

Several processes may write one file at once: each has a draft of its own, and the last
one counts. The draft of a process that was killed is removed by the next writer.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import TextIO

_DRAFT: Final = ".draft"


@contextmanager
def replacing_file(path: Path, *, is_lasting: bool = True) -> Iterator[TextIO]:
    """Open a text that takes the place of a file, unless it fails.

    Args:
        path: of the file.
        is_lasting: it is to outlive a machine that stops; else, it may be empty then.

    Raises:
        OSError: the disk is full, or refuses it; the file is as before.
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


def _locked_draft(path: Path) -> tuple[Path, int]:
    """Return a new file beside another one, which is locked while it is open."""
    while True:
        draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}{_DRAFT}")
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with suppress(OSError):  # of a file system without locks
            fcntl.flock(fd, fcntl.LOCK_EX)
        # Another writer may have seen the file before it was locked, and removed it.
        if os.fstat(fd).st_nlink:
            return draft, fd
        os.close(fd)


def _remove_left(path: Path) -> None:
    """Remove the drafts of a file that nobody writes any more."""
    begin = f".{path.name}."
    for name in os.listdir(path.parent):  # noqa: PTH208  # a name may be a pattern
        if not (name.startswith(begin) and name.endswith(_DRAFT)):
            continue
        draft = path.with_name(name)
        with suppress(OSError):  # it has just been removed, or is locked
            fd = os.open(draft, os.O_RDONLY)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                draft.unlink()
            finally:
                os.close(fd)
