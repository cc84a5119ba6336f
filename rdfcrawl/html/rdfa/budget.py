"""How much a page may make of itself by repeating what it says."""

from __future__ import annotations


class Overflow(Exception):
    """A page repeats itself more than is kept: reading ends there."""


class RdfaBudget:
    """Characters that may still be written.

    Elements within one another repeat their text, long prefixes and bases multiply
    with the words that use them, and so do predicates that hang with their objects.

    Attributes:
        n_left: not used up yet.
    """

    __slots__ = ("n_left",)

    def __init__(self, n_chars: int) -> None:
        self.n_left = n_chars

    def spend(self, n_chars: int) -> None:
        """Use some of it up.

        Raises:
            Overflow: it is not enough.
        """
        self.n_left -= n_chars
        if self.n_left < 0:
            raise Overflow
