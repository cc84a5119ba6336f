"""Content of a report, independent of the output format: figures, tables, values.

Any number of points is reduced to a limited number of marks: above the limit, points
are merged into the cells of a grid, and days into longer bins. So the number of marks
and the memory depend only on the limit.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from enum import StrEnum
from math import floor, log10
from typing import Final, NamedTuple, TypeAlias

from rdfcrawl.analysis.measures.ratio import MeasuredRatio
from rdfcrawl.core.messages import clipped

ReportCell: TypeAlias = str | int | float | MeasuredRatio | None
"""Value of a table cell; None is undefined, and written as `-`."""

ReportRow: TypeAlias = tuple[ReportCell, ...]

MAX_ROWS: Final = 200
"""Maximum number of rows of a table; omitted rows are counted."""
MAX_DOTS: Final = 1000  # drawn individually
MAX_BINS: Final = 60  # of days, along one axis
_CELLS: Final = 40  # along an axis from 0 to 1
_DECADE_CELLS: Final = 10
_BIN_DAYS: Final = (1, 7, 30, 91, 365, 3652)
_ZERO_CELL: Final = -1_000_000  # of a logarithmic axis
MAX_TEXT_CHARS: Final = 200  # of text from the web
UNDEFINED: Final = "-"


class AxisScale(StrEnum):
    """How an axis maps values to its length."""

    LINEAR = "linear"
    LOG = "log"
    DAY = "day"  # days since 1970
    SHARE = "share"  # from 0 to 1
    LOG_SHARE = "log-share"  # logarithmic, up to 1
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
        name: of the item, if it is a single one.
    """

    x: float
    y: float
    weight: float = 1
    n: int = 1
    name: str = ""


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
        iter_all: reads all rows, if `rows` are only the first ones.
    """

    key: str
    title: str
    sentence: str
    columns: tuple[str, ...]
    rows: tuple[ReportRow, ...] = ()
    n_left_out: int = 0
    why_empty: str = ""
    iter_all: Callable[[], Iterable[ReportRow]] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there are no rows."""
        return not self.rows

    @property
    def all_rows(self) -> Iterable[ReportRow]:
        """All known rows, which may be many."""
        return self.rows if self.iter_all is None else self.iter_all()


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


@dataclass(slots=True)
class PointCloud:
    """Points of a scatter plot, in order of insertion, or merged into cells.

    Memory: `MAX_DOTS` points, and one entry for each cell that is not empty: at most
    410 for each power of ten of a logarithmic x, or 100 if both are logarithmic.

    Args:
        x: scale of x, `SHARE` or `LOG`.
        y: scale of y, `SHARE` or `LOG_SHARE`.
    """

    x: AxisScale
    y: AxisScale = AxisScale.SHARE
    n_points: int = 0
    _points: list[ChartPoint] = field(default_factory=list)
    _n: Counter[tuple[int, int]] = field(default_factory=Counter)
    _weights: Counter[tuple[int, int]] = field(default_factory=Counter)

    def add(self, x: float, y: float, weight: int, name: str = "") -> None:
        """Add a point; on a logarithmic axis, points with x = 0 are ignored."""
        if self.x is AxisScale.LOG and x <= 0:
            return
        self.n_points += 1
        if self.n_points <= MAX_DOTS:
            self._points.append(ChartPoint(x, y, weight, 1, name))
        cell = _cell(self.x, x), _cell(self.y, y)
        self._n[cell] += 1
        self._weights[cell] += weight

    def marks(self) -> tuple[ChartPoint, ...]:
        """Return the points, or the centres of cells if there are too many."""
        if self.n_points <= MAX_DOTS:
            return tuple(self._points)
        return tuple(
            ChartPoint(
                _middle(self.x, column), _middle(self.y, row), self._weights[cell], n
            )
            for cell, n in sorted(self._n.items())
            for column, row in (cell,)
        )


def _cell(scale: AxisScale, value: float) -> int:
    """Return the cell of a value; the values 0 and 1 have separate cells."""
    if scale is AxisScale.SHARE:
        return floor(value * _CELLS)
    return floor(log10(value) * _DECADE_CELLS) if value > 0 else _ZERO_CELL


def _middle(scale: AxisScale, cell: int) -> float:
    """Return the centre of a cell; a share is at most 1."""
    if scale is AxisScale.SHARE:
        return min((cell + 0.5) / _CELLS, 1.0)
    if cell == _ZERO_CELL:
        return 0.0
    found = float(10 ** ((cell + 0.5) / _DECADE_CELLS))
    return found if scale is AxisScale.LOG else min(found, 1.0)


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


def shorten(text: str) -> str:
    """Truncate a text to `MAX_TEXT_CHARS`.

    >>> shorten("a" * 300)[-3:]
    'aa…'
    """
    return clipped(text, MAX_TEXT_CHARS)


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
    if text.isprintable():  # much faster
        return text
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


def axis_value(axis: ChartAxis, value: float) -> float | str:
    """Return a value of an axis as it is read: days as dates, places as names."""
    if axis.scale is AxisScale.DAY:
        return day_text(value)
    return axis.names[int(value)] if axis.scale is AxisScale.NAMES else value


def time_text(time_ms: int) -> str:
    """Return a Unix time as date and time of day, in UTC.

    >>> time_text(1_768_867_203_500)
    '2026-01-20T00:00:03Z'
    """
    day, secs = divmod(time_ms // 1000, 86_400)
    minutes = secs // 60
    return f"{day_text(day)}T{minutes // 60:02}:{minutes % 60:02}:{secs % 60:02}Z"


def day_text(day: float) -> str:
    """Return the date of a day since 1970.

    >>> day_text(20_454)
    '2026-01-01'
    """
    clamped = min(max(int(day), -_EPOCH.toordinal() + 1), _LAST_DAY)
    return (_EPOCH + timedelta(days=clamped)).isoformat()
