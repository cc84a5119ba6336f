"""Refresh by sitemaps: fetch pages with a claimed change if lastmod is reliable.

Trust in the lastmod values of a site is learned from refetches. Pages with a claimed
change are fetched soon, others only as samples, so unclaimed changes are found late or
never. Therefore claimed and unclaimed intervals are counted separately, and unclaimed
changes are extrapolated from the sampled time to the time of all pages.

Source: section 6.3.2 of the paper, which leaves open how the accuracy is approximated
"using historical data".
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from heapq import heappush, heappushpop
from math import floor
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.measures.refetches import (
    N_LATEST,
    FetchInterval,
    has_claim,
    iter_intervals,
    stated_lastmod,
)
from rdfcrawl.analysis.refresh.optimal import (
    EXPLORATION,
    OptimalFreshness,
    rate_of,
    worth_of,
)
from rdfcrawl.analysis.refresh.policy import (
    RefreshEpoch,
    RefreshPolicy,
    chance,
    last_fetched_ms,
    most_urgent,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rdfcrawl.analysis.measures.uri_facts import UriFacts


LEAST_RECALL: Final = 0.9
LEAST_PRECISION: Final = 0.5  # below it, most claimed fetches are useless


@dataclass(frozen=True, slots=True)
class LastmodTrust:
    """Precision and recall of a site's lastmods, each the mean of a Beta distribution.

    The prior is Beta(1, 1), with mean 0.5.
    """

    precision: float
    recall: float

    @property
    def is_precise(self) -> bool:
        """Whether pages with a claimed change are worth fetching before others."""
        return self.precision >= LEAST_PRECISION

    @property
    def is_trusted(self) -> bool:
        """Whether to fetch only pages with a claimed change, and samples."""
        return self.is_precise and self.recall >= LEAST_RECALL


class _LatestIntervals:
    """The intervals of a site that ended last, and their sums."""

    def __init__(
        self, n_latest: int, latest: Iterable[tuple[int, int, bool]] = ()
    ) -> None:
        self._n_latest = n_latest
        self._latest = sorted(latest)  # a heap of end, length, is changed

    def add(self, interval: FetchInterval) -> None:
        length = interval.end_ms - interval.begin_ms
        each = (interval.end_ms, length, interval.is_changed)
        if len(self._latest) < self._n_latest:
            heappush(self._latest, each)
        else:
            heappushpop(self._latest, each)

    @property
    def number(self) -> int:
        return len(self._latest)

    @property
    def n_changed(self) -> int:
        return sum(is_changed for _, _, is_changed in self._latest)

    @property
    def length_ms(self) -> int:
        return sum(length for _, length, _ in self._latest)

    def since(self, time_ms: int) -> _LatestIntervals:
        """Return the intervals that ended at a time or later."""
        latest = (each for each in self._latest if each[0] >= time_ms)
        return _LatestIntervals(self._n_latest, latest)

    @property
    def first_end_ms(self) -> int:
        return self._latest[0][0]


@dataclass(slots=True)
class TrustCount:
    """Latest intervals of one site, claimed and unclaimed, up to 200 each."""

    n_latest: int = N_LATEST
    _claimed: _LatestIntervals = field(init=False)
    _unclaimed: _LatestIntervals = field(init=False)

    def __post_init__(self) -> None:
        """Start without intervals."""
        self._claimed = _LatestIntervals(self.n_latest)
        self._unclaimed = _LatestIntervals(self.n_latest)

    def add(self, interval: FetchInterval) -> None:
        """Count one interval of any page of the site."""
        (self._claimed if interval.is_claimed else self._unclaimed).add(interval)

    def judge(self, *, n_pages: int, now_ms: int) -> LastmodTrust:
        """Return precision and recall of the site at a time.

        precision = (claimed and changed + 1) / (claimed + 2)
        recall = (claimed and changed + 1) / (claimed and changed + missed + 2)

        `missed` is the number of unclaimed changes since the end of the first claimed
        interval: those seen, times the page-time of all pages by the page-time seen;
        at least those seen.
        """
        found, unclaimed = self._claimed.n_changed, self._unclaimed
        weight = 1.0
        if self._claimed.number:
            begin_ms = self._claimed.first_end_ms
            unclaimed = unclaimed.since(begin_ms)
            page_time = n_pages * (now_ms - begin_ms)
            weight = max(page_time / max(unclaimed.length_ms, 1), 1.0)
        missed = weight * unclaimed.n_changed
        return LastmodTrust(
            precision=(found + 1) / (self._claimed.number + 2),
            recall=(found + 1) / (found + missed + 2),
        )


@dataclass(frozen=True, slots=True)
class SitemapLed:
    """Policy that fetches pages whose change sitemaps claim, and a few samples.

    If the lastmods of a site are not trusted, the fallback chooses its pages; if they
    are precise, pages with a claimed change come first.

    Attributes:
        fallback: for sites that are not trusted.
        exploration: share of the fetches for pages without a claimed change (of the
            budget, if no change is claimed); at least one in an epoch, to find
            unclaimed changes.
    """

    fallback: RefreshPolicy = field(default_factory=OptimalFreshness)
    exploration: float = EXPLORATION

    def choose(
        self, open_pages: Callable[[], Iterable[UriFacts]], epoch: RefreshEpoch
    ) -> list[str]:
        """Return pages with a claimed change, the slowest first, then other pages."""
        trust = judge_site(open_pages(), epoch.now_ms)
        claimed: list[str] = []
        if trust.is_precise:
            n_reserved = max(floor(epoch.n_fetches * self.exploration), 1)
            n_claims = max(epoch.n_fetches - n_reserved, 1)
            claimed = _slowest(filter(is_claimed, open_pages()), n_claims)
        taken = set(claimed)
        rest = epoch.n_fetches - len(claimed)
        if trust.is_trusted:
            others = (x for x in open_pages() if x.url not in taken)
            n_samples = self._n_samples(len(claimed), epoch)
            return claimed + _sample(others, min(n_samples, rest), epoch.now_ms)

        def open_others() -> Iterable[UriFacts]:
            return (x for x in open_pages() if x.url not in taken)

        more = replace(epoch, n_fetches=rest)
        return claimed + self.fallback.choose(open_others, more)

    def appraiser(
        self, open_pages: Callable[[], Iterable[UriFacts]], now_ms: int
    ) -> Callable[[UriFacts], float]:
        """Return a function that gives the worth of fetching a page of a site.

        A claimed change is worth the time for which the new copy is fresh, as often as
        claims are right; other pages of a trusted site rarely have a change.
        """
        trust = judge_site(open_pages(), now_ms)
        missed = 1 - trust.recall if trust.is_trusted else 1.0

        def worth(facts: UriFacts) -> float:
            rate = rate_of(facts)
            if rate and trust.is_precise and is_claimed(facts):
                return trust.precision / rate
            return missed * worth_of(rate, now_ms - last_fetched_ms(facts))

        return worth

    def _n_samples(self, n_claimed: int, epoch: RefreshEpoch) -> int:
        """Return the number of samples whose long-term share is `exploration`."""
        n_fetches = n_claimed / (1 - self.exploration) or epoch.n_fetches
        return max(epoch.rounded(n_fetches * self.exploration), 1)


def is_claimed(facts: UriFacts) -> bool:
    """Return whether sitemaps claim a change since the last fetch."""
    fetched_ms = last_fetched_ms(facts)
    stated = facts.claims[-1].lastmod_ms if facts.claims else None
    before = stated_lastmod(facts, fetched_ms)
    return has_claim(stated, before=before, since_ms=fetched_ms)


def judge_site(pages: Iterable[UriFacts], now_ms: int) -> LastmodTrust:
    """Return the trust in the lastmods of a site at a time."""
    count, n_pages = TrustCount(), 0
    for each in pages:
        n_pages += 1
        for interval in iter_intervals(each):
            count.add(interval)
    return count.judge(n_pages=n_pages, now_ms=now_ms)


def _sample(pages: Iterable[UriFacts], n: int, now_ms: int) -> list[str]:
    """Return random pages; the oldest would be those that hardly ever change."""
    return most_urgent(((chance(f"{now_ms} {x.url}"), x.url) for x in pages), n)


def _slowest(pages: Iterable[UriFacts], n: int) -> list[str]:
    """Return the pages that change least often: their new copies last longest."""
    return most_urgent(((-rate_of(each), each.url) for each in pages), n)
