"""Content of a report, independent of the output format: figures, tables, values.

Any number of points is reduced to a limited number of marks: above the limit, points
are merged into the cells of a grid, and days into longer bins. So the number of marks
and the memory depend only on the limit.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from enum import StrEnum
from math import floor, log10
from typing import Final, NamedTuple, TypeAlias

from rdfcrawl.analysis.measures.ratio import MeasuredRatio

ReportCell: TypeAlias = str | int | float | MeasuredRatio | None
"""Value of a table cell; None is undefined, and written as `-`."""

ReportRow: TypeAlias = tuple[ReportCell, ...]

MAX_ROWS: Final = 200
"""Maximum number of rows of a table; omitted rows are counted."""


class AxisScale(StrEnum):
    """How an axis maps values to its length."""

    LINEAR = "linear"
    LOG = "log"
    DAY = "day"  # days since 1970
    SHARE = "share"  # from 0 to 1
    NAMES = "names"  # a place for each, counted from 0


class ChartKind(StrEnum):
    """How points are drawn."""

    DOTS = "dots"
    COLUMNS = "columns"


class ChartAxis(NamedTuple):
    """An axis of a chart.

    Attributes:
        names: labels of the places, for the scale `NAMES`.
    """

    label: str
    scale: AxisScale
    names: tuple[str, ...] = ()


class ChartPoint(NamedTuple):
    """One mark of a chart.

    Attributes:
        weight: size and shade of a dot; width of a column on the axis.
        n: number of items that the mark represents.
    """

    x: float
    y: float
    weight: float = 1
    n: int = 1


@dataclass(frozen=True, slots=True)
class ChartSeries:
    """Points that are drawn in one colour."""

    name: str
    points: tuple[ChartPoint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFigure:
    """A chart with its explanation.

    Attributes:
        key: identifier in files and links.
        sentence: explanation of the chart.
        weight_label: meaning of the size of dots, or of the width of columns.
        has_diagonal: draw the line of equal values.
        why_empty: reason for an empty chart.
    """

    key: str
    title: str
    sentence: str
    kind: ChartKind
    x: ChartAxis
    y: ChartAxis
    weight_label: str
    series: tuple[ChartSeries, ...]
    has_diagonal: bool = False
    why_empty: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether the chart has no points."""
        return not any(each.points for each in self.series)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTable:
    """A table with a heading for each column.

    Attributes:
        key: identifier in files and links.
        n_left_out: number of omitted rows.
        why_empty: reason for an empty table.
    """

    key: str
    title: str
    sentence: str
    columns: tuple[str, ...]
    rows: tuple[ReportRow, ...] = ()
    n_left_out: int = 0
    why_empty: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there are no rows."""
        return not self.rows


@dataclass(frozen=True, slots=True)
class ReportSection:
    """Figures and tables about one subject."""

    key: str
    title: str
    sentence: str
    items: tuple[ReportFigure | ReportTable, ...]


@dataclass(frozen=True, slots=True)
class CrawlReport:
    """A complete report.

    Attributes:
        title: with the name of the crawl.
        scope: sites and times that the report covers.
    """

    title: str
    scope: str
    sections: tuple[ReportSection, ...]

    @property
    def items(self) -> tuple[ReportFigure | ReportTable, ...]:
        """All figures and tables, in order."""
        return tuple(item for section in self.sections for item in section.items)


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


UNDEFINED: Final = "-"
_EPOCH: Final = date(1970, 1, 1)
_LAST_DAY: Final = (date.max - _EPOCH).days
# Not allowed in HTML, or affecting the order of adjacent text: lone surrogates,
# control characters, direction marks.
_UNSHOWN: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
    "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)


def shown(text: str) -> str:
    r"""Escape characters that cannot be shown.

    >>> shown("a\x00b"), shown("a\u202eb")
    ('a\\u0000b', 'a\\u202eb')
    """
    return _UNSHOWN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def escape(text: str) -> str:
    """Escape a text for HTML elements and attributes.

    >>> escape("<a href='x'>&")
    '&lt;a href=&#x27;x&#x27;&gt;&amp;'
    """
    return html.escape(shown(text))


def number(value: float | None) -> str:
    """Format a number: integers with separators, others with four digits.

    >>> number(1234567), number(0.123456), number(12345.6), number(None)
    ('1,234,567', '0.1235', '12,346', '-')
    """
    if value is None:
        return UNDEFINED
    if value == int(value):
        return f"{int(value):,}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def day_text(day: float) -> str:
    """Return the date of a day since 1970.

    >>> day_text(20_454)
    '2026-01-01'
    """
    clamped = min(max(int(day), -_EPOCH.toordinal() + 1), _LAST_DAY)
    return (_EPOCH + timedelta(days=clamped)).isoformat()
