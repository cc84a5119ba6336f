"""How fresh the copies of a site are now, with an interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import erf, exp, sqrt
from operator import mul
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.refresh.rate_priors import (
    RateLikelihoods,
    RatePrior,
    RateSteps,
    idle_share,
    likelihoods,
    sample_priors,
)

if TYPE_CHECKING:
    from rdfcrawl.analysis.refresh.histories import (
        PageHistory,
        SiteHistories,
        Stratum,
    )

N_DRAWS: Final = 80
_OUTSIDE: Final = 0.02  # at either end of the interval
_NEGLIGIBLE: Final = 1e-4
_N_FOR_RATES: Final = 20  # draws


@dataclass(frozen=True, slots=True)
class FreshnessNow:
    """Number of fresh copies, as far as is known.

    Attributes:
        n_pages: pages with a copy.
        draws: expected number of fresh copies, and its variance, for each draw of the
            parameters of the site.
        rates: expected number of pages by their rate, in changes a day.
        n_daily: refetches of these pages a day.
    """

    n_pages: float = 0
    draws: tuple[tuple[float, float], ...] = ((0.0, 0.0),) * N_DRAWS
    rates: Counter[float] = field(default_factory=Counter)
    n_daily: float = 0.0

    def plus(self, other: FreshnessNow) -> FreshnessNow:
        """Return the freshness of the pages of both."""
        draws = tuple(
            (x + y, u + v)
            for (x, u), (y, v) in zip(self.draws, other.draws, strict=True)
        )
        return FreshnessNow(
            self.n_pages + other.n_pages,
            draws,
            self.rates + other.rates,
            self.n_daily + other.n_daily,
        )

    @property
    def estimate(self) -> float:
        """Expected share of fresh copies."""
        return sum(mean for mean, _ in self.draws) / len(self.draws) / self.n_pages

    @property
    def interval(self) -> tuple[float, float]:
        """Shares between which the true one lies in 96 of 100 cases."""
        ends = self._quantile(_OUTSIDE) - 0.5, self._quantile(1 - _OUTSIDE) + 0.5
        low, high = (min(max(x / self.n_pages, 0.0), 1.0) for x in ends)
        return low, high

    def _quantile(self, part: float) -> float:
        low, high = -1.0, self.n_pages + 1
        for _ in range(40):
            middle = (low + high) / 2
            if self._below(middle) < part:
                low = middle
            else:
                high = middle
        return middle

    def _below(self, number: float) -> float:
        total = sum(
            erf((number - mean) / sqrt(2 * variance + 1e-9))
            for mean, variance in self.draws
        )
        return (1 + total / len(self.draws)) / 2


def freshness_now(histories: SiteHistories, now: float) -> FreshnessNow:
    """Return the freshness of the copies of a site at a time, in days since 1970."""
    found = FreshnessNow(histories.n_lost)
    strata: dict[Stratum, list[PageHistory]] = {}
    for (stratum, *_), history in histories.groups.items():
        strata.setdefault(stratum, []).append(history)
    for stratum, some in strata.items():
        found = found.plus(_StratumPages(some, now, stratum.is_claimed).freshness())
    return found


class _StratumPages:
    """The pages of a stratum, to find how many are fresh at a time."""

    def __init__(
        self, some: Sequence[PageHistory], now: float, is_claimed: bool
    ) -> None:
        self._some, self._is_claimed = some, is_claimed
        self._ages = [max(now - each.copied / each.n_pages, 0.0) for each in some]
        times = [time for each in some for time in each.times] + self._ages
        known = [each for each in times if each > 0] or [1.0]
        self._steps = RateSteps.between(min(known), max(known))
        self._rates = self._steps.rates
        self._fresh = [[exp(-rate * age) for rate in self._rates] for age in self._ages]
        self._likelihoods: dict[float, list[RateLikelihoods]] = {}

    def freshness(self) -> FreshnessNow:
        """Return the freshness, with the rates of the pages."""
        some = self._some
        priors = sample_priors(
            some, self._steps, has_idle=self._is_claimed, n_draws=N_DRAWS
        )
        n_pages = sum(each.n_pages for each in some)
        watched = sum(each.watched for each in some) or 1.0
        return FreshnessNow(
            n_pages,
            tuple(map(self._fresh_copies, priors)),
            self._page_rates(
                priors[:_N_FOR_RATES], sum(x.n_claimed for x in some) / watched
            ),
            n_pages * sum(each.n_refetches for each in some) / watched,
        )

    def _posteriors(self, prior: RatePrior) -> Iterator[tuple[float, list[float]]]:
        """Yield the number of pages of each group, and the weights of their rates."""
        idle = idle_share(prior)
        if idle not in self._likelihoods:
            self._likelihoods[idle] = [
                likelihoods(each, self._rates, idle) for each in self._some
            ]
        weights = self._steps.weights(prior)
        for each, (row, _) in zip(self._some, self._likelihoods[idle], strict=True):
            yield each.n_pages, list(map(mul, weights, row))

    def _fresh_copies(self, prior: RatePrior) -> tuple[float, float]:
        """Return mean and variance of the number of fresh copies."""
        idle, mean, variance = idle_share(prior), 0.0, 0.0
        posteriors = self._posteriors(prior)
        for (n, weights), fresh in zip(posteriors, self._fresh, strict=True):
            part = idle * sum(map(mul, weights, fresh)) / (sum(weights) or 1.0)
            mean += n * part
            variance += n * part * (1 - part)
        return mean, variance

    def _page_rates(
        self, priors: Sequence[RatePrior], claimed: float
    ) -> Counter[float]:
        """Return the expected number of pages by rate; claimed changes come on top."""
        found = [0.0] * len(self._rates)
        for prior in priors:
            for n, weights in self._posteriors(prior):
                factor = n / (sum(weights) or 1.0) / len(priors)
                found = [x + factor * y for x, y in zip(found, weights, strict=True)]
        rates, least = Counter[float](), _NEGLIGIBLE * sum(found)
        for rate, n in zip(self._rates, found, strict=True):
            if n > least:
                rates[float(f"{rate + claimed:.2g}")] += n
        return rates
