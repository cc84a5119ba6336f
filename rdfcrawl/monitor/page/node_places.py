"""Positions of the nodes of a picture: deterministic, and without overlap.

A force-directed layout (Fruchterman and Reingold, 1991) that starts from a spiral.
"""

from __future__ import annotations

from math import cos, hypot, pi, sin, sqrt
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfcrawl.monitor.page.host_groups import GroupLink

_ROUNDS: Final = 60
_APART_ROUNDS: Final = 120
_GOLDEN: Final = pi * (3 - sqrt(5))
_GAP: Final = 6.0  # between circles
_LEAST, _MOST = 5.0, 60.0  # radius


class NodePlace(NamedTuple):
    """A circle of the picture."""

    x: float
    y: float
    radius: float


def place_nodes(sizes: Sequence[int], links: Sequence[GroupLink]) -> list[NodePlace]:
    """Return a circle for each node; the area grows with its size.

    Args:
        sizes: of the nodes.
        links: between them, by their numbers.
    """
    if not sizes:
        return []
    largest = max(1, *sizes)
    radii = [max(_LEAST, _MOST * sqrt(each / largest)) for each in sizes]
    # The mean circle has room for itself and its links.
    side = 2.5 * sum(radii) / len(radii) + 14.0
    order = sorted(range(len(sizes)), key=lambda n: -sizes[n])
    xs, ys = [0.0] * len(sizes), [0.0] * len(sizes)
    for rank, n in enumerate(order):
        distance = side * sqrt(rank)
        xs[n], ys[n] = distance * cos(rank * _GOLDEN), distance * sin(rank * _GOLDEN)
    _attract_and_repel(xs, ys, links, side)
    _move_apart(xs, ys, radii)
    return [
        NodePlace(round(x, 1), round(y, 1), round(radius, 1))
        for x, y, radius in zip(xs, ys, radii, strict=True)
    ]


def _attract_and_repel(
    xs: list[float], ys: list[float], links: Sequence[GroupLink], side: float
) -> None:
    n_nodes = len(xs)
    heat = side * sqrt(n_nodes) / 4
    rim = side * (sqrt(n_nodes) + 1) * 0.75
    for turn in range(_ROUNDS):
        step = heat * (1 - turn / _ROUNDS) + 1.0
        dx, dy = [0.0] * n_nodes, [0.0] * n_nodes
        for a in range(n_nodes):
            ax, ay, ux, uy = xs[a], ys[a], 0.0, 0.0
            for b in range(a + 1, n_nodes):
                vx, vy = ax - xs[b], ay - ys[b]
                square = vx * vx + vy * vy + 0.01
                force = side * side / square
                vx, vy = vx * force, vy * force
                ux, uy = ux + vx, uy + vy
                dx[b] -= vx
                dy[b] -= vy
            dx[a] += ux
            dy[a] += uy
        for link in links:
            vx = xs[link.source] - xs[link.target]
            vy = ys[link.source] - ys[link.target]
            force = hypot(vx, vy) / side * 0.5
            dx[link.source] -= vx * force
            dy[link.source] -= vy * force
            dx[link.target] += vx * force
            dy[link.target] += vy * force
        for n in range(n_nodes):
            ux, uy = dx[n] - xs[n] * 0.3, dy[n] - ys[n] * 0.3
            length = hypot(ux, uy) or 1.0
            reach = min(length, step)
            x, y = xs[n] + ux / length * reach, ys[n] + uy / length * reach
            away = max(1.0, hypot(x, y) / rim)  # unlinked nodes do not drift off
            xs[n], ys[n] = x / away, y / away


def _move_apart(xs: list[float], ys: list[float], radii: list[float]) -> None:
    """Push overlapping circles away from each other, until none overlap."""
    for _ in range(_APART_ROUNDS):
        is_moved = False
        for a in range(len(xs)):
            for b in range(a + 1, len(xs)):
                vx, vy = xs[b] - xs[a], ys[b] - ys[a]
                wanted = radii[a] + radii[b] + _GAP
                if abs(vx) >= wanted or abs(vy) >= wanted:
                    continue
                distance = hypot(vx, vy)
                if distance >= wanted:
                    continue
                if distance < 0.01:
                    vx, vy, distance = cos(b), sin(b), 1.0
                push = (wanted - distance) / 2 / distance + 0.001
                xs[a] -= vx * push
                ys[a] -= vy * push
                xs[b] += vx * push
                ys[b] += vy * push
                is_moved = True
        if not is_moved:
            return
