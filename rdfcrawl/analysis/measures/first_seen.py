"""First sightings of URLs by sitemaps and by links (section 5.2).

Times are whole seconds: if both ways see a URL within one second, it is a tie. All
measures concern a period T; URLs with a time outside of it are omitted. URLs that exist
when the crawl begins are first seen then: `first_pass_end` finds a start of T that
excludes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from math import inf
from operator import attrgetter
from typing import Final

from rdfcrawl.analysis.measures.ratio import MeasuredRatio
from rdfcrawl.analysis.measures.uri_facts import SitemapFacts, SitemapOrigin, UriFacts

DAY_SECS: Final = 86_400


@dataclass(frozen=True, slots=True)
class SamplingPeriod:
    """A time interval T, including its start but not its end."""

    begin_ms: float = -inf
    end_ms: float = inf

    def secs(self, time_ms: int | None) -> int | None:
        """Return a time in whole seconds; None if it is outside the period."""
        if time_ms is None or not self.begin_ms <= time_ms < self.end_ms:
            return None
        return time_ms // 1000


ALL_TIMES: Final = SamplingPeriod()


@dataclass(slots=True)
class FirstSeenCount:
    """The measures of section 5.2 for one domain, or for several.

    Memory: one entry for each day, and for each pair of days of figure 6.

    Attributes:
        delta_secs: formula (6), SeenDelta: the sum of FirstSeen_D(u) - FirstSeen_S(u);
            positive if sitemaps are earlier.
        n_both: |D_T|: URLs first seen in T both ways.
        n_listed_first: of these, first by sitemaps.
        n_linked_first: of these, first by Discovery.
        by_ping: figure 7: URLs of D_T by whether sitemaps were first, and whether a
            sitemap that lists the URL came by ping.
        listed_days: figure 2: URLs by the day of FirstSeen_S since 1970.
        linked_days: URLs by the day of FirstSeen_D.
        day_pairs: figure 6: URLs of D_T by both days, that of sitemaps first.
    """

    period: SamplingPeriod = ALL_TIMES
    delta_secs: int = 0
    n_both: int = 0
    n_listed_first: int = 0
    n_linked_first: int = 0
    by_ping: Counter[tuple[bool, bool]] = field(default_factory=Counter)
    listed_days: Counter[int] = field(default_factory=Counter)
    linked_days: Counter[int] = field(default_factory=Counter)
    day_pairs: Counter[tuple[int, int]] = field(default_factory=Counter)

    def add(self, facts: UriFacts) -> None:
        """Count one URL."""
        listed = self.period.secs(facts.first_listed_ms)
        linked = self.period.secs(facts.first_linked_ms)
        if listed is not None:
            self.listed_days[listed // DAY_SECS] += 1
        if linked is not None:
            self.linked_days[linked // DAY_SECS] += 1
        if listed is None or linked is None:
            return
        self.n_both += 1
        self.delta_secs += linked - listed
        self.n_listed_first += listed < linked
        self.n_linked_first += linked < listed
        self.by_ping[listed < linked, came_by_ping(facts)] += 1
        self.day_pairs[listed // DAY_SECS, linked // DAY_SECS] += 1

    def add_all(self, others: FirstSeenCount) -> None:
        """Add the counts of other URLs in the same period."""
        self.delta_secs += others.delta_secs
        self.n_both += others.n_both
        self.n_listed_first += others.n_listed_first
        self.n_linked_first += others.n_linked_first
        self.by_ping.update(others.by_ping)
        self.listed_days.update(others.listed_days)
        self.linked_days.update(others.linked_days)
        self.day_pairs.update(others.day_pairs)

    @property
    def n_ties(self) -> int:
        """URLs of D_T that were seen both ways in the same second."""
        return self.n_both - self.n_listed_first - self.n_linked_first

    @property
    def mean_delta_secs(self) -> MeasuredRatio:
        """SeenDelta / |D_T|."""
        return MeasuredRatio(self.delta_secs, self.n_both)

    def share_by_ping(
        self, *, is_listed_first: bool, is_by_ping: bool
    ) -> MeasuredRatio:
        """Return one cell of figure 7: its share of all URLs of D_T."""
        return MeasuredRatio(self.by_ping[is_listed_first, is_by_ping], self.n_both)

    def listed_first_share(self, *, is_by_ping: bool) -> MeasuredRatio:
        """Return the share first seen by sitemaps, of URLs with ping or without.

        If both shares are equal, pings make no difference (see figure 7).
        """
        first, later = (self.by_ping[way, is_by_ping] for way in (True, False))
        return MeasuredRatio(first, first + later)


def came_by_ping(facts: UriFacts) -> bool:
    """Return whether a sitemap that lists the URL came by ping."""
    return any(each.found_by is SitemapOrigin.PING for each in facts.listings)


def first_pass_end(
    sitemaps: Iterable[SitemapFacts], facts: Iterable[UriFacts]
) -> int | None:
    """Return the end of the first pass over a domain; None before its end.

    The pass ends when both the sitemap that was read first and the page that was
    fetched first have been read a second time.
    """
    reread = _second((each.started_ms for each in x.readings) for x in sitemaps)
    refetched = _second((each.started_ms for each in x.fetches) for x in facts)
    return None if reread is None or refetched is None else max(reread, refetched)


def _second(things: Iterable[Iterable[int]]) -> int | None:
    """Return the second time of the item with the earliest first time."""
    first: list[int] = []
    for times in things:
        begin = sorted(times)[:2]
        if begin and (not first or begin < first):
            first = begin
    return first[1] if len(first) > 1 else None


def iter_first_seen(
    facts: Iterable[UriFacts], periods: dict[str, SamplingPeriod] | None = None
) -> Iterator[tuple[str, FirstSeenCount]]:
    """Yield each domain with its measures; facts must be grouped by domain.

    Args:
        facts: grouped by domain.
        periods: T of each domain; all times for the others.
    """
    for domain, uris in groupby(facts, key=attrgetter("domain")):
        count = FirstSeenCount((periods or {}).get(domain, ALL_TIMES))
        for each in uris:
            count.add(each)
        yield domain, count
