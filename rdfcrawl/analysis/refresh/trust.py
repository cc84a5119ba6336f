"""Trust in the change signals of a site: the lastmod values of its sitemaps.

It is learned from refetches, for each sitemap by the pages that it dates. Pages without
a date say nothing about the dates of others.

Pages with a claimed change are fetched soon, others only as samples, so unclaimed
changes are found late or never. Therefore claimed and unclaimed intervals are counted
separately, and unclaimed changes are extrapolated from the sampled time to the time of
all pages.

Source: section 6.3.2 of the paper, which leaves open how the accuracy is approximated
"using historical data".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappush, heapreplace
from math import expm1
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.measures.refetches import (
    N_LATEST,
    FetchInterval,
    claimed_times,
    has_claim,
    iter_intervals,
    stated_lastmod,
)
from rdfcrawl.analysis.refresh.optimal import UNSTATED_RATE
from rdfcrawl.analysis.refresh.policy import last_fetched_ms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rdfcrawl.analysis.measures.uri_facts import UriFacts


LEAST_RECALL: Final = 0.9
LEAST_PRECISION: Final = 0.5  # below it, most claimed fetches are useless
LEAST_DETECTION: Final = 0.5  # below it, changes are mostly claimed by chance
LEAST_INTERVALS: Final = 20
"""Intervals from which on a sitemap is judged by its own pages."""
MAX_SITEMAPS: Final = 1000
"""Sitemaps of a site that are judged by their own pages, in memory."""
_SUREST: Final = 0.98  # detection


@dataclass(frozen=True, slots=True)
class LastmodTrust:
    """Precision and recall of lastmods, each the mean of a Beta distribution.

    The prior is Beta(1, 1), with mean 0.5.

    Attributes:
        detection: share of changes that are claimed, beyond those by chance.
        false_rate: claims without a change, in each millisecond.
    """

    precision: float
    recall: float
    detection: float = 0.0
    false_rate: float = UNSTATED_RATE

    @property
    def is_precise(self) -> bool:
        """Whether pages with a claimed change are worth fetching before others."""
        return self.precision >= LEAST_PRECISION

    @property
    def is_trusted(self) -> bool:
        """Whether to fetch only pages with a claimed change, and samples."""
        is_complete = self.recall >= LEAST_RECALL and self.detection >= LEAST_DETECTION
        return self.is_precise and is_complete


class _LatestIntervals:
    """The intervals of a site that ended last, and their sums."""

    def __init__(
        self, n_latest: int, latest: Iterable[tuple[int, int, bool, int]] = ()
    ) -> None:
        self._n_latest = n_latest
        self._latest = sorted(latest)  # a heap of end, length, is changed, claims

    def add(self, interval: FetchInterval) -> None:
        length = interval.end_ms - interval.begin_ms
        n_claims = len(interval.claimed_ms)
        self._keep((interval.end_ms, length, interval.content_changed, n_claims))

    def include(self, other: _LatestIntervals) -> None:
        for each in other._latest:
            self._keep(each)

    def _keep(self, each: tuple[int, int, bool, int]) -> None:
        if len(self._latest) < self._n_latest:
            heappush(self._latest, each)
        elif each > self._latest[0]:
            heapreplace(self._latest, each)

    @property
    def number(self) -> int:
        return len(self._latest)

    @property
    def n_changed(self) -> int:
        return sum(each[2] for each in self._latest)

    @property
    def n_claims(self) -> int:
        return sum(each[3] for each in self._latest)

    @property
    def length_ms(self) -> int:
        return sum(each[1] for each in self._latest)

    def since(self, time_ms: int) -> _LatestIntervals:
        """Return the intervals that ended at a time or later."""
        latest = (each for each in self._latest if each[0] >= time_ms)
        return _LatestIntervals(self._n_latest, latest)

    @property
    def first_end_ms(self) -> int:
        return self._latest[0][0]


@dataclass(slots=True)
class TrustCount:
    """Latest intervals of some pages, claimed and unclaimed, up to 200 each.

    Attributes:
        n_pages: with a lastmod.
        n_pending: claims since their last fetches.
        n_intervals: number of intervals, also of older ones.
    """

    n_latest: int = N_LATEST
    n_pages: int = 0
    n_pending: int = 0
    n_intervals: int = 0
    _claimed: _LatestIntervals = field(init=False)
    _unclaimed: _LatestIntervals = field(init=False)

    def __post_init__(self) -> None:
        """Start without intervals."""
        self._claimed = _LatestIntervals(self.n_latest)
        self._unclaimed = _LatestIntervals(self.n_latest)

    def add(self, interval: FetchInterval) -> None:
        """Count one interval of any of the pages."""
        self.n_intervals += 1
        (self._claimed if interval.is_claimed else self._unclaimed).add(interval)

    def include(self, other: TrustCount) -> None:
        """Count the pages and intervals of other pages, too."""
        self.n_pages += other.n_pages
        self.n_pending += other.n_pending
        self._claimed.include(other._claimed)
        self._unclaimed.include(other._unclaimed)

    def judge(self, now_ms: int) -> LastmodTrust:
        """Return precision and recall at a time.

        precision = (claimed and changed + 1) / (claimed + 2)
        recall = (claimed and changed + 1) / (claimed and changed + missed + 2)

        `missed` is the number of unclaimed changes since the end of the first claimed
        interval: those seen, times the page-time of all pages by the page-time seen;
        at least those seen.
        """
        claimed, unclaimed = self._claimed, self._unclaimed
        found, weight, page_time = claimed.n_changed, 1.0, 0.0
        if claimed.number:
            begin_ms = claimed.first_end_ms
            unclaimed = unclaimed.since(begin_ms)
            page_time = self.n_pages * max(now_ms - begin_ms, 0)
            weight = max(page_time / max(unclaimed.length_ms, 1), 1.0)
        missed = weight * unclaimed.n_changed
        precision = (found + 1) / (claimed.number + 2)
        recall = (found + 1) / (found + missed + 2)
        n_false = (1 - precision) * (claimed.n_claims + self.n_pending + 1)
        false_rate = n_false / (page_time + 1 / UNSTATED_RATE)
        mean_ms = claimed.length_ms / max(claimed.number, 1)
        by_chance = -expm1(-false_rate * mean_ms)
        detection = 0.0  # by_chance is 1 if an interval has many false claims
        if recall > by_chance:
            detection = (recall - by_chance) / (1 - by_chance)
        return LastmodTrust(precision, recall, min(detection, _SUREST), false_rate)


UNDATED: Final = LastmodTrust(0.0, 0.0)
"""Of pages for which no sitemap states a lastmod."""


@dataclass(frozen=True, slots=True)
class SiteTrust:
    """Trust in the lastmods of a site.

    Attributes:
        dated: of all pages with a lastmod.
        by_sitemap: of the pages that one sitemap dates, if enough is known of these.
    """

    dated: LastmodTrust
    by_sitemap: Mapping[str, LastmodTrust]

    def of(self, facts: UriFacts) -> LastmodTrust:
        """Return the trust in the lastmod of a page."""
        if not is_dated(facts):
            return UNDATED
        return self.of_source(facts.dated_by)

    def of_source(self, name: str) -> LastmodTrust:
        """Return the trust in the signals of a source; for others, that in all."""
        return self.by_sitemap.get(name, self.dated)


def is_dated(facts: UriFacts) -> bool:
    """Return whether sitemaps state a lastmod of a page."""
    return bool(facts.claims) and facts.claims[-1].lastmod_ms is not None


def is_claimed(facts: UriFacts) -> bool:
    """Return whether sitemaps claim a change since the last fetch."""
    fetched_ms = last_fetched_ms(facts)
    stated = facts.claims[-1].lastmod_ms if facts.claims else None
    before = stated_lastmod(facts, fetched_ms)
    return has_claim(stated, before=before, since_ms=fetched_ms)


def judge_site(pages: Iterable[UriFacts], now_ms: int) -> SiteTrust:
    """Return the trust in the lastmods of a site at a time."""
    counts: dict[str, TrustCount] = {}
    others = TrustCount()
    for each in filter(is_dated, pages):
        count = counts.get(each.dated_by, others)
        if count is others and len(counts) < MAX_SITEMAPS:
            count = counts[each.dated_by] = TrustCount()
        count.n_pages += 1
        count.n_pending += len(claimed_times(each, last_fetched_ms(each), now_ms))
        for interval in iter_intervals(each):
            if interval.is_dated:
                count.add(interval)
    by_sitemap = {
        name: each.judge(now_ms)
        for name, each in counts.items()
        if each.n_intervals >= LEAST_INTERVALS
    }
    for count in counts.values():
        others.include(count)
    return SiteTrust(others.judge(now_ms), by_sitemap)
