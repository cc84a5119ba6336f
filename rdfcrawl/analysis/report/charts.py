"""Charts as inline SVG for HTML; the page's CSS variables set the colours.

A chart is a box of 480 by 320 units. It needs no script, font or file, and its texts
can be searched and copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from math import ceil, floor, log10, sqrt
from typing import Final, NamedTuple

from rdfcrawl.analysis.report.chart_names import ChartBox, NamedDot, place_names
from rdfcrawl.analysis.report.content import (
    AxisScale,
    ChartAxis,
    ChartKind,
    ChartPoint,
    ReportFigure,
    axis_value,
    day_text,
    escape,
    number,
)

_MOST_TICKS: Final = 6
_DAY_TICKS: Final = 4
_NICE: Final = (1, 2, 2.5, 5, 10)
_SHARES: Final = (0, 0.25, 0.5, 0.75, 1)
_LOGARITHMIC: Final = frozenset({AxisScale.LOG, AxisScale.LOG_SHARE})
_WIDTH: Final = 480
_HEIGHT: Final = 320
_LEFT: Final = 100
_RIGHT: Final = 440
_TOP: Final = 28
_BOTTOM: Final = 266
_LEAST_RADIUS: Final = 3
_MOST_RADIUS: Final = 13
_COLUMN_SHARE: Final = 0.86  # of the width of a bin that is filled
_LEGEND_STEP: Final = 150


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
        has_zero: the start of a logarithmic axis stands for 0.
    """

    axis: ChartAxis
    least: float
    most: float
    has_zero: bool = False

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
            case AxisScale.LOG_SHARE:
                logs = [floor(log10(value)) for value in found if value > 0]
                has_zero = min(found) <= 0
                return cls(axis, min([-1, *logs]) - has_zero, 0, has_zero)
            case AxisScale.DAY:
                least = floor(min(found))
                return cls(axis, least, max(*found, least + 1))
            case AxisScale.LINEAR:
                step = _step(max(found))
                return cls(axis, 0, step * max(ceil(max(found) / step), 1))

    def place(self, value: float) -> float:
        """Return the place of a value."""
        if self.axis.scale in _LOGARITHMIC:
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
            elif self.axis.scale in _LOGARITHMIC:
                is_zero = self.has_zero and value == self.least
                label = "0" if is_zero else number(10**value)
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
            case AxisScale.LOG_SHARE:
                exponents = range(0, floor(self.least) + self.has_zero - 1, -1)
                yield from exponents[:: -(-len(exponents) // _MOST_TICKS)]
                yield from [self.least] * self.has_zero
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


class _Scales(NamedTuple):
    """Map values to coordinates in the box.

    Attributes:
        margin: distance of the extreme values from the ends of the axes.
    """

    x: ChartScale
    y: ChartScale
    margin: float

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the coordinates of a point."""
        return self.across(self.x.place(x)), self.up(self.y.place(y))

    def across(self, place: float) -> float:
        """Map a place from 0 to 1 to the horizontal axis."""
        return _LEFT + self.margin + place * (_RIGHT - _LEFT - 2 * self.margin)

    def up(self, place: float) -> float:
        """Map a place from 0 to 1 to the vertical axis."""
        return _BOTTOM - self.margin - place * (_BOTTOM - _TOP - 2 * self.margin)


def draw_chart(figure: ReportFigure) -> str:
    """Return a figure as an `svg` element with title and description."""
    key = escape(figure.key)
    return "".join(
        (
            (
                f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
                f' aria-labelledby="{key}-title" aria-describedby="{key}-desc">'
            ),
            f'<title id="{key}-title">{escape(figure.title)}</title>',
            f'<desc id="{key}-desc">{escape(figure.sentence)}</desc>',
            *_body(figure),
            "</svg>",
        )
    )


def _body(figure: ReportFigure) -> Iterator[str]:
    scales = _scales(figure)
    yield from _axes(figure, scales)
    if figure.is_empty:
        yield _words((_LEFT + _RIGHT) / 2, (_TOP + _BOTTOM) / 2, "nothing to show yet")
        return
    if figure.has_diagonal:
        ends = [(scales.across(place), scales.up(place)) for place in (0, 1)]
        yield _line("diagonal", *ends[0], *ends[1])
    if figure.kind is ChartKind.DOTS:
        yield from _dots(figure, scales)
    else:
        yield from _columns(figure, scales)
    if len(figure.series) > 1:
        yield from _legend(figure)


def _scales(figure: ReportFigure) -> _Scales:
    points = [point for each in figure.series for point in each.points]
    xs = [point.x for point in points]
    ys = [point.y for point in points]
    if figure.kind is ChartKind.COLUMNS:
        xs += [point.x + point.weight for point in points]
    elif figure.has_diagonal:  # both axes share one scale
        xs = ys = [*xs, *ys]
    # Keeps dots off the labels of the axes.
    margin = _MOST_RADIUS + 1 if figure.kind is ChartKind.DOTS else 0
    return _Scales(ChartScale.of(figure.x, xs), ChartScale.of(figure.y, ys), margin)


def _axes(figure: ReportFigure, scales: _Scales) -> Iterator[str]:
    for tick in () if figure.is_empty else scales.y.ticks():
        y = scales.up(tick.place)
        yield _line("grid", _LEFT, y, _RIGHT, y)
        yield _words(_LEFT - 6, y + 4, tick.label, "end", "tick y")
    for tick in () if figure.is_empty else scales.x.ticks():
        x = scales.across(tick.place)
        if figure.x.scale is not AxisScale.NAMES:
            yield _line("grid", x, _TOP, x, _BOTTOM)
        yield _words(x, _BOTTOM + 17, tick.label)
    yield _line("axis", _LEFT, _BOTTOM, _RIGHT, _BOTTOM)
    yield _line("axis", _LEFT, _TOP, _LEFT, _BOTTOM)
    yield _words((_LEFT + _RIGHT) / 2, _BOTTOM + 40, figure.x.label, kind="label")
    middle = (_TOP + _BOTTOM) / 2
    yield (
        f'<text class="label" text-anchor="middle"'
        f' transform="translate(10 {middle:g}) rotate(-90)">'
        f"{escape(figure.y.label)}</text>"
    )


def _dots(figure: ReportFigure, scales: _Scales) -> Iterator[str]:
    """Yield the dots, the largest first, so that no dot hides another, and names."""
    points = list(chain.from_iterable(each.points for each in figure.series))
    most = max(point.weight for point in points)
    dots = []
    for point in sorted(points, key=lambda each: -each.weight):
        x, y = scales.at(point.x, point.y)
        share = sqrt(point.weight / most) if most else 0
        radius = _LEAST_RADIUS + share * (_MOST_RADIUS - _LEAST_RADIUS)
        dots.append(NamedDot(x, y, radius, point.name))
        yield (
            f'<circle class="s0" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"'
            f' fill-opacity="{0.35 + 0.5 * share:.2f}">'
            f"<title>{escape(_mark_text(figure, point))}</title></circle>"
        )
    for each in place_names(dots, ChartBox(_LEFT, _TOP - 20, _WIDTH, _BOTTOM)):
        if each.is_far:
            yield _line("leader", each.dot.x, each.dot.y, *each.end)
        yield _words(each.x, each.y, each.text, each.anchor, "name")


def _columns(figure: ReportFigure, scales: _Scales) -> Iterator[str]:
    """Yield the columns of all series, side by side within each bin."""
    n_series = len(figure.series)
    for place, series in enumerate(figure.series):
        for point in series.points:
            begin, top = scales.at(point.x, point.y)
            end, _ = scales.at(point.x + point.weight, point.y)
            width = (end - begin) * _COLUMN_SHARE / n_series
            left = begin + (end - begin) * (1 - _COLUMN_SHARE) / 2 + place * width
            yield (
                f'<rect class="s{place}" x="{left:.1f}" y="{top:.1f}"'
                f' width="{max(width, 0.5):.1f}" height="{_BOTTOM - top:.1f}">'
                f"<title>{escape(f'{series.name}: {_mark_text(figure, point)}')}"
                "</title>"
                "</rect>"
            )


def _mark_text(figure: ReportFigure, point: ChartPoint) -> str:
    """Return the values of a mark as text."""
    text = f"{_value(figure.x, point.x)}, {_value(figure.y, point.y)}"
    if point.name:
        text = f"{point.name}: {text}"
    if figure.kind is ChartKind.COLUMNS:
        return text
    if point.n > 1 and point.n != point.weight:
        text += f", {number(point.n)} sites"
    label = figure.weight_label
    if point.weight == 1:
        label = label.replace("URLs", "URL")
    return f"{text}, {number(point.weight)} {label}"


def _value(axis: ChartAxis, value: float) -> str:
    found = axis_value(axis, value)
    return found if isinstance(found, str) else number(found)


def _legend(figure: ReportFigure) -> Iterator[str]:
    for place, series in enumerate(figure.series):
        x = _LEFT + place * _LEGEND_STEP
        yield f'<rect class="s{place}" x="{x}" y="8" width="10" height="10"></rect>'
        yield _words(x + 15, 17, series.name, "start")


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return (
        f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}"'
        f' x2="{x2:.1f}" y2="{y2:.1f}"></line>'
    )


def _words(
    x: float, y: float, text: str, anchor: str = "middle", kind: str = "tick"
) -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
        f"{escape(text)}</text>"
    )
