"""The time of what happens in a crawl."""

from __future__ import annotations

import time
from typing import Final

# Counts while a machine sleeps, too, and is set by nobody.
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class _ProcessTime:
    """Unix time in this process, from when it began on."""

    def __init__(self) -> None:
        self.began_ns = time.time_ns() - time.clock_gettime_ns(_CLOCK)


_time: Final = _ProcessTime()


def now_ms() -> int:
    """Return Unix time in milliseconds; it never goes back in this process.

    Of several versions of a document the one with the latest time counts: a clock that
    is set back must not make an older one of it.
    """
    return (_time.began_ns + time.clock_gettime_ns(_CLOCK)) // 1_000_000


def begin_at(ms: int) -> None:
    """Let the time of this process go on from one that lies ahead.

    Args:
        ms: Unix time in milliseconds; one that is over changes nothing.
    """
    ahead_ms = ms - now_ms()
    if ahead_ms > 0:
        _time.began_ns += ahead_ms * 1_000_000
