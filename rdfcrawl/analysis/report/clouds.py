"""Reduce any number of points to a limited number of marks.

Above the limit, points are merged into the cells of a grid, and days into longer bins.
So the number of marks and the memory depend only on the limit.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import floor, log10
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.report.content import AxisScale, ChartPoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAX_DOTS: Final = 1000  # drawn individually
MAX_BINS: Final = 60  # of days, along one axis
_CELLS: Final = 40  # along an axis from 0 to 1
_DECADE_CELLS: Final = 10
_BIN_DAYS: Final = (1, 7, 30, 91, 365, 3652)


@dataclass(slots=True)
class PointCloud:
    """Points of a scatter plot, in order of insertion, or merged into cells.

    Memory: `MAX_DOTS` points, and one entry for each cell that is not empty: at most
    410 for each power of ten of a logarithmic axis.

    Args:
        x: scale of x, `SHARE` or `LOG`; y is a share.
    """

    x: AxisScale
    n_points: int = 0
    _points: list[ChartPoint] = field(default_factory=list)
    _n: Counter[tuple[int, int]] = field(default_factory=Counter)
    _weights: Counter[tuple[int, int]] = field(default_factory=Counter)

    def add(self, x: float, y: float, weight: int) -> None:
        """Add a point; on a logarithmic axis, points with x = 0 are ignored."""
        if self.x is AxisScale.LOG and x <= 0:
            return
        self.n_points += 1
        if self.n_points <= MAX_DOTS:
            self._points.append(ChartPoint(x, y, weight))
        cell = self._column(x), floor(y * _CELLS)
        self._n[cell] += 1
        self._weights[cell] += weight

    def _column(self, x: float) -> int:
        if self.x is AxisScale.LOG:
            return floor(log10(x) * _DECADE_CELLS)
        return floor(x * _CELLS)

    def marks(self) -> tuple[ChartPoint, ...]:
        """Return the points, or the centres of cells if there are too many."""
        if self.n_points <= MAX_DOTS:
            return tuple(self._points)
        return tuple(
            ChartPoint(self._middle(column), _middle(row), self._weights[cell], n)
            for cell, n in sorted(self._n.items())
            for column, row in (cell,)
        )

    def _middle(self, column: int) -> float:
        if self.x is AxisScale.LOG:
            return float(10 ** ((column + 0.5) / _DECADE_CELLS))
        return _middle(column)


def _middle(cell: int) -> float:
    """Return the centre of a cell of shares; the value 1 has a separate cell."""
    return min((cell + 0.5) / _CELLS, 1.0)


def days_of_bin(days: Iterable[int]) -> int:
    """Return the width of bins, in days, that keeps their number below the limit."""
    found = set(days)
    if not found:
        return 1
    least, most = min(found), max(found)
    for width in _BIN_DAYS:
        if most // width - least // width < MAX_BINS:
            return width
    return -(-(most - least + 1) // (MAX_BINS - 1))


def day_columns(counts: Mapping[int, int], width: int) -> tuple[ChartPoint, ...]:
    """Return a column for each bin that is not empty.

    Args:
        counts: by day.
        width: of a bin, in days.
    """
    bins: Counter[int] = Counter()
    for day, n in counts.items():
        bins[day // width] += n
    return tuple(
        ChartPoint(each * width, n, width, n) for each, n in sorted(bins.items())
    )


def day_dots(counts: Mapping[tuple[int, int], int]) -> tuple[ChartPoint, ...]:
    """Return a dot with its count for each pair of days, or of bins of days."""
    width = days_of_bin(day for pair in counts for day in pair)
    dots: Counter[tuple[int, int]] = Counter()
    for (x, y), n in counts.items():
        dots[x // width, y // width] += n
    middle = (width - 1) / 2
    return tuple(
        ChartPoint(x * width + middle, y * width + middle, n, n)
        for (x, y), n in sorted(dots.items())
    )
