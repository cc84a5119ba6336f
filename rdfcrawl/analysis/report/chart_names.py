"""Places for the names of dots, so that no name overlaps another one.

A name is next to its dot if there is room, else further away, with a line to the dot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import cos, hypot, pi, sin
from typing import Final, NamedTuple
from unicodedata import east_asian_width

MAX_NAMES: Final = 24  # of the largest dots
_MAX_CHARS: Final = 28
# Units of a chart, for the largest size of the letters in the style of the page.
_CHAR_WIDTH: Final = 8.4
_HEIGHT: Final = 17
_GAP: Final = 2
_RING: Final = 9  # distance between the rings of places around a dot
_N_RINGS: Final = 40
_DIRECTIONS: Final = 16


class ChartBox(NamedTuple):
    """A rectangle; y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: ChartBox) -> bool:
        """Return whether two boxes have a common area."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

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
        is_far: a line connects it with the dot.
    """

    text: str
    x: float
    y: float
    anchor: str
    box: ChartBox
    dot: NamedDot
    is_far: bool


def place_names(dots: Sequence[NamedDot], within: ChartBox) -> list[PlacedName]:
    """Return names of the largest dots that do not overlap each other.

    Of up to `MAX_NAMES` dots, all have a name if there is any room. Of more, those
    have one that have room next to them.

    Args:
        dots: the largest first.
        within: the box that contains all names.
    """
    named = [each for each in dots if each.name]
    n_rings = _N_RINGS if len(named) <= MAX_NAMES else 1
    boxes = [each.box for each in dots]
    placed: list[PlacedName] = []
    for dot in named[:MAX_NAMES]:
        places = [x for x in _places(dot, n_rings) if within.holds(x.box)]
        free = list(_free(places, [each.box for each in placed]))
        best = next(_free(free, boxes), None) or next(iter(free), None)
        if best is not None:
            placed.append(best)
    return placed


def _free(
    places: Iterable[PlacedName], taken: Sequence[ChartBox]
) -> Iterator[PlacedName]:
    for each in places:
        if not any(each.box.overlaps(other) for other in taken):
            yield each


def _places(dot: NamedDot, n_rings: int) -> Iterator[PlacedName]:
    """Yield places for the name of a dot, the nearest first."""
    name = dot.name
    text = name if len(name) <= _MAX_CHARS else name[: _MAX_CHARS - 1] + "…"
    width = _CHAR_WIDTH * sum(1 + (east_asian_width(x) in "WF") for x in text)
    for ring in range(n_rings):
        distance = dot.radius + _GAP + ring * _RING
        for step in range(_DIRECTIONS):
            angle = 2 * pi * step / _DIRECTIONS
            across, down = cos(angle), -sin(angle)
            x, y = dot.x + across * distance, dot.y + down * distance
            side = (across > 0.3) - (across < -0.3)
            left = x - width * (1 - side) / 2
            middle = y + down * _HEIGHT / 2
            box = ChartBox(
                left, middle - _HEIGHT / 2, left + width, middle + _HEIGHT / 2
            )
            anchor = ("end", "middle", "start")[side + 1]
            is_far = hypot(x - dot.x, y - dot.y) > dot.radius + 2 * _RING
            yield PlacedName(text, x, middle + 4, anchor, box, dot, is_far)
