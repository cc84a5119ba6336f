"""Refresh by sitemaps: fetch pages with a claimed change if lastmod is reliable.

Trust in lastmod values is learned from refetches, for each sitemap by the pages that it
dates. Pages without a date are refreshed by another policy, and say nothing about the
dates of others.

Pages with a claimed change are fetched soon, others only as samples, so unclaimed
changes are found late or never. Therefore claimed and unclaimed intervals are counted
separately, and unclaimed changes are extrapolated from the sampled time to the time of
all pages.

Source: section 6.3.2 of the paper, which leaves open how the accuracy is approximated
"using historical data".
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import heappush, heappushpop
from math import floor
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.measures.refetches import (
    N_LATEST,
    FetchInterval,
    group_of,
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
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from rdfcrawl.analysis.measures.uri_facts import UriFacts


LEAST_RECALL: Final = 0.9
LEAST_PRECISION: Final = 0.5  # below it, most claimed fetches are useless
LEAST_INTERVALS: Final = 20
"""Intervals from which on a sitemap is judged by its own pages."""
MAX_SITEMAPS: Final = 1000
"""Sitemaps of a site that are judged by their own pages, in memory."""


@dataclass(frozen=True, slots=True)
class LastmodTrust:
    """Precision and recall of lastmods, each the mean of a Beta distribution.

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
        each = (interval.end_ms, length, interval.content_changed)
        if len(self._latest) < self._n_latest:
            heappush(self._latest, each)
        else:
            heappushpop(self._latest, each)

    @property
    def number(self) -> int:
        return len(self._latest)

    @property
    def n_changed(self) -> int:
        return sum(content_changed for _, _, content_changed in self._latest)

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
    """Latest intervals of some pages, claimed and unclaimed, up to 200 each."""

    n_latest: int = N_LATEST
    _claimed: _LatestIntervals = field(init=False)
    _unclaimed: _LatestIntervals = field(init=False)

    def __post_init__(self) -> None:
        """Start without intervals."""
        self._claimed = _LatestIntervals(self.n_latest)
        self._unclaimed = _LatestIntervals(self.n_latest)

    def add(self, interval: FetchInterval) -> None:
        """Count one interval of any of the pages."""
        (self._claimed if interval.is_claimed else self._unclaimed).add(interval)

    def judge(self, *, n_pages: int, now_ms: int) -> LastmodTrust:
        """Return precision and recall at a time.

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


UNDATED: Final = LastmodTrust(precision=0.0, recall=0.0)
"""Of pages for which no sitemap states a lastmod."""


@dataclass(frozen=True, slots=True)
class SiteTrust:
    """Trust in the lastmods of a site.

    Attributes:
        dated: of all pages with a lastmod.
        by_sitemap: of the pages that one sitemap dates, if enough is known of these.
        n_undated: pages without a lastmod.
    """

    dated: LastmodTrust
    by_sitemap: Mapping[str, LastmodTrust]
    n_undated: int = 0

    def of(self, facts: UriFacts) -> LastmodTrust:
        """Return the trust in the lastmod of a page."""
        if not is_dated(facts):
            return UNDATED
        return self.by_sitemap.get(facts.dated_by, self.dated)

    @property
    def covers_all(self) -> bool:
        """Whether the lastmods of all pages are trusted."""
        known = (self.dated, *self.by_sitemap.values())
        return not self.n_undated and all(each.is_trusted for each in known)


@dataclass(frozen=True, slots=True)
class SitemapLed:
    """Policy that fetches pages whose change sitemaps claim, and a few samples.

    If the lastmods of a sitemap are not trusted, and for pages without any, the
    fallback chooses; if lastmods are precise, pages with a claimed change come first.

    Attributes:
        fallback: for pages whose lastmods are not trusted.
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
        n_reserved = max(floor(epoch.n_fetches * self.exploration), 1)
        n_claims = max(epoch.n_fetches - n_reserved, 1)
        precise = (x for x in open_pages() if trust.of(x).is_precise)
        chosen = _slowest(filter(is_claimed, precise), n_claims)
        taken = set(chosen)

        def open_others(*, is_trusted: bool) -> Iterator[UriFacts]:
            for each in open_pages():
                if each.url not in taken and trust.of(each).is_trusted is is_trusted:
                    yield each

        rest = epoch.n_fetches - len(chosen)
        n_samples = min(self._n_samples(len(chosen), epoch), rest)
        chosen += _sample(open_others(is_trusted=True), n_samples, epoch.now_ms)
        if trust.covers_all:
            return chosen
        more = replace(epoch, n_fetches=epoch.n_fetches - len(chosen))
        return chosen + self.fallback.choose(
            partial(open_others, is_trusted=False), more
        )

    def appraiser(
        self, open_pages: Callable[[], Iterable[UriFacts]], now_ms: int
    ) -> Callable[[UriFacts], float]:
        """Return a function that gives the worth of fetching a page of a site.

        A claimed change is worth the time for which the new copy is fresh, as often as
        claims are right; other pages with a trusted lastmod rarely have a change.
        """
        judged = judge_site(open_pages(), now_ms)

        def worth(facts: UriFacts) -> float:
            rate, trust = rate_of(facts), judged.of(facts)
            if rate and trust.is_precise and is_claimed(facts):
                return trust.precision / rate
            missed = 1 - trust.recall if trust.is_trusted else 1.0
            return missed * worth_of(rate, now_ms - last_fetched_ms(facts))

        return worth

    def _n_samples(self, n_claimed: int, epoch: RefreshEpoch) -> int:
        """Return the number of samples whose long-term share is `exploration`."""
        n_fetches = n_claimed / (1 - self.exploration) or epoch.n_fetches
        return max(epoch.rounded(n_fetches * self.exploration), 1)


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
    count, n_dated, n_undated = TrustCount(), 0, 0
    counts: dict[str, TrustCount] = {}
    n_pages, n_intervals = Counter[str](), Counter[str]()
    for each in pages:
        if is_dated(each):
            n_dated += 1
            n_pages[each.dated_by] += 1
        else:
            n_undated += 1
        for interval in iter_intervals(each):
            name = group_of(each, interval)
            if name is None:
                continue
            count.add(interval)
            if name in counts or len(counts) < MAX_SITEMAPS:
                counts.setdefault(name, TrustCount()).add(interval)
                n_intervals[name] += 1
    by_sitemap = {
        name: counts[name].judge(n_pages=n_pages[name], now_ms=now_ms)
        for name, n in n_intervals.items()
        if n >= LEAST_INTERVALS
    }
    dated = count.judge(n_pages=n_dated, now_ms=now_ms)
    return SiteTrust(dated, by_sitemap, n_undated)


def _sample(pages: Iterable[UriFacts], n: int, now_ms: int) -> list[str]:
    """Return random pages; the oldest would be those that hardly ever change."""
    return most_urgent(((chance(f"{now_ms} {x.url}"), x.url) for x in pages), n)


def _slowest(pages: Iterable[UriFacts], n: int) -> list[str]:
    """Return the pages that change least often: their new copies last longest."""
    return most_urgent(((-rate_of(each), each.url) for each in pages), n)
