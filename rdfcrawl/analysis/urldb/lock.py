"""The lock of a folder, for one writer at a time."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOCK_NAME: Final = "lock"


@contextmanager
def writing_alone(folder: Path, refusal: str) -> Iterator[None]:
    """Lock a folder against other writers; the lock ends with the process.

    Args:
        folder: must exist.
        refusal: message after the name of the folder, if it is locked.

    Raises:
        ConfigError: the folder is locked.
    """
    fd = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ConfigError(f"{folder}: {refusal}") from error
        yield
    finally:
        os.close(fd)
