"""Free space on the disks that a worker writes to."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from rdfcrawl.core.counting import counted

_PROBE: Final = bytes(4096)


class WorkerDisk:
    """The folders that a worker writes to, perhaps on several disks.

    So many bytes are to be left free on each disk; 0 checks nothing.
    """

    def __init__(
        self, folders: Iterable[Path] = (), *, min_free_bytes: int = 0
    ) -> None:
        self._folders = tuple(folders)
        self._min_free_bytes = min_free_bytes

    def lack(self) -> str:
        """Return where there is too little space; empty if nowhere."""
        if not self._min_free_bytes:
            return ""
        for folder in self._folders:
            n_free = _free_bytes(folder)
            if n_free is not None and n_free < self._min_free_bytes:
                least = self._min_free_bytes
                free = counted(n_free, "byte")
                return f"{folder} has {free}, DISK_MIN_FREE_BYTES is {least:,}"
        return ""

    def refusal(self) -> str:
        """Return which folder cannot be written to; empty if none."""
        for folder in self._folders:
            path = folder / f".probe-{os.getpid()}"
            try:
                with path.open("wb") as file:
                    file.write(_PROBE)
                    file.flush()
                    os.fsync(file.fileno())
            except FileNotFoundError:
                continue  # it is gone, which waiting does not mend
            except OSError as error:
                return f"{folder}: {error.strerror}"
            finally:
                with suppress(OSError):
                    path.unlink(missing_ok=True)
        return ""

    def has_room(self, folder: Path, n_bytes: int) -> bool:
        """Return whether so many bytes may be written to a folder."""
        n_free = _free_bytes(folder)
        return n_free is None or n_free - n_bytes >= self._min_free_bytes

    def could_have_room(self, folder: Path, n_bytes: int) -> bool:
        """Return whether so many bytes would fit if the disk had nothing else."""
        try:
            facts = os.statvfs(folder)
        except OSError:
            return True
        return n_bytes <= facts.f_blocks * facts.f_frsize - self._min_free_bytes


def _free_bytes(folder: Path) -> int | None:
    try:
        facts = os.statvfs(folder)
    except OSError:  # it may be gone; whoever writes to it will say so
        return None
    return facts.f_bavail * facts.f_frsize
