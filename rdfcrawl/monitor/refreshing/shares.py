"""Shares of a budget that is too small for all hosts."""

from __future__ import annotations

from collections.abc import Mapping


class FairShare:
    """The most fetches of each host, if all hosts together want too many.

    Max-min fairness: each host gets as many as it wants, up to a common limit. The
    remainder of the division rotates: each turn, other hosts get one more.

    Args:
        wanted: number of wanted fetches -> number of hosts.
        budget: for all of them.
        turn: number of the turn.

    Attributes:
        most: limit of each host, without the remainder.
    """

    def __init__(self, wanted: Mapping[int, int], budget: int, *, turn: int) -> None:
        self.most, left = 0, budget
        n_hosts = sum(n for size, n in wanted.items() if size > 0)
        for size in sorted(wanted):
            if size <= self.most:
                continue
            step = min(size - self.most, left // n_hosts)
            self.most += step
            left -= step * n_hosts
            if self.most < size:
                break
            n_hosts -= wanted[size]
        self._n_cut = n_hosts  # that want more
        self._n_more = left if n_hosts else 0
        self._place = -turn * self._n_more

    def next_most(self, n_wanted: int) -> int:
        """Return the most fetches of the next host, which wants `n_wanted`."""
        if n_wanted <= self.most:
            return self.most
        place, self._place = self._place, self._place + 1
        return self.most + (place % self._n_cut < self._n_more)
