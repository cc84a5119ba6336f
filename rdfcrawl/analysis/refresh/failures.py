"""Rules for failed fetches: wait, or treat the page as gone.

A page with status 410 is gone; a page with status 404 is gone after several tries over
some time. Other failures only defer the next try, with exponential back-off: they say
nothing about the page.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from rdfcrawl.core.options.table import OptionsTable, integer, millisecs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfcrawl.analysis.measures.uri_facts import UriFacts, UriFetch

_GONE = 410  # RFC 9110 15.5.11: "likely to be permanent"
_NOT_FOUND = 404  # RFC 9110 15.5.5: "temporary or permanent"
_FAILURES = frozenset({"FAILED", "DELETED"})  # `sq:status`


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
