"""Scales of charts: map values to places on an axis, and choose its ticks."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.analysis.report.content import AxisScale, ChartAxis
from rdfcrawl.analysis.report.text import day_text, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MOST_TICKS: Final = 6
_DAY_TICKS: Final = 4
_NICE: Final = (1, 2, 2.5, 5, 10)
_SHARES: Final = (0, 0.25, 0.5, 0.75, 1)


class AxisTick(NamedTuple):
    """A mark of an axis: its place from 0 to 1, and its label."""

    place: float
    label: str


@dataclass(frozen=True, slots=True)
class ChartScale:
    """Map the values of an axis to places from 0 to 1.

    Attributes:
        least: value at the start of the axis; its logarithm on a logarithmic axis.
        most: value at the end, likewise.
    """

    axis: ChartAxis
    least: float
    most: float

    @classmethod
    def of(cls, axis: ChartAxis, values: Iterable[float]) -> ChartScale:
        """Return a scale that covers some values."""
        found = list(values) or [0.0]
        match axis.scale:
            case AxisScale.SHARE:
                return cls(axis, 0, 1)
            case AxisScale.NAMES:
                return cls(axis, 0, len(axis.names) or 1)
            case AxisScale.LOG:
                logs = [log10(value) for value in found if value > 0] or [0.0]
                least = floor(min(logs))
                return cls(axis, least, max(*map(ceil, logs), least + 1))
            case AxisScale.DAY:
                least = floor(min(found))
                return cls(axis, least, max(*found, least + 1))
            case AxisScale.LINEAR:
                step = _step(max(found))
                return cls(axis, 0, step * max(ceil(max(found) / step), 1))

    def place(self, value: float) -> float:
        """Return the place of a value."""
        if self.axis.scale is AxisScale.LOG:
            value = log10(value) if value > 0 else self.least
        return (value - self.least) / (self.most - self.least)

    def ticks(self) -> Iterator[AxisTick]:
        """Yield the ticks of the axis."""
        for value in self._tick_values():
            label = number(value)
            place = (value - self.least) / (self.most - self.least)
            if self.axis.scale is AxisScale.NAMES:
                label = self.axis.names[int(value)]
                place = (value + 0.5) / self.most
            elif self.axis.scale is AxisScale.DAY:
                label = day_text(value)
            elif self.axis.scale is AxisScale.LOG:
                label = number(10**value)
            yield AxisTick(place, label)

    def _tick_values(self) -> Iterator[float]:
        match self.axis.scale:
            case AxisScale.SHARE:
                yield from _SHARES
            case AxisScale.NAMES:
                yield from range(len(self.axis.names))
            case AxisScale.LOG:
                exponents = range(floor(self.least), floor(self.most) + 1)
                yield from exponents[:: -(-len(exponents) // _MOST_TICKS)]
            case AxisScale.DAY:
                days = max(1, ceil((self.most - self.least) / _DAY_TICKS))
                yield from range(ceil(self.least), floor(self.most) + 1, days)
            case AxisScale.LINEAR:
                step = _step(self.most)
                yield from (step * n for n in range(round(self.most / step) + 1))


def _step(most: float) -> float:
    """Return a round distance between ticks from 0 to a value.

    >>> _step(10), _step(73), _step(0.4)
    (2.0, 20.0, 0.1)
    """
    if most <= 0:
        return 1
    rough = most / (_MOST_TICKS - 1)
    power = 10.0 ** floor(log10(rough))
    return next(nice * power for nice in _NICE if nice * power >= rough * (1 - 1e-9))
