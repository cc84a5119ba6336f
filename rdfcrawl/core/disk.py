"""Write files and folders durably."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO


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
