"""Output limit for RDFa, which can multiply its input."""

from __future__ import annotations


class OutputOverflow(Exception):
    """The output limit is reached: reading ends."""


class RdfaBudget:
    """Characters that may still be written (`n_left`).

    Nested elements repeat their text, long prefixes and bases multiply with the
    words that use them, and so do waiting predicates with their objects.
    """

    __slots__ = ("n_left",)

    def __init__(self, n_chars: int) -> None:
        self.n_left = n_chars

    def spend(self, n_chars: int) -> None:
        """Reduce the budget.

        Raises:
            Overflow: the budget is spent.
        """
        self.n_left -= n_chars
        if self.n_left < 0:
            raise OutputOverflow
