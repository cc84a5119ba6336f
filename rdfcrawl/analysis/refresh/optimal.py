"""Freshness-optimal refresh: how often to fetch pages with known rates of change.

A page that changes at rate lambda and is fetched at frequency f, in even intervals, is
fresh for the share F = (f / lambda) (1 - exp(-lambda / f)) of time. Under a budget for
the sum of f, the sum of F is maximal if dF/df is the same for all pages that are
fetched; pages that change too often for the budget are given up. The rate of a page is
estimated from its fetches: changes are a Poisson process.

Source: J. Cho and H. Garcia-Molina, "Synchronizing a database to improve freshness"
(2000), "Effective page refresh policies for Web crawlers" (2003), and "Estimating
frequency of change" (2003).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import exp, expm1, fsum, inf, log, sqrt
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.measures.refetches import iter_intervals
from rdfcrawl.analysis.refresh.policy import (
    DAY_MS,
    HOUR_MS,
    RefreshEpoch,
    last_fetched_ms,
    most_urgent,
)
from rdfcrawl.core.messages import counted

if TYPE_CHECKING:
    from rdfcrawl.analysis.measures.uri_facts import UriFacts

# Changes per millisecond that `changefreq` states (sitemaps.org protocol 0.9).
STATED_RATES: Final[Mapping[str, float]] = {
    "always": inf,
    "hourly": 1 / HOUR_MS,
    "daily": 1 / DAY_MS,
    "weekly": 1 / (7 * DAY_MS),
    "monthly": 1 / (30 * DAY_MS),
    "yearly": 1 / (365 * DAY_MS),
    "never": 0.0,
}
UNSTATED_RATE: Final = STATED_RATES["monthly"]
EXPLORATION: Final = 0.05  # of a budget, for pages that are given up otherwise
_STEPS: Final = 60
_PRECISION: Final = 1e-10
_SMALL: Final = 1e-4
_ABOVE: Final = 1 + 1e-9  # above 1 despite rounding


def estimate_rate(n_fetches: float, n_changes: float, interval: float) -> float:
    """Return the rate of change of a page fetched at a regular interval.

    lambda = -ln((m - n + 0.5) / (m + 0.5)) / I (section 8 of the specification). This
    is Cho and Garcia-Molina's estimator; n / (m I) would be biased, since two changes
    between fetches look like one.

    Args:
        n_fetches: m, fetches that show whether the page changed.
        n_changes: n, changes seen, at most m.
        interval: I, in any unit; the rate is per that unit.

    Raises:
        ValueError: a number is out of range.
    """
    if not 0 <= n_changes <= n_fetches or interval <= 0:
        fetches = counted(n_fetches, "fetch", "fetches")
        raise ValueError(f"{counted(n_changes, 'change')} in {fetches} of {interval}")
    return -log((n_fetches - n_changes + 0.5) / (n_fetches + 0.5)) / interval


def rate_of(facts: UriFacts) -> float:
    """Return the rate of change of a page, in changes per millisecond.

    The stated `changefreq` counts as one more fetch, with the expected change of an
    interval. So a page that was never seen to change keeps a rate above 0, which
    decreases with each fetch.
    """
    prior = stated_rate(facts)
    n_intervals = n_changes = total_ms = 0
    for each in iter_intervals(facts):
        n_intervals += 1
        n_changes += each.content_changed
        total_ms += each.end_ms - each.begin_ms
    if not total_ms:
        return min(prior, 1 / HOUR_MS)
    mean_ms = total_ms / n_intervals
    expected = 1 - exp(-prior * mean_ms)
    return estimate_rate(n_intervals + 1, n_changes + expected, mean_ms)


def stated_rate(facts: UriFacts, default: float = UNSTATED_RATE) -> float:
    """Return the rate by `changefreq`, the greatest of several sitemaps."""
    stated = (STATED_RATES.get(each.changefreq) for each in facts.listings)
    known = [rate for rate in stated if rate is not None]
    return max(known, default=default)


def best_frequency(rate: float, multiplier: float) -> float:
    """Return the frequency at which dF/df equals a multiplier.

    dF/df = (1 - (1 + x) exp(-x)) / lambda with x = lambda / f: it falls from 1/lambda
    at f = 0, so a page whose rate is above 1/multiplier is not fetched.
    """
    wanted = multiplier * rate
    if not rate or wanted >= 1:
        return 0.0
    x = sqrt(2 * wanted)  # below the root, near which Newton's method converges
    for _ in range(_STEPS):
        # Near 0 the difference loses all digits; the square root is exact.
        gain = -expm1(-x) - x * exp(-x) if x > _SMALL else x * x / 2 - x**3 / 3
        step = (wanted - gain) / (x * exp(-x))
        x += step
        if abs(step) <= _PRECISION * x:
            break
    return rate / x


def mean_freshness(rate: float, frequency: float) -> float:
    """Return F, the share of time for which the copy of a page is fresh."""
    if not rate:
        return 1.0
    return -expm1(-rate / frequency) * frequency / rate if frequency else 0.0


def allocate(
    rates: Mapping[float, float], budget: float, most: float = inf
) -> dict[float, float]:
    """Return the frequency for each rate of change that maximizes mean freshness.

    Args:
        rates: number of pages of each rate.
        budget: sum of the frequencies of all pages, in the unit of the rates.
        most: maximum frequency of a page.
    """
    changing = {rate: n for rate, n in rates.items() if rate}
    if not changing or budget <= 0:
        return dict.fromkeys(rates, 0.0)

    def is_above(multiplier: float) -> bool:
        return _spent(changing, _best(changing, multiplier, most)) > budget

    low, high = _least_multiplier(changing, is_above)
    found = _best(changing, high, most)
    if low:
        # Where neighbouring floats are far apart, interpolate to use up the budget.
        above, least = _best(changing, low, most), _spent(changing, found)
        part = (budget - least) / (_spent(changing, above) - least)
        found = {rate: f + part * (above[rate] - f) for rate, f in found.items()}
    return dict.fromkeys(rates, 0.0) | found


def freshness_of(
    rates: Mapping[float, float], budget: float, most: float = inf
) -> float:
    """Return the mean freshness of the best allocation; for arguments see there."""
    return _mean(rates, allocate(rates, budget, most))


def budget_for(
    rates: Mapping[float, float], freshness: float, most: float = inf
) -> float | None:
    """Return the least budget for a mean freshness; None if it is out of reach.

    For other arguments see `allocate`.
    """
    changing = {rate: n for rate, n in rates.items() if rate}
    still = dict.fromkeys(rates, 0.0)
    if _mean(rates, still) >= freshness:
        return 0.0

    def is_fresh(multiplier: float) -> bool:
        return _mean(rates, still | _best(changing, multiplier, most)) >= freshness

    if not is_fresh(0.0):
        return None
    found = [_best(changing, x, most) for x in _least_multiplier(changing, is_fresh)]
    more, less = (_mean(rates, still | each) for each in found)
    part = (freshness - less) / (more - less)  # as in `allocate`
    spent, least = (_spent(changing, each) for each in found)
    return least + part * (spent - least)


def _best(
    changing: Iterable[float], multiplier: float, most: float
) -> dict[float, float]:
    """Return the best frequencies for a multiplier; for 0, the greatest."""
    if not multiplier:
        return dict.fromkeys(changing, most)
    return {rate: min(best_frequency(rate, multiplier), most) for rate in changing}


def _spent(
    changing: Mapping[float, float], frequencies: Mapping[float, float]
) -> float:
    return fsum(f * changing[rate] for rate, f in frequencies.items())


def _mean(rates: Mapping[float, float], frequencies: Mapping[float, float]) -> float:
    total = fsum(
        mean_freshness(rate, frequencies[rate]) * n for rate, n in rates.items()
    )
    return total / max(sum(rates.values()), 1)


def _least_multiplier(
    changing: Iterable[float], holds: Callable[[float], bool]
) -> tuple[float, float]:
    """Return multipliers close to each other, where a condition holds and does not.

    It holds up to some multiplier; the first one is 0 if it holds nowhere.
    """
    low, high = 0.0, _ABOVE / min(changing)  # at the upper end no page is fetched
    for _ in range(_STEPS):
        # By ratios, since rates may differ by many orders of magnitude.
        middle = sqrt(low * high) if low else high / 1000
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high


def worth_of(rate: float, age_ms: float) -> float:
    """Return the gain in freshness by a fetch of a page, in milliseconds.

    It is dF/df at the interval `age_ms`, so pages are fetched at the best frequencies
    for a budget if a fetch takes place as soon as its worth exceeds one price. It never
    exceeds the mean time for which the new copy is fresh, 1/rate: the worth of fetching
    a page that is known to have changed.
    """
    if not rate:
        return 0.0
    x = rate * age_ms
    return (-expm1(-x) - x * exp(-x)) / rate


@dataclass(frozen=True, slots=True)
class OptimalFreshness:
    """Policy that maximizes freshness under a budget.

    A share of the budget goes to the pages that were not fetched for longest, so a page
    that was given up for its high rate is eventually fetched.

    Memory: the URLs to fetch.

    Attributes:
        rate_of: of a page, in changes per millisecond.
    """

    rate_of: Callable[[UriFacts], float] = rate_of
    exploration: float = EXPLORATION

    def choose(
        self, open_pages: Callable[[], Iterable[UriFacts]], epoch: RefreshEpoch
    ) -> list[str]:
        """Return the pages whose fetch is worth most."""
        n_explored = epoch.rounded(epoch.n_fetches * self.exploration)
        n_explored = min(max(n_explored, epoch.n_explored), epoch.n_fetches)
        worths = ((self.worth(each, epoch.now_ms), each.url) for each in open_pages())
        chosen = most_urgent(worths, epoch.n_fetches - n_explored)
        taken = set(chosen)
        ages = (
            (float(-last_fetched_ms(each)), each.url)
            for each in open_pages()
            if each.url not in taken
        )
        return chosen + most_urgent(ages, n_explored)

    def appraiser(
        self, _open_pages: Callable[[], Iterable[UriFacts]], now_ms: int
    ) -> Callable[[UriFacts], float]:
        """Return a function that gives the worth of fetching a page."""
        return lambda facts: self.worth(facts, now_ms)

    def worth(self, facts: UriFacts, now_ms: int) -> float:
        """Return the gain in freshness by fetching a page at a time."""
        return worth_of(self.rate_of(facts), now_ms - last_fetched_ms(facts))
