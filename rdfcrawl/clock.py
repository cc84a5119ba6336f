"""The time of what happens in a crawl."""

from __future__ import annotations

import time
from typing import Final

# Counts while a machine sleeps, too, and is set by nobody.
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_BEGAN_NS: Final = time.time_ns() - time.clock_gettime_ns(_CLOCK)


def now_ms() -> int:
    """Return Unix time in milliseconds; it never goes back in this process.

    Of several versions of a document the one with the latest time counts: a clock that
    is set back must not make an older one of it.
    """
    return (_BEGAN_NS + time.clock_gettime_ns(_CLOCK)) // 1_000_000
