"""Histories of the pages of a site, in groups: the input of freshness estimates.

Sitemaps split the changes of a page into those that they claim and others. If both are
independent Poisson processes, a page without a claim has changed only by the others. So
its rate is learned from the intervals without a claim, and that of a page with a claim
from those with one. Whether a policy prefers claimed pages does not matter then.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import floor, log
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.analysis.measures.uri_facts import last_read
from rdfcrawl.analysis.refresh.policy import DAY_MS, trailing_failures
from rdfcrawl.analysis.refresh.sitemap_led import is_claimed

if TYPE_CHECKING:
    from rdfcrawl.analysis.measures.refetches import FetchInterval
    from rdfcrawl.analysis.measures.uri_facts import UriFacts

MAX_GROUPS: Final = 2000
_MAX_STRATA: Final = 40
_STEP: Final = log(1.1)  # width of the groups in each time, at first
_NOT_FOUND: Final = frozenset({404, 410})


class Stratum(NamedTuple):
    """Pages whose rates are learned together.

    Attributes:
        dated_by: the sitemap that dates them; None: none does.
        is_claimed: sitemaps claim a change since the last fetch.
    """

    dated_by: str | None
    is_claimed: bool


class PageHistory(NamedTuple):
    """Intervals and present copy of a page, or the sums of several pages; in days.

    Attributes:
        n_pages: number of pages.
        n_same: intervals without a change.
        same: their time.
        n_changed: intervals with a change.
        changed: their time.
        n_claimed: changes that were claimed.
        copied: time of the copy, since 1970.
        watched: time since the first fetch.
        n_refetches: of the pages, whatever was claimed.
    """

    n_pages: float
    n_same: float
    same: float
    n_changed: float
    changed: float
    n_claimed: float
    copied: float
    watched: float
    n_refetches: float

    @property
    def times(self) -> tuple[float, float]:
        """Mean times without and with a change."""
        changed = self.changed / self.n_changed if self.n_changed else 0.0
        return self.same / self.n_pages, changed

    def plus(self, other: PageHistory) -> PageHistory:
        """Return the sums of both."""
        return PageHistory(*(x + y for x, y in zip(self, other, strict=True)))


@dataclass(slots=True)
class SiteHistories:
    """Histories of the pages of a site that have a copy; like ones are one group.

    Memory: `MAX_GROUPS` groups. If there are more, they are merged into wider ones.

    Attributes:
        now: reference time of ages, in days since 1970.
        n_lost: copies of pages that are not found any more; they are stale.
    """

    now: float
    n_lost: int = 0
    groups: dict[tuple[Stratum, *tuple[int, ...]], PageHistory] = field(
        default_factory=dict
    )
    _step: float = _STEP

    def add(self, facts: UriFacts, intervals: Iterable[FetchInterval]) -> None:
        """Add a page, unless it has no copy."""
        since_ms = copied_ms(facts)
        if since_ms is None:
            return
        if is_lost(facts):
            self.n_lost += 1
            return
        stratum = self._stratum(facts)
        same = changed = 0
        n_same = n_changed = n_claimed = n_all = 0
        for each in intervals:
            n_all += 1
            n_claimed += each.is_claimed and each.is_changed
            if each.is_claimed is not stratum.is_claimed:
                continue
            if stratum.dated_by is not None and not each.is_dated:
                continue  # the claims of that time are not known any more
            length = each.end_ms - each.begin_ms
            if each.is_changed:
                n_changed, changed = n_changed + 1, changed + length
            else:
                n_same, same = n_same + 1, same + length
        watched = self.now - facts.fetches[0].started_ms / DAY_MS
        self._add(
            stratum,
            PageHistory(
                *(1, n_same, same / DAY_MS, n_changed, changed / DAY_MS),
                *(n_claimed, since_ms / DAY_MS, watched, n_all),
            ),
        )

    def merge(self, other: SiteHistories) -> None:
        """Add the pages of another site; pages of all sitemaps are one stratum."""
        self.n_lost += other.n_lost
        for key, history in other.groups.items():
            stratum = key[0]
            name = None if stratum.dated_by is None else ""
            self._add(stratum._replace(dated_by=name), history)

    def _stratum(self, facts: UriFacts) -> Stratum:
        is_dated = bool(facts.claims) and facts.claims[-1].lastmod_ms is not None
        name = facts.dated_by if is_dated else None
        return Stratum(name, is_claimed(facts))

    def _add(self, stratum: Stratum, history: PageHistory) -> None:
        key = self._key(stratum, history)
        known = self.groups.get(key)
        self.groups[key] = history if known is None else known.plus(history)
        if len(self.groups) > MAX_GROUPS:
            self._step *= 2
            groups, self.groups = self.groups, {}
            for (name, *_), each in groups.items():
                self._add(name, each)

    def _key(
        self, stratum: Stratum, history: PageHistory
    ) -> tuple[Stratum, *tuple[int, ...]]:
        n = history.n_pages
        return (
            stratum,
            round(history.n_same / n) and 1,
            round(history.n_changed / n),
            self._place(history.same / n),
            self._place(history.changed / n),
            self._place(self.now - history.copied / n),
        )

    def _place(self, days: float) -> int:
        return floor(log(days) / self._step) if days > 0 else -(10**6)


def copied_ms(facts: UriFacts) -> int | None:
    """Return when the copy of a page was last seen to equal it; None without a copy."""
    n_good = len(facts.fetches) - len(trailing_failures(facts))
    fetches = facts.fetches[:n_good]
    is_deleted = bool(facts.fetches) and facts.fetches[-1].status == "DELETED"
    if last_read(fetches) is None or facts.is_redirect or is_deleted:
        return None
    return fetches[-1].started_ms


def is_lost(facts: UriFacts) -> bool:
    """Return whether a page was not found at the last try; so its copy is stale."""
    return bool(facts.fetches) and facts.fetches[-1].http_status in _NOT_FOUND
