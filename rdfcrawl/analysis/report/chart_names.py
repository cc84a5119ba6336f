"""Places for the names of dots, so that no name overlaps another one.

A name is next to its dot if there is room, else further away, with a line to the dot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import cos, hypot, inf, pi, sin
from operator import attrgetter
from typing import Final, NamedTuple
from unicodedata import east_asian_width

MAX_NAMES: Final = 24  # of the largest dots
_MAX_CHARS: Final = 24
# Units of a chart, for the largest letters in the style of the page.
_CHAR_WIDTH: Final = 8.8
_HEIGHT: Final = 16
_WIDE: Final = frozenset("mwMW@%")
_GAP: Final = 2
_FAR: Final = 9
_DIRECTIONS: Final = 16
_STEP: Final = 8  # between places that are not next to the dot
# A name moves away by as many units rather than cover a dot, or cross a line.
_DOT_COST: Final = 25
_LINE_COST: Final = 60


class ChartBox(NamedTuple):
    """A rectangle; y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def holds(self, other: ChartBox) -> bool:
        """Return whether another box lies within this one."""
        return (
            self.left <= other.left
            and other.right <= self.right
            and self.top <= other.top
            and other.bottom <= self.bottom
        )


class NamedDot(NamedTuple):
    """A dot at a place; without a name it only takes space."""

    x: float
    y: float
    radius: float
    name: str = ""

    @property
    def box(self) -> ChartBox:
        """The square around the dot."""
        x, y, r = self.x, self.y, self.radius
        return ChartBox(x - r, y - r, x + r, y + r)


class PlacedName(NamedTuple):
    """A name with the place of its base line.

    Attributes:
        anchor: the end of the text at the place, as in SVG.
        box: that the name occupies.
    """

    text: str
    x: float
    y: float
    anchor: str
    box: ChartBox
    dot: NamedDot

    @property
    def end(self) -> tuple[float, float]:
        """The point of the box that is nearest to the dot."""
        left, top, right, bottom = self.box
        x, y = self.dot.x, self.dot.y
        return min(max(x, left), right), min(max(y, top), bottom)

    @property
    def distance(self) -> float:
        """The distance of the box from the dot."""
        x, y = self.end
        return hypot(x - self.dot.x, y - self.dot.y) - self.dot.radius

    @property
    def is_far(self) -> bool:
        """Whether a line connects the name with the dot."""
        return self.distance > _FAR

    def line(self) -> Iterator[ChartBox]:
        """Yield small boxes along the line to the dot, without its ends."""
        (x, y), dot = self.end, self.dot
        n = int(self.distance / _FAR) if self.is_far else 0
        for step in range(1, n + 1):
            share = step / (n + 1)
            x_at, y_at = dot.x + (x - dot.x) * share, dot.y + (y - dot.y) * share
            yield ChartBox(x_at - 1, y_at - 1, x_at + 1, y_at + 1)


def place_names(dots: Sequence[NamedDot], within: ChartBox) -> list[PlacedName]:
    """Return names of the largest dots that do not overlap each other.

    Of up to `MAX_NAMES` dots, all have a name if there is any room. Of more, those
    have one that have room next to them.

    Args:
        dots: the largest first.
        within: the box that contains all names.
    """
    named = [each for each in dots if each.name]
    is_anywhere = len(named) <= MAX_NAMES
    boxes = [each.box for each in dots]
    placed: list[PlacedName] = []
    lines: list[ChartBox] = []
    for dot in named[:MAX_NAMES]:
        taken = [each.box for each in placed]
        places = _places(dot, within if is_anywhere else None)
        free = (x for x in places if within.holds(x.box))
        best = _best(free, boxes, taken, lines)
        if best is not None:
            placed.append(best)
            lines += best.line()
    return placed


def _best(
    places: Iterable[PlacedName],
    dots: Sequence[ChartBox],
    names: Sequence[ChartBox],
    lines: Sequence[ChartBox],
) -> PlacedName | None:
    """Return the nearest place without a name, and with few dots and lines."""
    best, least = None, inf
    for place in sorted(places, key=attrgetter("distance")):
        cost = place.distance
        if cost >= least:
            break
        if _n_overlaps(place.box, names):
            continue
        for part in _costs(place, dots, names, lines):
            cost += part
            if cost >= least:
                break
        else:
            best, least = place, cost
    return best


def _costs(
    place: PlacedName,
    dots: Sequence[ChartBox],
    names: Sequence[ChartBox],
    lines: Sequence[ChartBox],
) -> Iterator[int]:
    """Yield the parts of the cost of a place, those of least work first."""
    yield _DOT_COST * _n_overlaps(place.box, dots)
    for part in place.line():  # it begins in the crowd
        yield _LINE_COST * _n_overlaps(part, names)
    yield _LINE_COST * _n_overlaps(place.box, lines)


def _n_overlaps(box: ChartBox, others: Iterable[ChartBox]) -> int:
    """Return how many boxes have a common area with a box."""
    left, top, right, bottom = box
    return sum(
        left < other_right
        and other_left < right
        and top < other_bottom
        and other_top < bottom
        for other_left, other_top, other_right, other_bottom in others
    )


def _places(dot: NamedDot, anywhere: ChartBox | None) -> Iterator[PlacedName]:
    """Yield places for the name of a dot: next to it, then all over a box, if any."""
    name = dot.name
    text = name if len(name) <= _MAX_CHARS else name[: _MAX_CHARS - 1] + "…"
    width = _CHAR_WIDTH * sum(map(_share_of_width, text))
    distance = dot.radius + _GAP
    for step in range(_DIRECTIONS):
        angle = 2 * pi * step / _DIRECTIONS
        across, down = cos(angle), -sin(angle)
        side = (across > 0.3) - (across < -0.3)
        left = dot.x + across * distance - width * (1 - side) / 2
        top = dot.y + down * (distance + _HEIGHT / 2) - _HEIGHT / 2
        yield _placed(dot, text, left, top, width)
    if anywhere is not None:
        for top in range(int(anywhere.top), int(anywhere.bottom), _STEP):
            for left in range(int(anywhere.left), int(anywhere.right), _STEP):
                yield _placed(dot, text, left, top, width)


def _placed(
    dot: NamedDot, text: str, left: float, top: float, width: float
) -> PlacedName:
    """Return a name in a box, at the end that is nearer to the dot."""
    box = ChartBox(left, top, left + width, top + _HEIGHT)
    x, anchor = left + width / 2, "middle"
    if box.left >= dot.x:
        x, anchor = box.left, "start"
    elif box.right <= dot.x:
        x, anchor = box.right, "end"
    return PlacedName(text, x, top + _HEIGHT / 2 + 4, anchor, box, dot)


def _share_of_width(char: str) -> float:
    if east_asian_width(char) in "WF":
        return 2
    return 1.5 if char in _WIDE else 1
