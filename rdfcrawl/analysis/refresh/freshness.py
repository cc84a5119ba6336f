"""How fresh the copies of a site are now, with an interval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import erf, expm1, sqrt
from operator import mul
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.analysis.refresh.rate_priors import RatePrior, StratumPages

if TYPE_CHECKING:
    from rdfcrawl.analysis.refresh.histories import GroupKey, SiteHistories

N_DRAWS: Final = 80
_OUTSIDE: Final = 0.01  # at either end, as the model is an approximation
_NEGLIGIBLE: Final = 1e-4
_N_FOR_RATES: Final = 20  # draws
_HALVINGS: Final = 24  # more digits than are shown


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
    rates: Mapping[float, float] = field(default_factory=dict)
    n_daily: float = 0.0

    def plus(self, other: FreshnessNow) -> FreshnessNow:
        """Return the freshness of the pages of both."""
        draws = tuple(
            (x + y, u + v)
            for (x, u), (y, v) in zip(self.draws, other.draws, strict=True)
        )
        rates = sorted(self.rates.keys() | other.rates.keys())
        return FreshnessNow(
            self.n_pages + other.n_pages,
            draws,
            {x: self.rates.get(x, 0.0) + other.rates.get(x, 0.0) for x in rates},
            self.n_daily + other.n_daily,
        )

    @property
    def estimate(self) -> float:
        """Expected share of fresh copies."""
        return sum(mean for mean, _ in self.draws) / len(self.draws) / self.n_pages

    @property
    def interval(self) -> tuple[float, float]:
        """Shares between which the true one lies in 95 of 100 cases."""
        ends = self._quantile(_OUTSIDE) - 0.5, self._quantile(1 - _OUTSIDE) + 0.5
        low, high = (min(max(x / self.n_pages, 0.0), 1.0) for x in ends)
        return low, high

    def _quantile(self, part: float) -> float:
        low, high = -1.0, self.n_pages + 1
        for _ in range(_HALVINGS):
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
    for _, pages in _strata(histories, now):
        found = found.plus(_freshness_of(pages))
    return found


def _strata(
    histories: SiteHistories, now: float
) -> Iterator[tuple[list[GroupKey], StratumPages]]:
    """Yield groups of pages by the sitemap that dates them."""
    strata: dict[str | None, list[GroupKey]] = {}
    for key in histories.groups:
        strata.setdefault(key[0], []).append(key)
    for name, keys in strata.items():
        keys.sort(key=repr)
        some = [histories.groups[key] for key in keys]
        yield keys, StratumPages(some, now, has_dates=name is not None)


class PageOutlook(NamedTuple):
    """Expected share of an epoch for which the copy of a page is fresh.

    Attributes:
        kept: without a fetch.
        fetched: with a fetch at its start.
    """

    kept: float
    fetched: float


LOST: Final = PageOutlook(0.0, 1.0)
"""Of a page that is not found any more: a fetch may delete its copy."""


def page_outlooks(
    histories: SiteHistories, epoch: float
) -> dict[GroupKey, PageOutlook]:
    """Return the outlook of a page of each group, for the next epoch, in days."""
    found: dict[GroupKey, PageOutlook] = {}
    for keys, pages in _strata(histories, histories.now):
        priors = pages.sample(N_DRAWS)[:_N_FOR_RATES]
        lasting = [-expm1(-x * epoch) / (x * epoch) if x else 1.0 for x in pages.rates]
        sums = [[0.0, 0.0] for _ in keys]
        for prior in priors:
            for place, (_, posterior, fresh) in enumerate(pages.posteriors(prior)):
                fetched = list(map(mul, posterior, lasting))
                sums[place][0] += sum(map(mul, fetched, fresh)) / len(priors)
                sums[place][1] += sum(fetched) / len(priors)
        found |= {x: PageOutlook(*y) for x, y in zip(keys, sums, strict=True)}
    return found


def _freshness_of(pages: StratumPages) -> FreshnessNow:
    priors = pages.sample(N_DRAWS)
    n_pages = sum(each.n_pages for each in pages.histories)
    watched = sum(each.watched for each in pages.histories) or 1.0
    n_refetches = sum(each.n_refetches for each in pages.histories)
    return FreshnessNow(
        n_pages,
        tuple(_fresh_copies(pages, prior) for prior in priors),
        _page_rates(pages, priors[:_N_FOR_RATES]),
        n_pages * n_refetches / watched,
    )


def _fresh_copies(pages: StratumPages, prior: RatePrior) -> tuple[float, float]:
    """Return mean and variance of the number of fresh copies."""
    mean = variance = 0.0
    for n, posterior, fresh in pages.posteriors(prior):
        part = sum(map(mul, posterior, fresh))
        mean += n * part
        variance += n * part * (1 - part)
    return mean, variance


def _page_rates(pages: StratumPages, priors: Sequence[RatePrior]) -> dict[float, float]:
    """Return the expected number of pages by rate."""
    found = [0.0] * len(pages.rates)
    for prior in priors:
        for n, posterior, _ in pages.posteriors(prior):
            factor = n / len(priors)
            found = [x + factor * y for x, y in zip(found, posterior, strict=True)]
    least = _NEGLIGIBLE * sum(found)
    found_rates = zip(pages.rates, found, strict=True)
    return {float(f"{rate:.3g}"): n for rate, n in found_rates if n > least}
