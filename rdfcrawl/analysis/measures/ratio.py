"""A measure as numerator and denominator, and sums of measures."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields, replace
from math import fsum
from typing import Any, TypeVar

T = TypeVar("T", bound=Any)  # a dataclass


def add_fields(one: T, other: T) -> T:
    """Return a value whose fields are the sums of the fields of two values."""
    names = [each.name for each in fields(one)]
    return replace(one, **{x: getattr(one, x) + getattr(other, x) for x in names})


def add_to(total: Any, other: Any) -> None:
    """Add numbers and counters of a dataclass to those of another one."""
    for each in fields(total):
        value = getattr(total, each.name)
        if isinstance(value, Counter):
            value.update(getattr(other, each.name))
        elif isinstance(value, int | float):
            setattr(total, each.name, value + getattr(other, each.name))


@dataclass(frozen=True, slots=True)
class MeasuredRatio:
    """A quotient that keeps its numerator and denominator for the report.

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
    """Exact sum of floats, rounded only at the end, so the order does not matter.

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
        """The sum, equal to `math.fsum` of the added numbers."""
        return fsum(self._partials)
