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
    """Keep other writers of a folder away; the lock dies with the process.

    Args:
        folder: that is there.
        refusal: what is told, behind the folder, if another one writes.

    Raises:
        ConfigError: another one writes.
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
