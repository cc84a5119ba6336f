"""Content of a report, whatever it is written as: sections of figures and tables."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from rdfcrawl.analysis.measures.ratio import MeasuredRatio

ReportCell: TypeAlias = str | int | float | MeasuredRatio | None
"""Value of a table; None is undefined, and shown as `-`."""

ReportRow: TypeAlias = tuple[ReportCell, ...]

MAX_ROWS: Final = 200
"""Rows of a table; what is left out is counted."""


class AxisScale(StrEnum):
    """How the values of an axis are spread over its length."""

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
        names: of the places of scale `NAMES`.
    """

    label: str
    scale: AxisScale
    names: tuple[str, ...] = ()


class ChartPoint(NamedTuple):
    """One mark of a chart.

    Attributes:
        weight: that size and shade of a dot show; of a column, its width on the axis.
        n: how many things the mark stands for.
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
    """A chart that is understood by itself.

    Attributes:
        key: names it in files and links.
        sentence: what is seen, and how to read it.
        weight_label: what the size of dots, or the width of columns, means.
        has_diagonal: the line of equal values is drawn.
        why_empty: says why nothing may be there to draw.
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
        """Whether there is nothing to draw."""
        return not any(each.points for each in self.series)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTable:
    """A table with a heading for each column.

    Attributes:
        key: names it in files and links.
        n_left_out: rows that are not shown.
        why_empty: says why there may be no rows.
    """

    key: str
    title: str
    sentence: str
    columns: tuple[str, ...]
    rows: tuple[ReportRow, ...]
    n_left_out: int = 0
    why_empty: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there are no rows."""
        return not self.rows


@dataclass(frozen=True, slots=True)
class ReportSection:
    """Figures and tables about one thing."""

    key: str
    title: str
    sentence: str
    items: tuple[ReportFigure | ReportTable, ...]


@dataclass(frozen=True, slots=True)
class CrawlReport:
    """A report as a whole.

    Attributes:
        title: with the name of the crawl.
        scope: which sites and times are reported.
    """

    title: str
    scope: str
    sections: tuple[ReportSection, ...]

    @property
    def items(self) -> tuple[ReportFigure | ReportTable, ...]:
        """All figures and tables, in order."""
        return tuple(item for section in self.sections for item in section.items)
