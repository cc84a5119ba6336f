"""Tell hosts that fail from single pages that fail.

A gateway whose server is down says 502 or 504, and a server without its database 500,
for each of its URIs. That is a bad hour of the host, which costs only time, as 503
does. The same statuses of one page, where others are answered, are that page's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rdfcrawl.records import Kind

if TYPE_CHECKING:
    from rdfcrawl.fetch.attempt import RecordAttempt
    from rdfcrawl.records import Visit

# 520 to 524 are those of a content delivery network that cannot reach the server.
FAILING: Final = frozenset({500, 502, 504, 520, 521, 522, 523, 524})
_ENOUGH: Final = 3  # different URIs of an origin
# Who asks these is told that it was too much, and asks for less.
_ADAPTING: Final = frozenset({Kind.SPARQL, Kind.CKAN})


class FailingOrigins:
    """The statuses of each origin in a visit.

    Args:
        visit: whose host may have failed in the visits before, too.
    """

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self._failed: dict[str, set[int]] = {}  # origin -> indexes of records
        self._answering: set[str] = set()

    def note(self, attempt: RecordAttempt, origin: str, status: int) -> None:
        """Note the status of an answer, 0 if there was none."""
        if status in FAILING:
            if attempt.record.kind not in _ADAPTING:
                self._failed.setdefault(origin, set()).add(attempt.index)
        elif status:
            self._answering.add(origin)

    def is_to_blame(
        self, attempt: RecordAttempt, origin: str, *, is_last_try: bool
    ) -> bool:
        """Return whether the origin has failed, not only the page.

        On the last try, the record is not requested again in this visit.
        """
        visit = self._visit
        failed = self._failed.get(origin, ())
        if attempt.index not in failed or origin in self._answering:
            return False
        if visit.failures:
            return True
        if not visit.is_borne:
            return False
        if len(failed) >= _ENOUGH:
            return True
        # One that was put back for it, and whose host has answered since, is bad.
        return is_last_try and not attempt.record.retries
