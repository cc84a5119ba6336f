"""Distinguish refusing or failing hosts from single URLs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.records import Kind
from rdfcrawl.downloader.attempt import FAILING, RecordAttempt, UrlRefusal
from rdfcrawl.downloader.retry_policy import RetryDecision, parse_retry_after
from rdfcrawl.uri.origin import origin_of

if TYPE_CHECKING:
    from rdfcrawl.core.visits import Visit
    from rdfcrawl.downloader.client import HttpResponse

_MIN_FAILED: Final = 3  # different URIs of an origin
# Endpoints and portals respond this way to queries that are too large; smaller ones
# follow.
ADAPTING: Final = frozenset({Kind.SPARQL, Kind.CKAN})


class HostEvidence:
    """Distinguish refusing or failing hosts from single URLs.

    A status, a timeout or a `Retry-After` concerns one URL until another URL of its
    origin confirms it: usually a search form, an endpoint or an export is busy, and the
    rest of the host works. A success of another URL refutes it.

    A gateway whose server is down responds with 502 or 504 for every URI, a server
    without its database with 500. The host is temporarily down, which costs only time,
    like 503. The same statuses of one page concern only that page if others succeed.

    Args:
        visit: its host may have refused or failed in earlier visits, too.
    """

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self._has_failed = visit.failures > 0
        self._failed: dict[str, set[int]] = {}  # origin -> indexes of records
        self._answering: set[str] = set()
        # origin -> URL that was refused; no other one succeeded since
        self._suspected: dict[str, str] = {}
        if visit.suspected:
            self._suspected[origin_of(visit.suspected)] = visit.suspected

    @property
    def suspected(self) -> str:
        """A refused URL, if no other one of its origin succeeded since."""
        return next(reversed(self._suspected.values()), "")

    def note_status(self, attempt: RecordAttempt, origin: str, status: int) -> None:
        """Note a status that is not a refusal; 0 if there was no response."""
        if status in FAILING:
            if attempt.record.kind not in ADAPTING:
                self._failed.setdefault(origin, set()).add(attempt.index)
        elif status:
            self._has_failed = False
            if self._visit.failures:  # later refusals start a new count
                self._visit.failures, self._visit.has_recovered = 0, True
            self._answering.add(origin)
            self._suspected.pop(origin, None)

    def _refuse(
        self, attempt: RecordAttempt, origin: str, requested_secs: float | None
    ) -> UrlRefusal:
        """Note the refusal of a URL, and return its conclusions."""
        url = attempt.requested[-1] if attempt.requested else attempt.record.url
        was_tried = attempt.record.retries > 0
        suspected = self._suspected.pop(origin, "")  # keeps the order of refusals
        self._suspected[origin] = url
        is_same = suspected == url and was_tried
        is_confirmed = not is_same and bool(suspected or self._has_failed)
        is_refuted = was_tried and not suspected and not self._has_failed
        is_own = is_refuted or attempt.record.retries > 1
        return UrlRefusal(requested_secs, is_own=is_own, is_confirmed=is_confirmed)

    def _fails(self, attempt: RecordAttempt, origin: str) -> bool:
        """Return whether an origin fails: other URLs failed, and none succeeded."""
        if not self._may_fail(attempt, origin):
            return False
        suspected = self._suspected.get(origin, "")
        is_same = suspected in (attempt.record.url, *attempt.requested)
        has_failed = bool(suspected or self._has_failed) and not is_same
        return has_failed or len(self._failed[origin]) >= _MIN_FAILED

    def _is_first_failure(self, attempt: RecordAttempt, origin: str) -> bool:
        """Return whether this is the first sign that the origin may fail."""
        is_first = not attempt.record.retries
        return (
            is_first
            and self._visit.ignores_failures
            and self._may_fail(attempt, origin)
        )

    def _may_fail(self, attempt: RecordAttempt, origin: str) -> bool:
        failed = self._failed.get(origin, ())
        return attempt.index in failed and origin not in self._answering

    def judge(
        self,
        attempt: RecordAttempt,
        response: HttpResponse,
        verdict: RetryDecision,
        origin: str,
        *,
        is_last_try: bool,
    ) -> RetryDecision:
        """Return the next step after a response, in view of those of other URLs.

        `UNREACHABLE` means that its origin refuses or fails.
        """
        if verdict is RetryDecision.UNREACHABLE:
            return verdict
        if verdict is not RetryDecision.REFUSED:
            self.note_status(attempt, origin, response.status)
        if verdict is RetryDecision.RETRY:
            if self._fails(attempt, origin):
                return RetryDecision.UNREACHABLE
            if is_last_try and self._is_first_failure(attempt, origin):
                verdict = RetryDecision.REFUSED
        if verdict is RetryDecision.REFUSED:
            wait_secs = parse_retry_after(response.retry_after, datetime.now(UTC))
            attempt.refusal = self._refuse(attempt, origin, wait_secs)
            if attempt.refusal.is_confirmed:
                return RetryDecision.UNREACHABLE
        return verdict


def form_of(url: str) -> str:
    """Return the part of the path of a URL that its siblings share.

    >>> form_of("http://a.example/search?q=1"), form_of("http://a.example/d/1.ttl")
    ('/search?', '/d/')
    """
    path, query, _ = url[url.find("/", url.find("://") + 3) :].partition("?")
    return path + query if query else path[: path.rfind("/") + 1]
