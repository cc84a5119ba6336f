"""First sightings of URLs by sitemaps and by links (section 5.2).

Times are whole seconds: if both ways see a URL within one second, it is a tie. All
measures concern a period T; URLs with a time outside of it are omitted. URLs that exist
when the crawl begins are first seen then.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import inf
from typing import Final

from rdfcrawl.analysis.measures.ratio import MeasuredRatio, add_to
from rdfcrawl.analysis.measures.uri_facts import SitemapOrigin, UriFacts

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
        by_ping: figure 7: URLs of D_T by whether sitemaps were first, and whether the
            reading that first listed the URL followed a ping.
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
        add_to(self, others)

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
    """Return whether the reading that first listed the URL followed a ping.

    Later readings do not change that.
    """
    first_ms = facts.first_listed_ms
    return any(
        each.found_by is SitemapOrigin.PING
        for each in facts.listings
        if each.first_ms == first_ms
    )
