"""Refresh policies: their interface, fixed intervals, and rules for failed fetches.

A page with status 410 is gone; a page with status 404 is gone after several tries over
some time. Other failures only defer the next try, with exponential back-off: they say
nothing about the page.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from heapq import nsmallest
from itertools import takewhile
from math import floor
from typing import TYPE_CHECKING, Final, Protocol

from rdfcrawl.analysis.measures.refetches import iter_intervals
from rdfcrawl.analysis.measures.uri_facts import LACKING
from rdfcrawl.core.options.table import OptionsTable, integer, millisecs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rdfcrawl.analysis.measures.uri_facts import UriFacts, UriFetch

HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS
_GONE = 410  # RFC 9110 15.5.11: "likely to be permanent"
_NOT_FOUND = 404  # RFC 9110 15.5.5: "temporary or permanent"
_FAILURES = frozenset({"FAILED", "DELETED"})  # `sq:status`
_NO_PAGE = frozenset({0, _NOT_FOUND, _GONE})  # 0: no response
_OWED_RUNS = 3  # as for pages of sitemaps


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshEpoch:
    """One epoch of refresh of one host.

    Attributes:
        now_ms: start of the epoch, in milliseconds since 1970.
        length_ms: time until the next one starts.
        n_fetches: its budget; a page is fetched at most once.
        n_explored: of these, those that are meant for the oldest copies, at least.
    """

    now_ms: int
    length_ms: int = DAY_MS
    n_fetches: int
    n_explored: int = 0

    def rounded(self, number: float) -> int:
        """Return a number, rounded up at random in proportion to its fraction."""
        return floor(number + chance(str(self.now_ms)))


def chance(name: str) -> float:
    """Return a deterministic pseudo-random number from 0 up to 1."""
    digest = blake2b(name.encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") / 2**32


class RefreshPolicy(Protocol):
    """A policy that chooses which pages to fetch again.

    The choice depends only on the arguments: policies have no state.
    """

    def choose(
        self, open_pages: Callable[[], Iterable[UriFacts]], epoch: RefreshEpoch
    ) -> list[str]:
        """Return the URLs to fetch in an epoch, the most urgent first.

        Args:
            open_pages: returns an iterator over the facts of the host's pages, all of
                which were fetched before; may be called more than once.
            epoch: limits the number of URLs.
        """
        ...


def last_fetched_ms(facts: UriFacts) -> int:
    """Return the time of the last fetch, with any outcome; 0 if there is none."""
    return facts.fetches[-1].started_ms if facts.fetches else 0


def most_urgent(urgencies: Iterable[tuple[float, str]], n: int) -> list[str]:
    """Return the `n` most urgent URLs; only those are in memory.

    Ties are ordered by URL.

    >>> most_urgent([(1, "b"), (3, "c"), (1, "a")], 2)
    ['c', 'a']
    """
    found = nsmallest(n, urgencies, key=lambda each: (-each[0], each[1]))
    return [url for _, url in found]


@dataclass(frozen=True, slots=True)
class FixedInterval:
    """Policy that fetches all pages after the same time, as Squirrel does.

    The most overdue pages come first.
    """

    interval_ms: int

    def due_ms(self, facts: UriFacts) -> float:
        """Return the time when a page is due."""
        return last_fetched_ms(facts) + self.interval_ms

    def choose(
        self, open_pages: Callable[[], Iterable[UriFacts]], epoch: RefreshEpoch
    ) -> list[str]:
        """Return the pages that are due."""
        return _overdue(self.due_ms, open_pages(), epoch)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveInterval:
    """Policy that shortens the interval of changing pages, and lengthens others.

    Like Nutch's `AdaptiveFetchSchedule`, with its defaults; StormCrawler's
    `AdaptiveScheduler` is the same without synchronization (`STORMCRAWLER`).

    Attributes:
        first_ms: the interval of a page that was fetched once.
        least_ms: shortest interval.
        most_ms: longest interval.
        increase: relative increase of the interval if the page is unchanged.
        decrease: relative decrease of the interval if the page has changed.
        synchronization: share of the time since the last change by which the next
            fetch is brought forward; the interval is at least that time. None: neither.
    """

    first_ms: float = 30 * DAY_MS
    least_ms: float = 60_000
    most_ms: float = 365 * DAY_MS
    increase: float = 0.4
    decrease: float = 0.2
    synchronization: float | None = 0.3

    def due_ms(self, facts: UriFacts) -> float:
        """Return the time when a page is due, computed from all its fetches."""
        interval, due = self.first_ms, last_fetched_ms(facts) + self.first_ms
        changed_ms: int | None = None
        for each in iter_intervals(facts):
            if changed_ms is None or each.content_changed:
                changed_ms = each.end_ms if each.content_changed else each.begin_ms
            interval *= 1 - self.decrease if each.content_changed else 1 + self.increase
            reference = float(last_fetched_ms(facts))
            if self.synchronization is not None:
                since_change = each.end_ms - changed_ms
                interval = max(interval, since_change)
                reference -= since_change * self.synchronization
            interval = min(max(interval, self.least_ms), self.most_ms)
            due = reference + interval
        return due

    def choose(
        self, open_pages: Callable[[], Iterable[UriFacts]], epoch: RefreshEpoch
    ) -> list[str]:
        """Return the pages that are due."""
        return _overdue(self.due_ms, open_pages(), epoch)


STORMCRAWLER = AdaptiveInterval(
    first_ms=DAY_MS,
    least_ms=HOUR_MS,
    most_ms=14 * DAY_MS,
    increase=0.5,
    decrease=0.5,
    synchronization=None,
)


def _overdue(
    due_ms: Callable[[UriFacts], float], pages: Iterable[UriFacts], epoch: RefreshEpoch
) -> list[str]:
    overdue = ((epoch.now_ms - due_ms(each), each.url) for each in pages)
    return most_urgent((each for each in overdue if each[0] >= 0), epoch.n_fetches)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRules(OptionsTable):
    """When a page that fails is tried again, and when it is gone."""

    least_tries: int = integer("REFRESH_GONE_TRIES", 3, 1, 50)
    """answers of 404 in a row after which a page is gone, and its statements are
    deleted; 410 says so at once"""
    least_ms: int = millisecs("REFRESH_GONE_SECS", 7 * 24 * 3600, 0, 31_622_400)
    """time from the first to the last of them, at least"""
    first_wait_ms: int = millisecs("REFRESH_RETRY_SECS", 3600, 0, 31_622_400)
    """a page that failed is not tried again before; twice as long after each further
    failure in a row,"""
    most_wait_ms: int = millisecs(
        "REFRESH_RETRY_MAX_SECS", 30 * 24 * 3600, 0, 31_622_400
    )
    """but not longer than this"""

    def is_gone(self, facts: UriFacts) -> bool:
        """Return whether a page is gone, so its statements must be deleted."""
        failures = trailing_failures(facts)
        if not failures:
            return False
        if failures[-1].http_status == _GONE or failures[-1].status == "DELETED":
            return True
        missing = _missing(failures)
        if len(missing) < self.least_tries:
            return False
        return missing[-1].started_ms - missing[0].started_ms >= self.least_ms

    def gone_from_ms(self, facts: UriFacts) -> int | None:
        """Return the time from which one more 404 means that a page is gone.

        None: more than one more is needed.
        """
        missing = _missing(trailing_failures(facts))
        if len(missing) + 1 < self.least_tries:
            return None
        return missing[0].started_ms + self.least_ms if missing else 0

    @staticmethod
    def is_owed(facts: UriFacts) -> bool:
        """Return whether the next run retries a page, however soon that is.

        It has failed in up to three fetches since it was read; or it was never read,
        and its host responded, but not that there is no such page. If a context or a
        sound body was missing, three fetches in a row count, whatever they gave.
        """
        faults = (each.fault for each in reversed(facts.fetches))
        if n_lacking := len(list(takewhile(LACKING.__contains__, faults))):
            return n_lacking <= _OWED_RUNS
        failures = trailing_failures(facts)
        if not 0 < len(failures) <= _OWED_RUNS:
            return False
        status = failures[-1].http_status
        return len(failures) < len(facts.fetches) or status not in _NO_PAGE

    @staticmethod
    def is_missing_once(facts: UriFacts) -> bool:
        """Return whether a page was never read, and its last response was a first 404.

        Its link may be older than the page.
        """
        failures = trailing_failures(facts)
        is_new = 0 < len(failures) == len(facts.fetches) <= _OWED_RUNS
        return is_new and len(_missing(failures)) == 1

    def retry_ms(self, facts: UriFacts) -> int:
        """Return the time before which a page is not retried; 0 if there is none."""
        failures = trailing_failures(facts)
        if not failures:
            return 0
        doublings = min(len(failures) - 1, 40)  # enough for any limit
        wait_ms = min(self.first_wait_ms << doublings, self.most_wait_ms)
        return failures[-1].started_ms + wait_ms


def _missing(failures: Sequence[UriFetch]) -> Sequence[UriFetch]:
    """Return the trailing fetches with status 404, oldest first."""
    found = takewhile(lambda each: each.http_status == _NOT_FOUND, reversed(failures))
    return list(found)[::-1]


def trailing_failures(facts: UriFacts) -> Sequence[UriFetch]:
    """Return the trailing fetches that failed, oldest first."""
    failed = takewhile(lambda each: each.status in _FAILURES, reversed(facts.fetches))
    return list(failed)[::-1]
