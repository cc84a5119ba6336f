"""The freshness that no policy exceeds if it has to learn the rate of each page.

Pages never change, change seldom or change all the time; a policy knows these rates and
their shares, not which page has which. It is given more than any real one: it need not
keep to the budget each day, only on average over the pages (a Lagrangian relaxation, so
each day has a price for a fetch), and may aim at some days alone. For any prices, the
best policy of one page plus the price of the budget is an upper bound. Prices are
searched that make it small.

Source: P. Whittle, "Restless bandits: activity allocation in a changing world" (1988).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_NEW, _QUIET, _SELDOM, _FOUND = range(4)
"""Kinds of pages: never fetched again, never changed, surely changing seldom, and those
that had always changed, for each probability that they change seldom."""
_PROBABILITIES: Final = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 100)])
_N_STEPS: Final = 600
_FIRST_STEP, _DECAY = 0.15, 0.993
_HIGHEST_PRICE: Final = 6.0  # days of freshness for a fetch


class _Day(NamedTuple):
    """Results of a fetch at the end of a day, by kind and day of the last fetch.

    Attributes:
        same: probability that the page has not changed.
        kind: into which kind a changed page comes, or the next one.
        part: probability of that next one.
        fresh: share of the day for which the copy is fresh, without a fetch.
    """

    same: Floats
    kind: NDArray[np.intp]
    part: Floats
    fresh: Floats


@dataclass(frozen=True)
class UnknownRates:
    """Pages of three rates.

    Attributes:
        shares: of the pages that never change, that change seldom and that change all
            the time.
        seldom: changes a day.
        often: changes a day, so many that each fetch finds one.
        n_days: until the end.
        n_before: days that do not count.
    """

    shares: tuple[float, float, float]
    seldom: float
    often: float
    n_days: int
    n_before: int
    _unchanged: NDArray[np.intp] = field(init=False)

    def __post_init__(self) -> None:
        """Note the kind of each page that was not changed."""
        kinds = np.full(_FOUND + len(_PROBABILITIES), _SELDOM)
        kinds[[_NEW, _QUIET]] = _QUIET
        object.__setattr__(self, "_unchanged", kinds)

    def bound(self, budget: float) -> float:
        """Return a mean freshness that no policy exceeds on the days that count.

        Args:
            budget: fetches of a page a day, on average.
        """
        prices = min(
            (np.full(self.n_days, x) for x in np.linspace(0.2, _HIGHEST_PRICE, 30)),
            key=lambda each: self._value(each)[0] + budget * each.sum(),
        )
        least, mean, square = np.inf, np.zeros(self.n_days), np.zeros(self.n_days)
        for n in range(_N_STEPS):
            value, n_fetches = self._value(prices)
            least = min(least, value + budget * prices.sum())
            slope = budget - n_fetches
            mean = 0.8 * mean + 0.2 * slope
            square = 0.95 * square + 0.05 * slope**2
            step = _FIRST_STEP * _DECAY**n * mean / (np.sqrt(square) + 1e-4)
            prices = np.maximum(prices - step, 0)
        return float(least) / (self.n_days - self.n_before)

    def _value(self, prices: Floats) -> tuple[float, Floats]:
        """Return the fresh days of a page minus its prices, and its fetches each day.

        They are those of the best policy.
        """
        value = np.zeros((len(self._unchanged), self.n_days + 1))
        choices = []
        for n in range(self.n_days, 0, -1):
            day = self._days[n - 1]
            new = value[:, n]
            changed = (1 - day.part) * new[day.kind]
            changed += day.part * new[np.minimum(day.kind + 1, len(new) - 1)]
            same = new[self._unchanged][:, None]
            fetched = day.same * same + (1 - day.same) * changed - prices[n - 1]
            choices.append(fetched > value[:, :n])
            value[:, :n] = np.maximum(fetched, value[:, :n]) + day.fresh
        return float(value[_NEW, 0]), self._n_fetches(choices[::-1])

    def _n_fetches(self, choices: list[NDArray[np.bool_]]) -> Floats:
        """Return the mean number of fetches of a page each day."""
        some = np.zeros((len(self._unchanged), self.n_days + 1))
        some[_NEW, 0] = 1
        found = np.zeros(self.n_days)
        for n, (day, chosen) in enumerate(zip(self._days, choices, strict=True), 1):
            moved = some[:, :n] * chosen
            found[n - 1] = moved.sum()
            some[:, :n] -= moved
            np.add.at(some[:, n], self._unchanged, (moved * day.same).sum(axis=1))
            changed = moved * (1 - day.same)
            np.add.at(some[:, n], day.kind, changed * (1 - day.part))
            following = np.minimum(day.kind + 1, len(some) - 1)
            np.add.at(some[:, n], following, changed * day.part)
        return found

    @cached_property
    def _days(self) -> list[_Day]:
        return [self._day(n) for n in range(1, self.n_days + 1)]

    def _day(self, n: int) -> _Day:
        """Return the results of a fetch at the end of a day."""
        last = np.arange(n)
        rates = np.array([0.0, self.seldom, self.often])
        never, seldom, often = self._beliefs(last)
        lasting = np.exp(-rates[:, None] * (n - last))
        same = never + seldom * lasting[1] + often * lasting[2]
        probable = seldom * (1 - lasting[1]) / np.maximum(1 - same, 1e-300)
        place = np.searchsorted(_PROBABILITIES, probable, side="right") - 1
        place = np.clip(place, 0, len(_PROBABILITIES) - 2)
        gap = np.diff(_PROBABILITIES)[place]
        part = np.clip((probable - _PROBABILITIES[place]) / gap, 0, 1)
        kind = place + _FOUND
        kind[[_QUIET, _SELDOM]], part[[_QUIET, _SELDOM]] = _SELDOM, 0.0
        mean = np.array([1.0, *(-np.expm1(-rates[1:]) / rates[1:])])
        of_day = mean[:, None] * np.exp(-rates[:, None] * (n - 1 - last))
        fresh = never * of_day[0] + seldom * of_day[1] + often * of_day[2]
        return _Day(same, kind, part, fresh * (n > self.n_before))

    def _beliefs(self, last: NDArray[np.intp]) -> Floats:
        """Return the probability of each rate, by kind and day of the last fetch."""
        found = np.zeros((3, len(self._unchanged), len(last)))
        shares = np.array(self.shares)[:, None]
        found[:, _NEW] = shares
        quiet = shares[:2] * np.exp(-np.array([[0.0], [self.seldom]]) * last)
        found[:2, _QUIET] = quiet / quiet.sum(axis=0)
        found[1, _SELDOM] = 1
        found[1, _FOUND:] = _PROBABILITIES[:, None]
        found[2, _FOUND:] = 1 - _PROBABILITIES[:, None]
        return found
