"""Content of a report, independent of the output format: figures and tables."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
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
    rows: tuple[ReportRow, ...]
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
