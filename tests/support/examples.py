"""How many examples a property is tried with."""

from __future__ import annotations

from hypothesis import settings

_LEAST = 50


def examples(n: int) -> int:
    """Return how many of `n` examples a run has: all of a soak, else a third.

    The steady profile has the same ones in each run, and what they could show is shown.
    """
    return max(min(n, _LEAST), n // 3) if settings().derandomize else n
