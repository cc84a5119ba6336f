"""Rules for failed fetches: wait, or treat the page as gone.

A page with status 410 is gone; a page with status 404 is gone after several tries over
some time. Other failures only defer the next try, with exponential back-off: they say
nothing about the page.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from rdfcrawl.analysis.refresh.policy import DAY_MS, HOUR_MS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfcrawl.analysis.measures.uri_facts import UriFacts, UriFetch

_GONE = 410  # RFC 9110 15.5.11: "likely to be permanent"
_NOT_FOUND = 404  # RFC 9110 15.5.5: "temporary or permanent"
_FAILURES = frozenset({"FAILED", "DELETED"})  # `sq:status`


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRules:
    """When to retry a failing page, and when to treat it as gone.

    Attributes:
        least_tries: consecutive responses 404 before a page is gone.
        least_ms: minimum time between the first and the last of them.
        first_wait_ms: wait after one failure; doubled by each further one.
        most_wait_ms: maximum wait.
    """

    least_tries: int = 3
    least_ms: int = 7 * DAY_MS
    first_wait_ms: int = HOUR_MS
    most_wait_ms: int = 30 * DAY_MS

    def is_gone(self, facts: UriFacts) -> bool:
        """Return whether a page is gone, so that its statements are to be deleted."""
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
