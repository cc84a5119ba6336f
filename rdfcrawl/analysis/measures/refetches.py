"""Measures from refetches: changes, freshness of copies, accuracy of lastmod.

An interval lies between two consecutive fetches of a URL that were read; failed
fetches in between are ignored.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.analysis.measures.ratio import MeasuredRatio
from rdfcrawl.analysis.measures.uri_facts import WAS_READ

if TYPE_CHECKING:
    from rdfcrawl.analysis.measures.uri_facts import UriFacts, UriFetch

N_LATEST: Final = 200  # latest intervals of a site, to judge its lastmod values
_DAY_MS: Final = 24 * 3600 * 1000
_READ_MS: Final = attrgetter("read_ms")


class FetchInterval(NamedTuple):
    """The time between two fetches of one URL that were read.

    Attributes:
        content_changed: the content differs: the bytes of the body.
        statements_changed: the statements differ; false if one of them is unknown.
        is_dated: sitemaps stated a lastmod at its end.
        is_claimed: sitemaps claimed a change by the end of the interval.
        changed_ms: time of the change: `Last-Modified` if it lies in the interval, else
            the middle; None if there was no change.
        modified_ms: `Last-Modified` of a change, if it lies in the interval.
        claimed_ms: when sitemaps claimed changes in the interval.
    """

    begin_ms: int
    end_ms: int
    content_changed: bool
    is_claimed: bool
    changed_ms: float | None
    statements_changed: bool = False
    is_dated: bool = False
    modified_ms: int | None = None
    claimed_ms: tuple[int, ...] = ()


def iter_intervals(facts: UriFacts) -> Iterator[FetchInterval]:
    """Yield the intervals of one URL with known content at both ends, in order.

    Statements may be equal where the content differs. A 304 leaves both.
    """
    last: UriFetch | None = None
    content = statements = ""
    for fetch in facts.fetches:
        is_same = fetch.status == "UNCHANGED"
        if not (is_same or fetch.status in WAS_READ):
            continue
        found = fetch.content_hash or (content if is_same else "")
        if not found:
            continue
        read = fetch.statements_hash or (statements if is_same else "")
        if last is not None:
            statements_changed = bool(statements and read) and read != statements
            content_changed = found != content
            yield _interval(
                facts,
                last,
                fetch,
                content_changed=content_changed,
                statements_changed=statements_changed,
            )
        last, content, statements = fetch, found, read


def _interval(
    facts: UriFacts,
    last: UriFetch,
    fetch: UriFetch,
    *,
    content_changed: bool,
    statements_changed: bool,
) -> FetchInterval:
    begin, end, modified = last.started_ms, fetch.started_ms, fetch.modified_ms
    if not content_changed or modified is None or not begin < modified <= end:
        modified = None
    middle = (begin + end) / 2
    changed_ms = middle if content_changed and modified is None else modified
    stated, claimed = _stated(facts, begin, end) if facts.claims else (None, ())
    is_claimed, is_dated = bool(claimed), stated is not None
    return FetchInterval(
        begin,
        end,
        content_changed,
        is_claimed,
        changed_ms,
        statements_changed,
        is_dated,
        modified,
        claimed,
    )


def claimed_times(facts: UriFacts, begin_ms: int, end_ms: int) -> tuple[int, ...]:
    """Return when sitemaps claimed changes since a fetch, in readings until a time.

    The time of a claim is its lastmod if it lies between the fetch and the reading,
    else that of the reading.
    """
    return _stated(facts, begin_ms, end_ms)[1] if facts.claims else ()


def _stated(
    facts: UriFacts, begin_ms: int, end_ms: int
) -> tuple[int | None, tuple[int, ...]]:
    """Return the lastmod at a time, and the times of claims since a fetch."""
    claims = facts.claims
    first = bisect_right(claims, begin_ms, key=_READ_MS)
    last = bisect_right(claims, end_ms, lo=first, key=_READ_MS)
    stated = claims[last - 1].lastmod_ms if last else None
    before = claims[first - 1].lastmod_ms if first else None
    if not has_claim(stated, before=before, since_ms=begin_ms) or stated is None:
        return stated, ()
    if first == last:  # it was read before the fetch, and lies after it
        return stated, (min(stated, end_ms),)
    new = [(x.lastmod_ms, x.read_ms) for x in claims[first:last]]
    return stated, tuple(
        [
            ms if begin_ms < ms <= read_ms else read_ms
            for ms, read_ms in new
            if ms is not None
        ]
    )


def stated_lastmod(facts: UriFacts, time_ms: int) -> int | None:
    """Return the lastmod of a URL that sitemaps stated at a time, if any."""
    place = bisect_right(facts.claims, time_ms, key=_READ_MS)
    return facts.claims[place - 1].lastmod_ms if place else None


def has_claim(stated: int | None, *, before: int | None, since_ms: int) -> bool:
    """Return whether a lastmod claims a change since a fetch.

    It is later than the one that was stated at the fetch, or than the fetch.
    """
    if stated is None:
        return False
    return stated > since_ms or (before is not None and stated > before)


def group_of(facts: UriFacts, interval: FetchInterval) -> str | None:
    """Return the sitemap that dates a page in an interval; None for undated pages.

    It is empty if the sitemap is unknown.
    """
    return facts.dated_by if interval.is_dated else None


@dataclass(frozen=True, slots=True)
class LastmodAccuracy:
    """Reliability of the lastmod values of a site.

    Attributes:
        n_claimed: intervals with a claimed change.
        n_changed: intervals with changed content.
        n_both: intervals with both.
        n_new_statements: intervals with other statements at the end.
        n_dated_changed: intervals with changed content and a lastmod.
    """

    n_intervals: int = 0
    n_claimed: int = 0
    n_changed: int = 0
    n_both: int = 0
    n_new_statements: int = 0
    n_dated_changed: int = 0

    @classmethod
    def of(cls, intervals: Iterable[FetchInterval]) -> LastmodAccuracy:
        """Return the accuracy over some intervals."""
        n = n_claimed = n_changed = n_both = n_new = n_dated = 0
        for each in intervals:
            n += 1
            n_claimed += each.is_claimed
            n_changed += each.content_changed
            n_both += each.is_claimed and each.content_changed
            n_new += each.statements_changed
            n_dated += each.content_changed and each.is_dated
        return cls(n, n_claimed, n_changed, n_both, n_new, n_dated)

    @property
    def precision(self) -> MeasuredRatio:
        """The share of claimed changes that were real."""
        return MeasuredRatio(self.n_both, self.n_claimed)

    @property
    def recall(self) -> MeasuredRatio:
        """The share of real changes that were claimed, also of pages without dates."""
        return MeasuredRatio(self.n_both, self.n_changed)

    @property
    def dated_share(self) -> MeasuredRatio:
        """The share of real changes of pages with a lastmod: its coverage."""
        return MeasuredRatio(self.n_dated_changed, self.n_changed)

    @property
    def dated_recall(self) -> MeasuredRatio:
        """The share of real changes of pages with a lastmod that were claimed."""
        return MeasuredRatio(self.n_both, self.n_dated_changed)


@dataclass(slots=True)
class CopyFreshness:
    """Freshness of the stored copies, as refetches show it.

    Source: J. Cho and H. Garcia-Molina, "Synchronizing a database to improve
    freshness" (2000): a copy is fresh while it equals the live page; its age is the
    time since the live page changed, else 0.

    Attributes:
        n_refetches: refetches with known content before and after.
        n_fresh: of these, with content that was still equal.
        n_new_statements: of these, with other statements.
        age_ms: sum of the ages of copies, just before the refetch.
        fresh_ms: sum of the times for which copies were fresh.
        total_ms: sum of the times between fetches.
    """

    n_refetches: int = 0
    n_fresh: int = 0
    n_new_statements: int = 0
    age_ms: float = 0.0
    fresh_ms: float = 0.0
    total_ms: int = 0

    def add(self, interval: FetchInterval) -> None:
        """Count one interval."""
        changed_ms = interval.changed_ms
        stale_from = interval.end_ms if changed_ms is None else changed_ms
        self.n_refetches += 1
        self.n_fresh += not interval.content_changed
        self.n_new_statements += interval.statements_changed
        self.age_ms += interval.end_ms - stale_from
        self.fresh_ms += stale_from - interval.begin_ms
        self.total_ms += interval.end_ms - interval.begin_ms

    @property
    def n_changed(self) -> int:
        """Refetches that found other content."""
        return self.n_refetches - self.n_fresh

    @property
    def fresh_days(self) -> MeasuredRatio:
        """The share of time for which copies were fresh, in days."""
        return MeasuredRatio(self.fresh_ms / _DAY_MS, self.total_ms / _DAY_MS)

    @property
    def freshness(self) -> MeasuredRatio:
        """The share of copies that were fresh when they were refetched."""
        return MeasuredRatio(self.n_fresh, self.n_refetches)

    @property
    def fresh_statements(self) -> MeasuredRatio:
        """The share of copies whose statements were those of the page."""
        n_fresh = self.n_refetches - self.n_new_statements
        return MeasuredRatio(n_fresh, self.n_refetches)

    @property
    def mean_age_secs(self) -> MeasuredRatio:
        """The mean age of copies when they were refetched."""
        return MeasuredRatio(self.age_ms / 1000, self.n_refetches)
