"""How many examples a property is tried with."""

from __future__ import annotations

from hypothesis import settings

_LEAST = 30


def examples(n: int) -> int:
    """Return how many of `n` examples a run has: all of a soak, else a tenth.

    The steady profile has the same ones in each run, and prints the failures.
    """
    return max(min(n, _LEAST), n // 10) if settings().derandomize else n


def few(n: int) -> int:
    """Return how many examples a run has that are dear: all of `20 * n` in a soak."""
    return n if settings().derandomize else 20 * n
