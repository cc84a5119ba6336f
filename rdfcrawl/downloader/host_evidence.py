"""Tell hosts that refuse or fail from single URLs that do."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.records import Kind
from rdfcrawl.downloader.attempt import FAILING, RecordAttempt, UrlRefusal
from rdfcrawl.downloader.retry_policy import RetryDecision, parse_retry_after
from rdfcrawl.uri.origin import origin_of

if TYPE_CHECKING:
    from rdfcrawl.core.visits import Visit
    from rdfcrawl.downloader.answer import HttpResponse

_ENOUGH: Final = 3  # different URIs of an origin
# Endpoints and portals answer so to what was too much, and are asked for less.
ADAPTING: Final = frozenset({Kind.SPARQL, Kind.CKAN})


class HostEvidence:
    """Tell hosts that refuse or fail from single URLs that do.

    A status, a silence or a `Retry-After` concerns one URL until another URL of its
    origin confirms it: most often a search form, an endpoint or an export is busy, and
    the rest of the host is well. An answer of another URL refutes it.

    A gateway whose server is down says 502 or 504, and a server without its database
    500, for each of its URIs. That is a bad hour of the host, which costs only time, as
    503 does. The same statuses of one page, where others are answered, are its own.

    Args:
        visit: whose host may have refused or failed in the visits before, too.
    """

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self._has_failed = visit.failures > 0
        self._failed: dict[str, set[int]] = {}  # origin -> indexes of records
        self._answering: set[str] = set()
        # origin -> URL that was refused, and no other one was answered since
        self._suspected: dict[str, str] = {}
        if visit.suspected:
            self._suspected[origin_of(visit.suspected)] = visit.suspected

    @property
    def suspected(self) -> str:
        """A URL that was refused, if no other one of its origin was answered since."""
        return next(reversed(self._suspected.values()), "")

    def note_status(self, attempt: RecordAttempt, origin: str, status: int) -> None:
        """Note the status of an answer that refuses nothing, 0 if there was none."""
        if status in FAILING:
            if attempt.record.kind not in ADAPTING:
                self._failed.setdefault(origin, set()).add(attempt.index)
        elif status:
            self._has_failed = False
            if self._visit.failures:  # refusals that follow are the first in a row
                self._visit.failures, self._visit.has_recovered = 0, True
            self._answering.add(origin)
            self._suspected.pop(origin, None)

    def _refuse(
        self, attempt: RecordAttempt, origin: str, asked_secs: float | None
    ) -> UrlRefusal:
        """Note that a URL was refused, and return what that proves."""
        url = attempt.requested[-1] if attempt.requested else attempt.record.url
        was_tried = attempt.record.retries > 0
        suspected = self._suspected.pop(origin, "")  # the last one comes last
        self._suspected[origin] = url
        is_same = suspected == url and was_tried
        is_confirmed = not is_same and bool(suspected or self._has_failed)
        is_refuted = was_tried and not suspected and not self._has_failed
        is_own = is_refuted or attempt.record.retries > 1
        return UrlRefusal(asked_secs, is_own=is_own, is_confirmed=is_confirmed)

    def _fails(self, attempt: RecordAttempt, origin: str) -> bool:
        """Return whether an origin fails: other URLs did, and none is answered."""
        if not self._may_fail(attempt, origin):
            return False
        suspected = self._suspected.get(origin, "")
        is_same = suspected in (attempt.record.url, *attempt.requested)
        has_failed = bool(suspected or self._has_failed) and not is_same
        return has_failed or len(self._failed[origin]) >= _ENOUGH

    def _is_first_failure(self, attempt: RecordAttempt, origin: str) -> bool:
        """Return whether a failure is the first sign that its origin may fail."""
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
        answer: HttpResponse,
        verdict: RetryDecision,
        origin: str,
        *,
        is_last_try: bool,
    ) -> RetryDecision:
        """Return what to do after an answer, in view of those of other URLs.

        `UNREACHABLE` says that its origin refuses or fails.
        """
        if verdict is RetryDecision.UNREACHABLE:
            return verdict
        if verdict is not RetryDecision.REFUSED:
            self.note_status(attempt, origin, answer.status)
        if verdict is RetryDecision.RETRY:
            if self._fails(attempt, origin):
                return RetryDecision.UNREACHABLE
            if is_last_try and self._is_first_failure(attempt, origin):
                verdict = RetryDecision.REFUSED
        if verdict is RetryDecision.REFUSED:
            asked = parse_retry_after(answer.retry_after, datetime.now(UTC))
            attempt.refusal = self._refuse(attempt, origin, asked)
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
