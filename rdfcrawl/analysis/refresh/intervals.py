"""Policies that fetch a page when an interval has passed since its last fetch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdfcrawl.analysis.measures.refetches import iter_intervals
from rdfcrawl.analysis.refresh.policy import (
    DAY_MS,
    HOUR_MS,
    RefreshEpoch,
    last_fetched_ms,
    most_urgent,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rdfcrawl.analysis.measures.uri_facts import UriFacts


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
            if changed_ms is None or each.is_changed:
                changed_ms = each.end_ms if each.is_changed else each.begin_ms
            interval *= 1 - self.decrease if each.is_changed else 1 + self.increase
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
