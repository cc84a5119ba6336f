"""Growth of a random graph by preferential attachment, for both generators.

Vertices come one by one. A new vertex gets a number of links to earlier vertices;
an earlier vertex is drawn with a probability proportional to its in-degree + 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator


def iter_link_counts(
    n: int, *, n_edges: int, degree: int, first: int, rng: random.Random
) -> Iterator[tuple[int, int]]:
    """Yield (vertex, number of its links to earlier vertices), in order.

    The number is uniform in 1..2m-1 with m = degree // 2. Once the edges left are
    m+1 or more for each vertex left, m+1 takes the place of m, so that the last
    vertex ends at `n_edges`. Vertex k has at most k links.

    Args:
        n: vertices.
        n_edges: edges to place; at most n(n-1)/2.
        degree: mean degree.
        first: the first vertex that gets links; earlier ones exist already.
        rng: source of the numbers.
    """
    left = n_edges
    for vertex in range(first, n):
        n_later = n - 1 - vertex
        mean = max(degree // 2, 1)
        if left >= (n_later + 1) * (mean + 1):
            mean += 1
        # Invariant: the later vertices can take the rest, and get one each.
        room_later = (n - 1) * n // 2 - vertex * (vertex + 1) // 2
        most = min(vertex, max(left - n_later, 1))
        least = max(left - room_later, 1)
        wanted = rng.randint(1, 2 * mean - 1) if n_later else left
        count = min(max(wanted, least), most)
        left -= count
        yield vertex, count


class DegreeUrn:
    """Draws vertices with a probability proportional to in-degree + 1."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._tickets: list[int] = []  # a vertex once, and once per in-edge

    def add_vertex(self, vertex: int) -> None:
        """Make a vertex drawable."""
        self._tickets.append(vertex)

    def add_in_edge(self, vertex: int) -> None:
        """Make a vertex more likely by one."""
        self._tickets.append(vertex)

    def draw(
        self, count: int, *, allowed: Callable[[int], bool] | None = None
    ) -> list[int]:
        """Draw vertices without replacement.

        Args:
            count: how many; fewer come back if not as many are allowed.
            allowed: which vertices may be drawn; all of them if unset.
        """
        drawn: dict[int, None] = {}
        n_misses = 0
        while len(drawn) < count:
            vertex = self._rng.choice(self._tickets)
            if vertex not in drawn and (allowed is None or allowed(vertex)):
                drawn[vertex] = None
                continue
            n_misses += 1
            if n_misses > 4 * count + 16:
                self._draw_slowly(drawn, count, allowed)
                break
        return list(drawn)

    def _draw_slowly(
        self,
        drawn: dict[int, None],
        count: int,
        allowed: Callable[[int], bool] | None,
    ) -> None:
        """Draw the rest from the tickets that are still valid: the same odds."""
        while len(drawn) < count:
            valid = [
                vertex
                for vertex in self._tickets
                if vertex not in drawn and (allowed is None or allowed(vertex))
            ]
            if not valid:
                return
            drawn[self._rng.choice(valid)] = None
