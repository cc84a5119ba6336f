"""How rates of change are spread over the pages of a site, as far as is known.

The rates are drawn from a gamma distribution, and a share of the pages never changes.
Its parameters are not estimated by one number each: draws from their posterior
distribution show how little a few refetches say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, floor, inf, log, log1p
from operator import mul
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.analysis.refresh.sampling import sample

if TYPE_CHECKING:
    from rdfcrawl.analysis.refresh.histories import PageHistory

_H: Final = 0.3  # between the logarithms of two rates
_TAIL: Final = 16  # steps below the mean, from where on the density is a power
_FORE: Final = 10  # steps above the mean, where nothing is left
_MEAN: Final = (log(1 / 60), 2.5)  # of the logarithm of changes a day: centre, width
_SHAPE: Final = (log(0.7), 0.8)
_STILL: Final = (-1.4, 1.2)  # logit of the share that never changes
_IDLE: Final = (-0.5, 2.5)  # logit of the share of claims without reason
_MOST_SHAPE: Final = 4
_MOST_MEAN: Final = 40
_LOG_LEAST: Final = -700.0
_TINY: Final = 1e-300


class RatePrior(NamedTuple):
    """Parameters of the distribution of rates, each without bounds.

    Attributes:
        mean: logarithm of the mean rate, in changes a day.
        shape: logarithm of the shape of the gamma distribution.
        still: logit of the share of pages that never change.
        idle: logit of the share of claims without a reason.
    """

    mean: float
    shape: float
    still: float
    idle: float


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


class RateLikelihoods(NamedTuple):
    """Likelihood of a history for each rate, divided by the greatest of them.

    Attributes:
        log_most: logarithm of that.
    """

    of_rates: list[float]
    log_most: float


def likelihoods(
    history: PageHistory, rates: Iterable[float], idle: float
) -> RateLikelihoods:
    """Return the likelihood of a history for each rate.

    An interval of a claim without reason has a change by chance only.
    """
    n = history.n_pages
    same, n_changed = history.same / n, history.n_changed / n
    length = history.changed / history.n_changed if n_changed else 0.0
    found = []
    for rate in rates:
        value = -rate * same
        if n_changed:
            rest = idle * exp(-rate * length)
            value += n_changed * log1p(-rest) if rest < 1 else -inf
        found.append(value)
    most = max(found)
    ratios = [exp(max(value - most, _LOG_LEAST)) for value in found]
    return RateLikelihoods(ratios, most)


def sample_priors(
    histories: Sequence[PageHistory], steps: RateSteps, *, has_idle: bool, n_draws: int
) -> Sequence[RatePrior]:
    """Return draws from the posterior distribution of the parameters.

    Args:
        histories: of groups of pages.
        steps: of the rates.
        has_idle: the intervals are those of claims, some without a reason.
        n_draws: number of draws.
    """
    known = [each for each in histories if each.n_same or each.n_changed]
    if not known:
        return _unlearned(has_idle, n_draws)
    return _sampled(_Density(known, steps, has_idle=has_idle), n_draws)


@cache
def _unlearned(has_idle: bool, n_draws: int) -> Sequence[RatePrior]:
    """Return draws for a site without refetches."""
    return _sampled(_Density([], RateSteps(0, 1), has_idle=has_idle), n_draws)


def _sampled(density: _Density, n_draws: int) -> list[RatePrior]:
    around = ((density.centre, 1.5), *density.others)
    middle, widths = zip(*around, strict=True)
    return [
        _prior(each) for each in sample(density, middle, widths, n_draws, density.name)
    ]


def _prior(point: Sequence[float]) -> RatePrior:
    return RatePrior(*point, *((inf,) * (4 - len(point))))


class _Density:
    """Logarithm of the posterior density of the parameters, up to a constant."""

    def __init__(
        self, histories: Sequence[PageHistory], steps: RateSteps, *, has_idle: bool
    ) -> None:
        self._histories, self._steps, self._has_idle = histories, steps, has_idle
        self._rates = steps.rates
        self._numbers = [each.n_pages for each in histories]
        self._rows: dict[float, list[RateLikelihoods]] = {}
        self.others = (_SHAPE, _STILL, _IDLE)[: 2 + has_idle]
        # Like histories have the same draws, at any time.
        self.name = repr([(each.n_pages, *each.times) for each in histories])
        self._n_same = sum(each.n_same for each in histories)
        time = sum(each.same + each.changed for each in histories)
        n_changed = sum(each.n_changed for each in histories)
        self.centre = log((n_changed + 0.5) / time) if time else _MEAN[0]

    def _likelihoods(self, idle: float) -> list[RateLikelihoods]:
        if idle not in self._rows:
            self._rows[idle] = [
                likelihoods(each, self._rates, idle) for each in self._histories
            ]
        return self._rows[idle]

    def __call__(self, point: Sequence[float]) -> float:
        prior = _prior(point)
        if abs(prior.shape) > _MOST_SHAPE or abs(prior.mean) > _MOST_MEAN:
            return -inf
        value = -1.5 * log1p(((prior.mean - _MEAN[0]) / _MEAN[1]) ** 2 / 2)
        for x, (middle, width) in zip(point[1:], self.others, strict=True):
            value -= ((x - middle) / width) ** 2 / 2
        weights, idle = self._steps.weights(prior), idle_share(prior)
        for n, (row, most) in zip(self._numbers, self._likelihoods(idle), strict=True):
            value += n * (log(sum(map(mul, weights, row)) + _TINY) + most)
        return value + self._n_same * log(idle + _TINY)


def idle_share(prior: RatePrior) -> float:
    """Return the share of claims without a reason, in steps of 0.05.

    It is 1 if the prior has none: then claims say nothing.
    """
    return round(20 * share(prior.idle)) / 20
