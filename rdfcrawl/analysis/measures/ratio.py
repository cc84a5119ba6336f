"""A measure as numerator and denominator, and exact sums of floats."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum


@dataclass(frozen=True, slots=True)
class MeasuredRatio:
    """A quotient of two figures, both of which a report shows.

    >>> MeasuredRatio(1, 4).value, MeasuredRatio(0, 0).value
    (0.25, None)
    """

    numerator: float
    denominator: float

    @property
    def value(self) -> float | None:
        """The quotient; None if the denominator is 0: the measure is undefined."""
        return self.numerator / self.denominator if self.denominator else None


class ExactSum:
    """Sum of floats without rounding but for the last: equal in any order.

    Source: J. R. Shewchuk, "Adaptive Precision Floating-Point Arithmetic and Fast
    Robust Geometric Predicates" (1997): partial sums that do not overlap.
    """

    __slots__ = ("_partials",)

    def __init__(self) -> None:
        self._partials: list[float] = []

    def add(self, value: float) -> None:
        """Add a finite number."""
        kept = 0
        for partial in self._partials:
            large, small = (
                (partial, value) if abs(value) < abs(partial) else (value, partial)
            )
            value = large + small
            lost = small - (value - large)
            if lost:
                self._partials[kept] = lost
                kept += 1
        self._partials[kept:] = [value]

    @property
    def value(self) -> float:
        """The sum, as `math.fsum` of all that was added."""
        return fsum(self._partials)
