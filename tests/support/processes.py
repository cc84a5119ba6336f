"""Facts of running processes, read from Linux."""

from __future__ import annotations

import ctypes
import signal
import sys
from pathlib import Path
from typing import Final

_LIBC: Final = ctypes.CDLL(None) if sys.platform == "linux" else None
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36


def end_with_parent() -> None:
    """Have the kernel end this process with its parent, for `preexec_fn`.

    A run of the tests that is killed ends nothing itself.
    """
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))


def adopt_orphans() -> None:
    """Have the kernel make this process the parent of orphaned descendants."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1)


def peak_bytes(pid: int) -> int:
    """Return the largest resident memory of a process so far; 0 if it is gone.

    The figure of `wait4` is no measure: it counts the memory of the parent.
    """
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    for line in status.splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def is_running(pid: int) -> bool:
    """Return whether a process exists and is no zombie."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def children(pid: int) -> list[int]:
    """Return the children of a process."""
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(word) for word in text.split()]


def descendants(pid: int) -> list[int]:
    """Return the children of a process, and theirs."""
    return [each for child in children(pid) for each in (child, *descendants(child))]
