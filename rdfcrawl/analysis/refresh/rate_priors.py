"""How rates of change are spread over the pages of a site, as far as is known.

The rates are drawn from a gamma distribution, and a share of the pages never changes.
Sitemaps claim a share of the changes, the recall, and also changes that never were, at
some rate. These parameters are not estimated by one number each: draws from their
posterior distribution show how little a few refetches say.

Claims and changes are Poisson processes. So a page that changes at rate L has unclaimed
changes at rate (1 - recall) L, and claims at rate recall L + false: each was a change
with the same probability. All claims count, since a policy chooses pages by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, expm1, floor, inf, log, log1p, sqrt
from operator import mul
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.analysis.refresh.sampling import sample

if TYPE_CHECKING:
    from rdfcrawl.analysis.refresh.histories import PageRefetches

_H: Final = 0.3  # between the logarithms of two rates
_TAIL: Final = 16  # steps below the mean, from where on the density is a power
_FORE: Final = 10  # steps above the mean, where nothing is left
_MEAN: Final = (log(1 / 30), 2.5)  # of the logarithm of changes a day: centre, width
_SHAPE: Final = (log(0.7), 0.8)
_STILL: Final = (-1.4, 1.2)  # logit of the share that never changes
_RECALL: Final = (-0.5, 3.0)  # logit of the share of changes that sitemaps claim
_FALSE: Final = (log(1 / 30), 2.5)  # of the logarithm of false claims a day
_STEPS: Final = 0.5  # of both
_MOST_RECALL: Final = 6.0
_LEAST_FALSE: Final = -6.0
_MOST_SHAPE: Final = 4
_MOST_LOG: Final = 40
_LOG_LEAST: Final = -700.0
_TINY: Final = 1e-300


class RatePrior(NamedTuple):
    """Parameters of the distribution of rates, each without bounds.

    Attributes:
        mean: logarithm of the mean rate, in changes a day.
        shape: logarithm of the shape of the gamma distribution.
        still: logit of the share of pages that never change.
        recall: logit of the share of changes that sitemaps claim.
        false: logarithm of their claims without a change, a day.
    """

    mean: float
    shape: float
    still: float
    recall: float
    false: float


def share(logit: float) -> float:
    """Return the share of a logit."""
    return 1 / (1 + exp(-min(max(logit, _LOG_LEAST), -_LOG_LEAST)))


@dataclass(frozen=True, slots=True)
class RateSteps:
    """Rates in even steps of their logarithm; the first is 0.

    Attributes:
        first: number of the first step.
        last: number of the last one.
    """

    first: int
    last: int

    @classmethod
    def between(cls, shortest: float, longest: float) -> RateSteps:
        """Return the rates that make a difference in some times."""
        first, last = log(1e-3 / longest), log(30 / shortest)
        return cls(floor(first / _H), floor(last / _H) + 1)

    @property
    def rates(self) -> list[float]:
        """The rates, in changes a day."""
        return [0.0, *(exp(_H * j) for j in range(self.first, self.last + 1))]

    def weights(self, prior: RatePrior) -> list[float]:
        """Return the share of pages of each rate."""
        shape, still = exp(prior.shape), share(prior.still)
        middle = round(prior.mean / _H)
        begin = min(self.first, middle - _TAIL)
        end = max(self.last, middle + _FORE)
        steps = (_H * j - prior.mean for j in range(begin, end + 1))
        masses = [exp(shape * (u - exp(u))) for u in steps]
        tail = masses[0] / (exp(shape * _H) - 1)
        part = (1 - still) / (tail + sum(masses))
        n_below, n_above = self.first - begin, end - self.last
        below = tail + sum(masses[:n_below])
        inner = masses[n_below : len(masses) - n_above]
        inner[-1] += sum(masses[len(masses) - n_above :])
        return [still + part * below, *(part * each for each in inner)]


class GroupLikelihoods(NamedTuple):
    """Likelihood of the history of a page for each rate.

    Attributes:
        of_rates: divided by the greatest.
        log_most: logarithm of that.
        fresh: probability that the copy is fresh, for each rate.
    """

    of_rates: list[float]
    log_most: float
    fresh: list[float]


def likelihoods(
    one: PageRefetches, now: float, rates: Iterable[float], recall: float, false: float
) -> GroupLikelihoods:
    """Return the likelihoods of the history of a page.

    Args:
        one: the history.
        now: time, in days since 1970.
        rates: of change.
        recall: share of changes that sitemaps claim.
        false: claims without a change, a day.
    """
    age = max(now - one.copied, 0.0)
    missed = one.missed / one.n_missed if one.n_missed else 0.0
    n = one.n_claimed or 1.0
    claimed, n_claims = one.claimed / n, one.n_claims / n
    known = one.same + one.missed + one.claimed + age
    logs, fresh = [], []
    for rate in rates:
        seen = recall * rate
        n_false, silent = log(false / (seen + false)), rate - seen
        value = one.n_false * n_false - silent * one.same - (seen + false) * known
        value += (one.n_false + one.n_claims + one.n_open) * log(seen + false)
        if one.n_missed:
            value += one.n_missed * _log(-expm1(-silent * missed))
        if one.n_claimed:
            same = exp(n_claims * n_false - silent * claimed)
            value += one.n_claimed * _log(1 - same)
        logs.append(value)
        fresh.append(exp(one.n_open * n_false - silent * age))
    most = max(logs)
    ratios = [exp(max(value - most, _LOG_LEAST)) for value in logs]
    return GroupLikelihoods(ratios, most, fresh)


def _log(number: float) -> float:
    return log(number) if number > 0 else _LOG_LEAST


class StratumPages:
    """Pages of a site whose rates are learned together, in groups of like ones.

    Args:
        some: their histories.
        now: time, in days since 1970.
        has_dates: sitemaps date them.
    """

    def __init__(
        self, some: Sequence[PageRefetches], now: float, *, has_dates: bool
    ) -> None:
        self.histories, self.now, self.has_dates = some, now, has_dates
        self.ones = [each.mean for each in some]
        times = {now - one.copied for one in self.ones}
        times |= {one.same for one in self.ones}
        for one in self.ones:
            times.add(one.missed / one.n_missed if one.n_missed else 0.0)
            times.add(one.claimed / one.n_claimed if one.n_claimed else 0.0)
        known = [each for each in times if each > 0] or [1.0]
        self.steps = RateSteps.between(min(known), max(known))
        self.rates = self.steps.rates
        self._likelihoods: dict[tuple[float, float], list[GroupLikelihoods]] = {}
        self.recall_around = _recall_around(some, now)
        same = max(sum(each.same for each in some), 0.0)
        self.false_around = log((sum(x.n_false for x in some) + 0.5) / (same + 30))

    @property
    def has_history(self) -> bool:
        """Whether any page was refetched."""
        return any(each.n_refetches for each in self.histories)

    def likelihoods(self, prior: RatePrior) -> list[GroupLikelihoods]:
        """Return the likelihoods of each group, recall and false claims in steps."""
        key = 0.0, 1.0
        if self.has_dates:
            recall = min(max(prior.recall, -_MOST_RECALL), _MOST_RECALL)
            false = max(prior.false, _LEAST_FALSE)
            recall, false = (round(x / _STEPS) * _STEPS for x in (recall, false))
            key = share(recall), exp(false)
        if key not in self._likelihoods:
            self._likelihoods[key] = [
                likelihoods(one, self.now, self.rates, *key) for one in self.ones
            ]
        return self._likelihoods[key]

    def posteriors(
        self, prior: RatePrior
    ) -> Iterator[tuple[float, list[float], list[float]]]:
        """Yield for each group its number of pages, and for each rate two numbers.

        These are the probability of the rate, and that of a fresh copy.
        """
        weights = self.steps.weights(prior)
        rows = self.likelihoods(prior)
        for each, (row, _, fresh) in zip(self.histories, rows, strict=True):
            joint = list(map(mul, weights, row))
            total = sum(joint) or 1.0
            yield each.n_pages, [x / total for x in joint], fresh

    def sample(self, n_draws: int) -> Sequence[RatePrior]:
        """Return draws from the posterior distribution of the parameters."""
        if not self.has_history and not self.has_dates:
            return _unlearned(n_draws)
        return _sampled(_Density(self), n_draws)


def _recall_around(some: Sequence[PageRefetches], now: float) -> tuple[float, float]:
    """Return a first estimate of the logit of the recall, and its error.

    Claimed changes can be seen at all times, others in intervals without a claim.
    """
    n_claimed = sum(each.n_claimed for each in some) + 0.5
    n_missed = sum(each.n_missed for each in some) + 0.5
    time = sum(each.same + each.missed for each in some)
    age = sum(now * each.n_pages - each.copied for each in some)
    age = max(age, 0.0)  # the clock may have been set back
    known = sum(each.same + each.missed + each.claimed for each in some) + age
    middle = log(n_claimed / n_missed * (time + 1) / (known + 1))
    return middle, sqrt(1 / n_claimed + 1 / n_missed)


@cache
def _unlearned(n_draws: int) -> Sequence[RatePrior]:
    """Return draws for pages without refetches."""
    return _sampled(_Density(StratumPages([], 0.0, has_dates=False)), n_draws)


def _sampled(density: _Density, n_draws: int) -> list[RatePrior]:
    middle, widths = zip(*density.around, strict=True)
    found = sample(density, middle, widths, n_draws, density.name)
    return [_prior(each) for each in found]


def _prior(point: Sequence[float]) -> RatePrior:
    return RatePrior(*point, *(-inf, 0.0)[len(point) - 3 :])


class _Density:
    """Logarithm of the posterior density of the parameters, up to a constant."""

    def __init__(self, pages: StratumPages) -> None:
        self._pages, some = pages, pages.histories
        self._others = (_SHAPE, _STILL, _RECALL, _FALSE)[: 4 if pages.has_dates else 2]
        time = sum(each.same + each.missed + each.claimed for each in some)
        n_changed = sum(each.n_missed + each.n_claimed for each in some)
        centre = log((n_changed + 0.5) / time) if time else _MEAN[0]
        recall, width = pages.recall_around
        around = [(centre, 1.5), _SHAPE, _STILL]
        if pages.has_dates:
            around += (recall, 2 * width), (pages.false_around, 1.0)
        self.around = around
        # Like histories have the same draws, at any time.
        self.name = repr([(x.n_pages, x.same, x.missed, x.claimed) for x in some])

    def __call__(self, point: Sequence[float]) -> float:
        prior = _prior(point)
        farthest = max(abs(prior.mean), abs(prior.false))
        if abs(prior.shape) > _MOST_SHAPE or farthest > _MOST_LOG:
            return -inf
        value = -1.5 * log1p(((prior.mean - _MEAN[0]) / _MEAN[1]) ** 2 / 2)
        for x, (middle, width) in zip(point[1:], self._others, strict=True):
            value -= ((x - middle) / width) ** 2 / 2
        pages, weights = self._pages, self._pages.steps.weights(prior)
        rows = pages.likelihoods(prior)
        for each, (row, most, _) in zip(pages.histories, rows, strict=True):
            total = sum(map(mul, weights, row))
            value += each.n_pages * (log(total + _TINY) + most)
        return value
