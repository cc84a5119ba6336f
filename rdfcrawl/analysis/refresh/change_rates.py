"""Estimate from its fetches how often a page changes.

The model is a Poisson process of rate lambda.

Source: J. Cho and H. Garcia-Molina, "Estimating frequency of change" (2003).
"""

from __future__ import annotations

from math import exp, inf, log
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.measures.refetches import iter_intervals
from rdfcrawl.analysis.refresh.policy import DAY_MS, HOUR_MS
from rdfcrawl.core.messages import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        n_changes += each.is_changed
        total_ms += each.end_ms - each.begin_ms
    if not total_ms:
        return min(prior, 1 / HOUR_MS)
    mean_ms = total_ms / n_intervals
    expected = 1 - exp(-prior * mean_ms)
    return estimate_rate(n_intervals + 1, n_changes + expected, mean_ms)


def stated_rate(facts: UriFacts) -> float:
    """Return the rate by `changefreq`, the greatest of several sitemaps.

    The default is monthly.
    """
    stated = (STATED_RATES.get(each.changefreq) for each in facts.listings)
    known = [rate for rate in stated if rate is not None]
    return max(known, default=UNSTATED_RATE)
