"""Histories of the pages of a site, in groups: the input of freshness estimates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import floor, log, log1p
from operator import add
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from rdfcrawl.analysis.measures.refetches import claimed_times
from rdfcrawl.analysis.measures.uri_facts import last_read
from rdfcrawl.analysis.refresh.policy import DAY_MS, trailing_failures
from rdfcrawl.analysis.refresh.posterior import confirmed_ms
from rdfcrawl.analysis.refresh.trust import is_dated

if TYPE_CHECKING:
    from rdfcrawl.analysis.measures.refetches import FetchInterval
    from rdfcrawl.analysis.measures.uri_facts import UriFacts

MAX_GROUPS: Final = 500
MAX_STRATA: Final = 10
"""Sitemaps of a site whose pages are groups of their own; the pages of others, and all
without a date, count together."""
_STEP: Final = log(1.25)  # width of the groups in each number, at first
_WIDEST: Final = 32.0  # then each number has few groups
_NOT_FOUND: Final = frozenset({404, 410})
_ALL_SITEMAPS: Final = ""


class PageRefetches(NamedTuple):
    """Intervals and present copy of a page, or the sums of several pages; in days.

    Attributes:
        n_pages: number of pages.
        same: time of the intervals without a change.
        n_false: claims of changes in these.
        n_missed: intervals with a change that was not claimed.
        missed: their time.
        n_claimed: intervals with a change that was claimed.
        claimed: their time.
        n_claims: claims in these.
        copied: time of the copy, since 1970.
        n_open: claims of changes since.
        n_refetches: of the pages.
        watched: time since the first fetch.
    """

    n_pages: float = 0
    same: float = 0
    n_false: float = 0
    n_missed: float = 0
    missed: float = 0
    n_claimed: float = 0
    claimed: float = 0
    n_claims: float = 0
    copied: float = 0
    n_open: float = 0
    n_refetches: float = 0
    watched: float = 0

    def plus(self, other: PageRefetches) -> PageRefetches:
        """Return the sums of both."""
        return PageRefetches._make(map(add, self, other))

    @property
    def mean(self) -> PageRefetches:
        """The history of one page."""
        if self.n_pages == 1:
            return self
        return PageRefetches._make(each / self.n_pages for each in self)


GroupKey: TypeAlias = tuple[str | None, tuple[int, ...]]


@dataclass(slots=True)
class SiteHistories:
    """Histories of the pages of a site that have a copy; like ones are one group.

    Memory: `MAX_GROUPS` groups, or some more. If there are more, they are merged into
    wider ones. So are the pages of all sitemaps but `MAX_STRATA`.

    Attributes:
        now: reference time of ages, in days since 1970.
        n_lost: copies of pages that are not found any more; they are stale.
        groups: by the sitemap that dates the pages, None if none does, empty if one of
            many, and by numbers.
    """

    now: float
    n_lost: int = 0
    groups: dict[GroupKey, PageRefetches] = field(default_factory=dict)
    _step: float = _STEP
    _names: set[str | None] = field(default_factory=set)

    def add(self, facts: UriFacts, intervals: Iterable[FetchInterval]) -> None:
        """Add a page, unless it has no copy."""
        since_ms = copied_ms(facts)
        if since_ms is None:
            return
        if is_lost(facts):
            self.n_lost += 1
            return
        self._add(*self._page(facts, intervals, since_ms))

    def key_of(self, facts: UriFacts, intervals: Iterable[FetchInterval]) -> GroupKey:
        """Return the group of a page that was added and is not lost."""
        name, history = self._page(facts, intervals, copied_ms(facts) or 0)
        return self._key(name, history)

    def _page(
        self, facts: UriFacts, intervals: Iterable[FetchInterval], since_ms: int
    ) -> tuple[str | None, PageRefetches]:
        claims = claimed_times(facts, since_ms, round(self.now * DAY_MS))
        history = _sum_of(facts, intervals)._replace(
            copied=since_ms / DAY_MS,
            n_open=len(claims),
            watched=max(self.now - facts.fetches[0].started_ms / DAY_MS, 0.0),
        )
        return (facts.dated_by if is_dated(facts) else None), history

    def latest(self) -> float:
        """Return the time of the latest copy, in days since 1970; 0 without any."""
        return max((x.copied / x.n_pages for x in self.groups.values()), default=0.0)

    def merge(self, other: SiteHistories) -> None:
        """Add the pages of another site; those that any sitemap dates count as one."""
        self.n_lost += other.n_lost
        for (name, _), history in other.groups.items():
            self._add(None if name is None else _ALL_SITEMAPS, history)

    def _add(self, name: str | None, history: PageRefetches) -> None:
        self._names |= {name} if len(self._names) < MAX_STRATA else set()
        self._put(name, history)
        while len(self.groups) > MAX_GROUPS and self._step < _WIDEST:
            self._step *= 2
            groups, self.groups = self.groups, {}
            for (name_of, _), each in groups.items():
                self._put(name_of, each)

    def _put(self, name: str | None, history: PageRefetches) -> None:
        key = self._key(name, history)
        self.groups[key] = self.groups.get(key, PageRefetches()).plus(history)

    def _key(self, name: str | None, history: PageRefetches) -> GroupKey:
        one = history.mean
        counts = one.n_missed, one.n_claimed, one.n_claims, one.n_open
        times = one.same, one.missed, one.claimed, self.now - one.copied
        numbers = *(log1p(x) / self._step for x in counts), *map(self._place, times)
        is_known = name is None or name in self._names
        return (name if is_known else _ALL_SITEMAPS), tuple(map(floor, numbers))

    def _place(self, days: float) -> float:
        return log(days) / self._step if days > 0 else -(10**6)


def _sum_of(facts: UriFacts, intervals: Iterable[FetchInterval]) -> PageRefetches:
    """Return the sums of the intervals of a page."""
    has_dates = is_dated(facts)
    same = missed = claimed = n_all = 0
    n_false = n_missed = n_claimed = n_claims = 0
    for each in intervals:
        n_all += 1
        if has_dates and not each.is_dated:
            continue  # the claims of that time are not known any more
        length = each.end_ms - each.begin_ms
        if not each.content_changed:
            same, n_false = same + length, n_false + len(each.claimed_ms)
        elif each.is_claimed:
            n_claimed, claimed = n_claimed + 1, claimed + length
            n_claims += len(each.claimed_ms)
        else:
            n_missed, missed = n_missed + 1, missed + length
    return PageRefetches(
        *(1, same / DAY_MS, n_false, n_missed, missed / DAY_MS),
        *(n_claimed, claimed / DAY_MS, n_claims),
        n_refetches=n_all,
    )


def copied_ms(facts: UriFacts) -> int | None:
    """Return when a copy was last known to equal its page; None without a copy."""
    n_good = len(facts.fetches) - len(trailing_failures(facts))
    is_deleted = bool(facts.fetches) and facts.fetches[-1].status == "DELETED"
    if last_read(facts.fetches[:n_good]) is None or facts.is_redirect or is_deleted:
        return None
    return confirmed_ms(facts)


def is_lost(facts: UriFacts) -> bool:
    """Return whether a page was not found at the last try; so its copy is stale."""
    return bool(facts.fetches) and facts.fetches[-1].http_status in _NOT_FOUND
