"""The probability that a copy is stale, and the freshness that a fetch gains.

A page changes by a Poisson process of an unknown rate. The rates of a site's pages have
a distribution, which is estimated from their histories: it is the prior of each page.
Signals, such as the dates of sitemaps, are noisy: a change is signalled with some
probability, and there are signals without a change. Both are learned for each source.

Rates are those of a grid, so the posterior of a page is a weight for each of them.

Sources: A. Kolobov et al., "Staying up to date with online content changes using
reinforcement learning for scheduling" (2019); R. Busa-Fekete et al., "Learning to crawl
with noisy change-indicating signals" (2025); N. Laird, "Nonparametric maximum
likelihood estimation of a mixing distribution" (1978).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, expm1, fsum, log, log10, sqrt
from operator import mul
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.analysis.measures.refetches import claimed_times, iter_intervals
from rdfcrawl.analysis.refresh.optimal import stated_rate, worth_of
from rdfcrawl.analysis.refresh.policy import DAY_MS
from rdfcrawl.analysis.refresh.trust import judge_site

if TYPE_CHECKING:
    from rdfcrawl.analysis.measures.uri_facts import UriFacts
    from rdfcrawl.analysis.refresh.trust import LastmodTrust, SiteTrust

RATES: Final = tuple(10 ** (n / 3) / DAY_MS for n in range(-12, 16))
"""The possible rates of change: from one in 30 years to one a second."""
MAX_SAMPLE: Final = 128
"""Pages of a site from which the distribution of rates is learned, in memory."""
_N_ROUNDS: Final = 5  # of three steps
_N_PSEUDO: Final = 3  # pages that the distribution begins with
_LEAST_TURN: Final = 1e-14
_STEPS: Final = 50  # times are distinguished to 2 %
_NEGLIGIBLE: Final = 1e-4


def _broad() -> tuple[float, ...]:
    """Return the distribution for a site of which nothing is known.

    It is log-normal, with a median of one change in a month, and some of each rate.
    """
    decades = [log10(rate * 30 * DAY_MS) for rate in RATES]
    weights = [exp(-(each**2) / 1.5) + 0.001 for each in decades]
    total = fsum(weights)
    return tuple(each / total for each in weights)


BROAD: Final[Sequence[float]] = _broad()


class ChangeSignal(NamedTuple):
    """A signal that a page has changed.

    Attributes:
        ms: its time.
        source: sitemap, feed or other source; empty: that which dates the page.
    """

    ms: int
    source: str = ""


@dataclass(frozen=True, slots=True)
class SiteModel:
    """Knowledge of a site that its pages share.

    Attributes:
        trust: in its signals, by source.
        prior: share of its pages that have each of `RATES`.
    """

    trust: SiteTrust
    prior: Sequence[float] = BROAD

    def rates(self, facts: UriFacts, now_ms: int) -> list[tuple[float, float]]:
        """Return the probable rates of a page, in changes per ms, with their weights.

        The weights add up to nearly 1: negligible ones are left out.
        """
        likelihoods = _likelihoods(facts, self.trust.of(facts), now_ms)
        joint = list(map(mul, likelihoods, self.prior))
        total = sum(joint)
        least = _NEGLIGIBLE * total
        weights = zip(RATES, joint, strict=True)
        return [(rate, each / total) for rate, each in weights if each > least]


def learn(pages: Iterable[UriFacts], now_ms: int) -> SiteModel:
    """Return the model of a site at a time.

    Its distribution of rates is learned from a sample of the pages that were refetched.
    """
    sample: list[UriFacts] = []
    trust = judge_site(_sampled(pages, sample), now_ms)
    likelihoods = [_likelihoods(x, trust.of(x), now_ms) for x in sample]
    return SiteModel(trust, _most_likely(likelihoods) if sample else BROAD)


def _most_likely(likelihoods: Sequence[Sequence[float]]) -> Sequence[float]:
    """Return the distribution of rates under which histories are most likely.

    Expectation maximization needs some hundred steps, so steps are extrapolated
    (SQUAREM: R. Varadhan and C. Roland, "Simple and globally convergent methods for
    accelerating the convergence of any EM algorithm", 2008).
    """
    prior = BROAD
    for _ in range(_N_ROUNDS):
        first = _maximized(prior, likelihoods)
        second = _maximized(first, likelihoods)
        steps = [x - y for x, y in zip(first, prior, strict=True)]
        turns = [x - y - z for x, y, z in zip(second, first, steps, strict=True)]
        turn = fsum(each * each for each in turns)
        if turn < _LEAST_TURN:
            return second
        length = max(1.0, sqrt(fsum(each * each for each in steps) / turn))
        farther = [
            x + 2 * length * y + length * length * z
            for x, y, z in zip(prior, steps, turns, strict=True)
        ]
        prior = _maximized(farther if min(farther) > 0 else second, likelihoods)
    return prior


def _maximized(
    prior: Sequence[float], likelihoods: Iterable[Sequence[float]]
) -> list[float]:
    """Return the mean posterior distribution of histories: a step of maximization."""
    total, n_pages = [_N_PSEUDO * each for each in BROAD], _N_PSEUDO
    for each in likelihoods:
        joint = list(map(mul, each, prior))
        share = 1 / sum(joint)
        total = [x + y * share for x, y in zip(total, joint, strict=True)]
        n_pages += 1
    return [each / n_pages for each in total]


def _sampled(pages: Iterable[UriFacts], sample: list[UriFacts]) -> Iterator[UriFacts]:
    """Yield pages; keep some of those that were refetched, with the same chance each.

    The numbers of the pages decide, so equal pages give the same sample.
    """
    dice, n_refetched = Random(MAX_SAMPLE), 0
    for each in pages:
        if len(each.fetches) > 1:
            n_refetched += 1
            place = int(dice.random() * n_refetched)
            if n_refetched <= MAX_SAMPLE:
                sample.append(each)
            elif place < MAX_SAMPLE:
                sample[place] = each
        yield each


def stale_probability(
    facts: UriFacts,
    model: SiteModel,
    now_ms: int,
    signals: Iterable[ChangeSignal] | None = None,
) -> float:
    """Return the probability that the copy of a page differs from the page.

    Args:
        facts: about the page.
        model: of its site.
        now_ms: a time after the last fetch.
        signals: since the last fetch; None: those of sitemaps, which are in the facts.
    """
    copy = _Copy.of(facts, model, now_ms, signals)
    return fsum(w * -expm1(-copy.decay(rate)) for rate, w in model.rates(facts, now_ms))


def fetch_worth(
    facts: UriFacts,
    model: SiteModel,
    now_ms: int,
    signals: Iterable[ChangeSignal] | None = None,
) -> float:
    """Return the expected gain in freshness by fetching a page at a time, in ms.

    For arguments see `stale_probability`.
    """
    copy = _Copy.of(facts, model, now_ms, signals)
    return fsum(w * copy.worth(rate) for rate, w in model.rates(facts, now_ms))


class _Copy(NamedTuple):
    """The age of a copy, and the signals since it was fetched."""

    age_ms: int
    trust: LastmodTrust
    signals: Sequence[LastmodTrust]

    @classmethod
    def of(
        cls,
        facts: UriFacts,
        model: SiteModel,
        now_ms: int,
        signals: Iterable[ChangeSignal] | None,
    ) -> _Copy:
        begin, trust = confirmed_ms(facts), model.trust.of(facts)
        age_ms = max(now_ms - begin, 0)
        if signals is None:
            n_claims = len(claimed_times(facts, begin, now_ms))
            return cls(age_ms, trust, (trust,) * n_claims)
        sources = (x.source for x in signals if begin < x.ms <= now_ms)
        return cls(
            age_ms,
            trust,
            [model.trust.of_source(x) if x else trust for x in sources],
        )

    def decay(self, rate: float) -> float:
        """Return -ln of the probability that the copy is fresh, for a rate of change.

        Changes without a signal are a Poisson process; each signal was one without a
        change with a probability.
        """
        found = (1 - self.trust.detection) * rate * self.age_ms
        for each in self.signals:
            found += log(1 + each.detection * rate / each.false_rate)
        return found

    def worth(self, rate: float) -> float:
        """Return the gain by a fetch, if the rate of change is known.

        It is that of a page which is fetched whenever its copy is as probably stale as
        this one, or sooner at a signal if most of those are right: the fresh time
        between two fetches, minus the time between them if it was fresh now.
        """
        seen, false = self.trust.detection * rate, self.trust.false_rate
        if not (seen or self.signals):
            return worth_of(rate, self.age_ms)
        decay = self.decay(rate)
        if seen <= false:
            return worth_of(rate, decay / rate)
        until_ms = decay / (rate - seen)
        fresh = -expm1(-(rate + false) * until_ms) / (rate + false)
        cycle = -expm1(-(seen + false) * until_ms) / (seen + false)
        return fresh - exp(-decay) * cycle


def confirmed_ms(facts: UriFacts) -> int:
    """Return when the copy of a page was last known to equal the page.

    It is the last fetch that was read or answered 304; the last one of any outcome if
    there is none.
    """
    for fetch in reversed(facts.fetches):
        if fetch.was_read or fetch.status == "UNCHANGED":
            return fetch.started_ms
    return facts.fetches[-1].started_ms if facts.fetches else 0


def _likelihoods(facts: UriFacts, trust: LastmodTrust, now_ms: int) -> Sequence[float]:
    """Return the likelihoods of what is known of a page, by rate; the greatest is 1.

    Of a time with a change, its part after `Last-Modified` had none; nor had, as surely
    as changes are signalled, the part before the first signal, or the time since the
    last fetch.
    """
    quiet, rows = 0.0, []
    for each in iter_intervals(facts):
        length = each.end_ms - each.begin_ms
        if each.content_changed:
            until = each.end_ms if each.modified_ms is None else each.modified_ms
            silent = 0.0
            if each.is_dated:
                first = each.claimed_ms[0] if each.claimed_ms else until
                silent = trust.detection * (min(first, until) - each.begin_ms)
            quiet += each.end_ms - until + silent
            rows.append(_changed(_step(until - each.begin_ms - silent)))
        else:
            quiet += length
    if trust.detection:
        begin = confirmed_ms(facts)
        until = next(iter(claimed_times(facts, begin, now_ms)), now_ms)
        quiet += trust.detection * max(until - begin, 0)
    stated = stated_rate(facts, 0.0)
    if stated:  # as if the half of the times between two changes had passed with one
        rows.append(_changed(_step(1 / min(stated, RATES[-1]))))
        quiet += 1 / stated
    rows.append([-rate * quiet for rate in RATES])
    logs = list(map(sum, zip(*rows, strict=True))) if len(rows) > 1 else rows[0]
    most = max(logs)
    return [exp(each - most) for each in logs]


def _step(ms: float) -> int:
    return round(log(max(ms, 1.0)) * _STEPS)


@lru_cache(4096)
def _changed(step: int) -> Sequence[float]:
    """Return the log-likelihoods of a change within a time, by rate."""
    ms = exp(step / _STEPS)
    return [log(-expm1(-rate * ms)) for rate in RATES]
