"""Random numbers that are functions of a key: the same in every process."""

from __future__ import annotations

import math
from bisect import bisect_right
from hashlib import blake2b
from threading import Lock

DAY_SECS = 86_400.0
HOUR_SECS = 3600.0
NEVER = math.inf


def draw_uniform(*key: object) -> float:
    """Return a number of [0, 1) that depends on the key alone.

    >>> draw_uniform(1, "page", 2) == draw_uniform(1, "page", 2)
    True
    """
    text = "\x1f".join(map(str, key)).encode()
    digest = blake2b(text, digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> 11) * 2.0**-53


def draw_exponential(mean: float, *key: object) -> float:
    """Return an exponentially distributed number that depends on the key alone."""
    return NEVER if mean == NEVER else -math.log1p(-draw_uniform(*key)) * mean


class PoissonProcess:
    """The times of events that occur at a constant rate.

    Args:
        per_day: mean number of events in a day; 0 for none.
        start: seconds; all events are later.
        key: of the random numbers.
    """

    __slots__ = ("_key", "_last", "_lock", "_mean", "_start", "_times")

    def __init__(
        self, per_day: float, *, start: float, key: tuple[object, ...]
    ) -> None:
        self._mean = DAY_SECS / per_day if per_day else NEVER
        self._start = self._last = start
        self._key = key
        self._times: list[float] = []
        self._lock = Lock()

    def times(self, until: float) -> list[float]:
        """Return the times of all events up to and at a time, in order."""
        return self._times[: self.count(until)]

    def count(self, until: float) -> int:
        """Return the number of events up to and at a time."""
        with self._lock:
            while self._last <= until:
                n = len(self._times)
                gap = draw_exponential(self._mean, *self._key, n)
                self._last += gap
                self._times.append(self._last)
            return bisect_right(self._times, until)

    def time_of(self, n: int) -> float:
        """Return the time of event `n`, which has been counted."""
        return self._times[n]

    def last(self, until: float) -> float:
        """Return the time of the latest event up to a time, or the start."""
        n = self.count(until)
        return self._times[n - 1] if n else self._start
