"""Which pages may be fetched again now, and why others may not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.measures.uri_facts import UriFacts
from rdfcrawl.analysis.refresh.trust import is_claimed
from rdfcrawl.core.errors import MAY_PASS, Reason
from rdfcrawl.core.tasks import RefreshedPage
from rdfcrawl.core.times import second_text
from rdfcrawl.rdf.terms import unix_ms

if TYPE_CHECKING:
    from rdfcrawl.analysis.refresh.policy import FailureRules
    from rdfcrawl.analysis.urldb.record import UrlRecord

# Steps of a source, and parts of a dataset or collection, have their own schedule:
# later runs of the source request them again.
_TASKS: Final = frozenset({None, RefreshedPage.TAG})


# Rules that the publisher may change.
_OF_ROBOTS: Final = (Reason.ROBOTS_DISALLOWED, Reason.CRAWL_DELAY_TOO_LONG)


class NotDue(StrEnum):
    """Why a fetched page is not fetched again now, in words after a number."""

    RECENT = "fetched recently"
    WAITING = "not due by the policy"
    SCHEDULED = "of sources, which later runs of the crawl request"
    IMMUTABLE = "immutable"
    FOLLOWED = "reached by redirects of other pages"
    FAILED = "failed"
    FORBIDDEN = "forbidden by robots.txt"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class EligiblePages:
    """Decides which pages may be fetched again in an epoch.

    Attributes:
        begin_ms: start of the epoch: pages fetched since are left out.
        end_ms: end of the epoch.
        now_ms: Unix time.
        failures: see `FailureRules`.
    """

    begin_ms: int
    end_ms: int
    now_ms: int
    failures: FailureRules

    def has(self, record: UrlRecord, facts: UriFacts) -> bool:
        """Return whether a page may be fetched again now."""
        return bool(facts.fetches) and self.delay(record, facts) is None

    def delay(
        self, record: UrlRecord, facts: UriFacts
    ) -> tuple[NotDue, int | None] | None:
        """Return why a fetched page may not be fetched again now; None if it may.

        The reason has the time from which it may be; None: not by a time.
        """
        if is_scheduled(record):
            return NotDue.SCHEDULED, None
        if record.is_only_target:
            return NotDue.FOLLOWED, None
        if record.fetches[-1].started_ms >= self.begin_ms:
            return NotDue.RECENT, self.end_ms
        until_ms = unix_ms(record.latest.get("immutableUntil") or "") or 0
        if until_ms > self.now_ms:
            return NotDue.IMMUTABLE, until_ms
        if self.failures.is_gone(facts) and not is_claimed(facts):
            return NotDue.GONE, None
        retry_ms = self.failures.retry_ms(with_refusals(record, facts))
        return None if retry_ms <= self.now_ms else (NotDue.FAILED, retry_ms)


def is_scheduled(record: UrlRecord) -> bool:
    """Return whether later runs of a source request a page again."""
    if record.is_sitemap or record.is_only_of_source:
        return True
    return record.latest.get("task") not in _TASKS


@dataclass(slots=True)
class NotDuePages:
    """Fetched pages that are not due.

    Attributes:
        counts: their numbers by reason.
        next_ms: when the next of them is due, Unix time; None: none is, by time.
    """

    counts: Counter[NotDue] = field(default_factory=Counter)
    next_ms: int | None = None

    def add(self, reason: NotDue, due_ms: float | None) -> None:
        """Count a page."""
        self.counts[reason] += 1
        if due_ms is not None:
            earlier = due_ms if self.next_ms is None else min(self.next_ms, due_ms)
            self.next_ms = round(earlier)

    def __bool__(self) -> bool:
        return bool(self.counts)

    def __str__(self) -> str:
        """Return the numbers and the time in words."""
        parts = [f"{n:,} {reason}" for reason, n in self.counts.most_common()]
        if self.next_ms is not None:
            parts.append(f"the next is due on {second_text(self.next_ms)}")
        return ", ".join(parts)


def tried(record: UrlRecord, facts: UriFacts) -> UriFacts:
    """Return the facts of a page; if it was never requested, with refused tries.

    A later try may succeed: of any page if `robots.txt` could not be read, and of a
    seed also if it forbids the page.
    """
    if facts.fetches or not record.fetches:
        return facts
    fault = record.fetches[-1].fault
    is_seed = not (facts.is_listed or record.latest.get("parent"))
    may_pass = fault in MAY_PASS or (fault in _OF_ROBOTS and is_seed)
    return with_refusals(record, facts) if may_pass else facts


def is_forbidden(record: UrlRecord, facts: UriFacts) -> bool:
    """Return whether robots.txt has refused each request of a page so far."""
    return (
        not facts.fetches
        and bool(record.fetches)
        and record.fetches[-1].fault in _OF_ROBOTS
    )


def with_refusals(record: UrlRecord, facts: UriFacts) -> UriFacts:
    """Return the facts of a page, with the refusals since its last request."""
    last_ms = facts.fetches[-1].started_ms if facts.fetches else None
    if record.fetches[-1].started_ms == last_ms:
        return facts
    return replace(facts, fetches=record.fetches)
