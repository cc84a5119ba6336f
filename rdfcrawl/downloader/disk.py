"""Free space on the disks that a worker writes to."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from rdfcrawl.core.messages import counted

_PROBE: Final = bytes(4096)


class WorkerDisk:
    """The folders that a worker writes to, perhaps on several disks.

    The minimum of free bytes applies to each disk; 0 disables the check.
    """

    def __init__(
        self, folders: Iterable[Path] = (), *, min_free_bytes: int = 0
    ) -> None:
        self._folders = tuple(folders)
        self._min_free_bytes = min_free_bytes

    def lack(self) -> str:
        """Return which disk has too little space; empty if none."""
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
        """Return which folder is not writable; empty if all are."""
        for folder in self._folders:
            path = folder / f".probe-{os.getpid()}"
            try:
                with path.open("wb") as file:
                    file.write(_PROBE)
                    file.flush()
                    os.fsync(file.fileno())
            except FileNotFoundError:
                continue  # removed: waiting does not help
            except OSError as error:
                return f"{folder}: {error.strerror}"
            finally:
                with suppress(OSError):
                    path.unlink(missing_ok=True)
        return ""

    def has_room(self, folder: Path, n_bytes: int) -> bool:
        """Return whether a folder has room for `n_bytes`."""
        n_free = _free_bytes(folder)
        return n_free is None or n_free - n_bytes >= self._min_free_bytes

    def would_fit(self, folder: Path, n_bytes: int) -> bool:
        """Return whether `n_bytes` would fit on an empty disk."""
        try:
            facts = os.statvfs(folder)
        except OSError:
            return True
        return n_bytes <= facts.f_blocks * facts.f_frsize - self._min_free_bytes


def _free_bytes(folder: Path) -> int | None:
    try:
        facts = os.statvfs(folder)
    except OSError:  # perhaps removed: writing to it reports the error
        return None
    return facts.f_bavail * facts.f_frsize
