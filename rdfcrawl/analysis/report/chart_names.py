"""Places for the names of dots, so that no name overlaps another one.

A name is next to its dot if there is room, else further away, with a line to the dot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import cos, hypot, inf, pi, sin
from operator import itemgetter
from typing import Final, NamedTuple
from unicodedata import east_asian_width

from rdfcrawl.core.messages import clipped

MAX_NAMES: Final = 24  # of the largest dots
_MAX_CHARS: Final = 24
# Units of a chart, for the largest letters in the style of the page.
_CHAR_WIDTH: Final = 8.8
_HEIGHT: Final = 16
_WIDE: Final = frozenset("mwMW@%")
_GAP: Final = 2
_FAR: Final = 9
_DIRECTIONS: Final = 16
_ACROSS, _DOWN = 24, 8  # between places that are not next to the dot
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
        return _nearest(self.dot, self.box)

    @property
    def is_far(self) -> bool:
        """Whether a line connects the name with the dot."""
        return _distance(self.dot, self.box) > _FAR


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
    boxes = list(dict.fromkeys(each.box for each in dots))
    placed: list[PlacedName] = []
    taken: list[ChartBox] = []
    lines: list[ChartBox] = []
    for dot in named[:MAX_NAMES]:
        text = clipped(dot.name, _MAX_CHARS)
        width = _CHAR_WIDTH * sum(map(_share_of_width, text))
        places = _places(dot, width, within if is_anywhere else None)
        free = [each for each in places if within.holds(each)]
        best = _best(dot, free, boxes, taken, lines)
        if best is not None:
            placed.append(_placed(dot, text, best))
            taken.append(best)
            lines += _line(dot, best)
    return placed


def _best(
    dot: NamedDot,
    places: Iterable[ChartBox],
    dots: Sequence[ChartBox],
    names: Sequence[ChartBox],
    lines: Sequence[ChartBox],
) -> ChartBox | None:
    """Return the nearest place without a name, and with few dots and lines."""
    best, least = None, inf
    found = [(_distance(dot, place), place) for place in places]
    for distance, place in sorted(found, key=itemgetter(0)):
        if distance >= least:
            break
        if _n_overlaps(place, names):
            continue
        cost = distance
        for part in _costs(dot, place, dots, names, lines):
            cost += part
            if cost >= least:
                break
        else:
            best, least = place, cost
    return best


def _costs(
    dot: NamedDot,
    place: ChartBox,
    dots: Sequence[ChartBox],
    names: Sequence[ChartBox],
    lines: Sequence[ChartBox],
) -> Iterator[int]:
    """Yield the parts of the cost of a place, those of least work first."""
    yield _DOT_COST * _n_overlaps(place, dots)
    for part in _line(dot, place):  # it begins in the crowd
        yield _LINE_COST * _n_overlaps(part, names)
    yield _LINE_COST * _n_overlaps(place, lines)


def _n_overlaps(box: ChartBox, others: Iterable[ChartBox]) -> int:
    """Return how many boxes have a common area with a box."""
    left, top, right, bottom = box
    n = 0
    for other_left, other_top, other_right, other_bottom in others:
        if left < other_right and other_left < right:
            n += top < other_bottom and other_top < bottom
    return n


def _nearest(dot: NamedDot, box: ChartBox) -> tuple[float, float]:
    """Return the point of a box that is nearest to a dot."""
    left, top, right, bottom = box
    return min(max(dot.x, left), right), min(max(dot.y, top), bottom)


def _distance(dot: NamedDot, box: ChartBox) -> float:
    """Return the distance of a box from a dot."""
    x, y = _nearest(dot, box)
    return hypot(x - dot.x, y - dot.y) - dot.radius


def _line(dot: NamedDot, box: ChartBox) -> Iterator[ChartBox]:
    """Yield small boxes along the line between dot and box, without its ends."""
    n = int(_distance(dot, box) / _FAR)
    x, y = _nearest(dot, box)
    for step in range(1, n + 1):
        share = step / (n + 1)
        x_at, y_at = dot.x + (x - dot.x) * share, dot.y + (y - dot.y) * share
        yield ChartBox(x_at - 1, y_at - 1, x_at + 1, y_at + 1)


def _places(
    dot: NamedDot, width: float, anywhere: ChartBox | None
) -> Iterator[ChartBox]:
    """Yield places for a name: next to its dot, then all over a box, if any."""
    distance = dot.radius + _GAP
    for step in range(_DIRECTIONS):
        angle = 2 * pi * step / _DIRECTIONS
        across, down = cos(angle), -sin(angle)
        side = (across > 0.3) - (across < -0.3)
        left = dot.x + across * distance - width * (1 - side) / 2
        top = dot.y + down * (distance + _HEIGHT / 2) - _HEIGHT / 2
        yield ChartBox(left, top, left + width, top + _HEIGHT)
    if anywhere is not None:
        lefts = range(int(anywhere.left), int(anywhere.right), _ACROSS)
        for y in range(int(anywhere.top), int(anywhere.bottom), _DOWN):
            for x in lefts:
                yield ChartBox(x, y, x + width, y + _HEIGHT)


def _placed(dot: NamedDot, text: str, box: ChartBox) -> PlacedName:
    """Return a name in a box, at the end that is nearer to the dot."""
    x, anchor = (box.left + box.right) / 2, "middle"
    if box.left >= dot.x:
        x, anchor = box.left, "start"
    elif box.right <= dot.x:
        x, anchor = box.right, "end"
    return PlacedName(text, x, box.top + _HEIGHT / 2 + 4, anchor, box, dot)


def _share_of_width(char: str) -> float:
    if east_asian_width(char) in "WF":
        return 2
    return 1.5 if char in _WIDE else 1
