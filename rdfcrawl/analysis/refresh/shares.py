"""Share a budget of fetches between hosts, by one price for all.

Each host offers the pages that its policy chooses, up to its own limit, with the worth
of each fetch. The price is the worth above which the offers fill the budget. So the
budget goes to the fetches that keep most copies fresh, wherever they are: the price is
the Lagrange multiplier of the budget.

Source: J. Cho and H. Garcia-Molina, "Effective page refresh policies for Web crawlers"
(2003).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil, floor, isqrt, log
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.analysis.refresh.optimal import EXPLORATION, OptimalFreshness

if TYPE_CHECKING:
    from rdfcrawl.analysis.measures.uri_facts import UriFacts
    from rdfcrawl.analysis.refresh.policy import RefreshPolicy

_STEPS: Final = 1 / log(1.01)  # worths are distinguished to 1 %
_WORTHLESS: Final = -(10**9)


def appraiser(
    policy: RefreshPolicy, open_pages: Callable[[], Iterable[UriFacts]], now_ms: int
) -> Callable[[UriFacts], float]:
    """Return a function that gives the worth of fetching each page of a host.

    It is the gain in freshness, in milliseconds. A policy that knows more than rates of
    change has an `appraiser`.
    """
    own = getattr(policy, "appraiser", None)
    if own is not None:
        found: Callable[[UriFacts], float] = own(open_pages, now_ms)
        return found
    rates = OptimalFreshness()
    return lambda facts: rates.worth(facts, now_ms)


class BudgetShare(NamedTuple):
    """Share of one host: its fetches, and how many of them are for exploration."""

    n_fetches: int
    n_explored: int


@dataclass(slots=True)
class BudgetShares:
    """Counts the offers of all hosts; then gives each host its share, in any order.

    All shares together are the budget, or all offers. Of offers at the price, and of
    those below it for exploration, each host has the same part; other hosts have the
    remainder in other turns.

    Memory: a number for each distinct worth, to 1 %.

    Args:
        budget: for all hosts.
        turn: number of the turn.
    """

    budget: int
    turn: int
    exploration: float = EXPLORATION
    _offers: Counter[int] = field(default_factory=Counter)
    _n_explored: int = 0
    _gains: defaultdict[int, float] = field(default_factory=lambda: defaultdict(float))

    def offer(self, worths: Iterable[float], gains: Iterable[float] = ()) -> None:
        """Count the offers of one host, with the freshness that each adds, if known."""
        steps = list(map(_step, worths))
        self._offers.update(steps)
        for step, gain in zip(steps, gains, strict=False):
            self._gains[step] += gain

    @property
    def n_offers(self) -> int:
        """Number of offers."""
        return self._offers.total()

    def limit(self, missing: float, n_pages: int) -> float:
        """Reduce the budget to the best offers that add so much freshness.

        Return the freshness that the offers within the budget add. Besides, some offers
        of `n_pages` pages are granted for exploration, also if nothing is missing.
        """
        n_granted = added = 0.0
        most = self.budget * (1 - self.exploration)
        for step in sorted(self._offers, reverse=True):
            n, gain = self._offers[step], self._gains[step]
            part = min(max(missing - added, 0.0) / gain, 1.0) if gain > 0 else 0.0
            part = min(part, (most - n_granted) / n)
            n_granted, added = n_granted + part * n, added + part * gain
        learned = max(n_granted * self.exploration, isqrt(n_pages) / 2)
        self._n_explored = ceil(learned)
        self.budget = min(self.budget, ceil(n_granted) + self._n_explored)
        return added

    def settled(self) -> SettledShares:
        """Return the shares, once all hosts have offered."""
        n_all = self.n_offers
        if n_all <= self.budget:
            return SettledShares(_WORTHLESS - 1, _Part(0, 0, 0), _Part(0, 0, 0))
        n_explored = self._n_explored or round(self.budget * self.exploration)
        n_explored = min(n_explored, self.budget)
        left, price = self.budget - n_explored, _WORTHLESS
        for price in sorted(self._offers, reverse=True):
            if self._offers[price] >= left:
                break
            left -= self._offers[price]
        n_at = self._offers[price]
        n_below = n_all - self.budget + n_explored
        return SettledShares(
            price, _Part(n_at, left, self.turn), _Part(n_below, n_explored, self.turn)
        )


@dataclass(slots=True)
class _Part:
    """Grants `n_granted` of `n` offers in even steps, from another one each turn."""

    n: int
    n_granted: int
    turn: int
    place: int = 0

    def take(self, n_offers: int) -> int:
        """Return how many of the next offers are granted."""
        begin = self.place + self.turn
        self.place += n_offers
        if not self.n:
            return 0
        return self._until(self.place + self.turn) - self._until(begin)

    def _until(self, place: int) -> int:
        return place * self.n_granted // self.n


@dataclass(slots=True)
class SettledShares:
    """The shares of all hosts, which are requested in one order.

    Attributes:
        price: step of worths above which all offers are granted.
    """

    price: int
    _at: _Part
    _below: _Part

    def next_share(self, worths: Sequence[float]) -> BudgetShare:
        """Return the share of a host; each host must be given once."""
        steps = [_step(each) for each in worths]
        n_above, n_at = sum(x > self.price for x in steps), steps.count(self.price)
        n_granted = n_above + self._at.take(n_at)
        n_explored = self._below.take(len(steps) - n_granted)
        return BudgetShare(n_granted + n_explored, n_explored)


def _step(worth: float) -> int:
    return floor(log(worth) * _STEPS) if worth > 0 else _WORTHLESS
