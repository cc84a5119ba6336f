"""The clock of a crawl."""

from __future__ import annotations

import time
from typing import Final

# Runs while the machine sleeps, and cannot be set.
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class _ProcessTime:
    """Unix time of this process, from its start."""

    def __init__(self) -> None:
        self.began_ns = time.time_ns() - time.clock_gettime_ns(_CLOCK)


_time: Final = _ProcessTime()


def now_ms() -> int:
    """Return Unix time in milliseconds; it never decreases in this process.

    The latest version of a document counts, so setting the clock back must not make a
    new version older.
    """
    return (_time.began_ns + time.clock_gettime_ns(_CLOCK)) // 1_000_000


def advance_to(ms: int) -> None:
    """Advance the time of this process.

    Args:
        ms: Unix time in milliseconds; a time in the past changes nothing.
    """
    ahead_ms = ms - now_ms()
    if ahead_ms > 0:
        _time.began_ns += ahead_ms * 1_000_000
