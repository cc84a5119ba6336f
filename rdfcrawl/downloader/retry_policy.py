"""Decide whether a response is a document, a retry, or the end of the visit.

The decision depends on the response, on the attempts to fetch the record, and on the
responses of its host to other URLs. Also computes back-off times.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Fault, Reason, SourceFault
from rdfcrawl.core.records import Document, Kind, Record
from rdfcrawl.core.times import now_ms, parse_http_date, parse_retry_after
from rdfcrawl.downloader.client import FAILING, HttpResponse, RequestOptions
from rdfcrawl.downloader.redirects import is_redirect, moved, request_after
from rdfcrawl.uri.hosts import origin_of

if TYPE_CHECKING:
    from rdfcrawl.core.tasks import RequestTask
    from rdfcrawl.core.visits import Visit
    from rdfcrawl.downloader.cookies import ChainCookies
    from rdfcrawl.downloader.options import FetchOptions

_PASSING: Final = frozenset({Reason.TIMEOUT, Reason.TRUNCATED_BODY, Reason.BAD_HTTP})
_STATUS_REASONS: Final = {404: Reason.NOT_FOUND, 410: Reason.GONE}
_CLASS_REASONS: Final = {
    3: Reason.REDIRECT_BAD_TARGET,  # 304, 305, 306: never followed
    4: Reason.CLIENT_ERROR,
    5: Reason.SERVER_ERROR,
}
_MIN_FAILED: Final = 3  # different URIs of an origin
# Endpoints and portals respond this way to queries that are too large; smaller ones
# follow.
ADAPTING: Final = frozenset({Kind.SPARQL, Kind.CKAN})


class RetryDecision(Enum):
    """What to do after a response."""

    DONE = auto()
    """The document, or its final fault."""
    REDIRECT = auto()
    """Request another URI."""
    RETRY = auto()
    """Request it again soon."""
    UNREACHABLE = auto()
    """The origin is unreachable: skip its other URLs."""
    BLOCKED = auto()
    """The guard refuses it, and everything else of its origin."""
    REFUSED = auto()
    """This URL was refused or timed out; the host may do so, too."""
    DEFERRED = auto()
    """Request it later; other URLs are unaffected."""


# A timeout may concern one URL only.
_OF_HOST: Final = {
    Reason.GUARD_BLOCKED: RetryDecision.BLOCKED,
    Reason.TIMEOUT: RetryDecision.REFUSED,
}


def judge_response(
    response: HttpResponse, fetch: FetchOptions, options: RequestOptions
) -> RetryDecision:
    """Return the next step, and set `response.fault` by the status.

    304 is valid only for conditional requests, 206 only for range requests.
    """
    status = response.status
    if status in fetch.busy_codes:
        response.fault = Fault(Reason.HOST_BUSY, f"status {status}")
        return RetryDecision.REFUSED
    if response.fault is not None:
        if response.is_host_fault:
            return _OF_HOST.get(response.fault.reason, RetryDecision.UNREACHABLE)
        passes = response.fault.reason in _PASSING and not response.is_costly
        return RetryDecision.RETRY if passes else RetryDecision.DONE
    if is_redirect(status, response.location):
        return RetryDecision.REDIRECT
    if status == 304 and options.is_conditional:
        return RetryDecision.DONE
    if not (status == 206 and options.is_of_range):
        response.fault = fault_of_status(status)
        response.is_partial |= status == 206
    return RetryDecision.RETRY if status in fetch.retry_codes else RetryDecision.DONE


def has_failed(response: HttpResponse) -> bool:
    """Return whether a server failed, was too busy, or did not respond in time."""
    if response.status >= 500 or response.status == 429:
        return True
    return response.fault is not None and response.fault.reason in _PASSING


def fault_of_status(status: int) -> Fault | None:
    """Return the fault for a status; None for success."""
    if status == 206:
        return Fault(Reason.TRUNCATED_BODY, "an unrequested part")
    if 200 <= status < 300:
        return None
    reason = _STATUS_REASONS.get(status) or _CLASS_REASONS.get(status // 100)
    return Fault(reason or Reason.BAD_HTTP, f"status {status}")


def by_its_own_clock(value: str, date: str) -> str:
    """Return `Retry-After` in seconds, relative to `Date` of the same response.

    The local clock and the server's may differ by more than the wait.

    >>> by_its_own_clock(
    ...     "Thu, 01 Jan 2026 00:02:00 GMT", "Thu, 01 Jan 2026 00:00:00 GMT"
    ... )
    '120'
    """
    if not value or value.strip().isdigit():
        return value
    now = parse_http_date(date)
    secs = None if now is None else parse_retry_after(value, now)
    return value if secs is None else f"{secs:.0f}"


def backoff_secs(n_failures: int, *, base_secs: float, max_secs: float) -> float:
    """Return how long to wait after `n_failures` in a row, doubling from `base_secs`.

    >>> [backoff_secs(n, base_secs=1, max_secs=300) for n in (0, 1, 2, 60)]
    [1.0, 2.0, 4.0, 300.0]
    """
    return float(min(max_secs, base_secs * 2.0 ** min(n_failures, 60)))


@dataclass(frozen=True, slots=True)
class UrlRefusal:
    """A server's refusal of one URL.

    Attributes:
        requested_secs: requested wait; None if the server names none.
        is_own: another URL succeeded after an earlier refusal of this one, so the host
            itself does not refuse.
        is_confirmed: another URL was refused before, and none succeeded since, so the
            host refuses.
    """

    requested_secs: float | None
    is_own: bool = False
    is_confirmed: bool = False


@dataclass(slots=True, eq=False)
class RecordAttempt:
    """The attempts to fetch one record."""

    index: int
    record: Record
    n_tried: int = 0  # requests of this record in this visit
    not_before: float = 0.0  # monotonic time of the earliest retry
    has_progressed: bool = False  # the last try broke off after a large part
    started_ms: int = 0
    # URLs requested in the present try
    requested: list[str] = field(default_factory=list)
    cookies: ChainCookies | None = None  # set in the present try
    dead_origin: str = ""  # origin that could not be reached
    refusal: UrlRefusal | None = None  # of the last try
    # of a user's spider, changed by redirects
    request: RequestTask | None = None
    # redirect targets claimed for this record in the frontier
    claimed: set[str] = field(default_factory=set)
    best: Document | None = None  # best result so far
    origin: str = field(init=False)

    def __post_init__(self) -> None:
        self.origin = origin_of(self.record.url)

    def note_cookies(self, url: str, response: HttpResponse) -> None:
        """Keep the cookies of a redirect for the requests after it."""
        if response.cookies and self.request is None:
            if self.cookies is None:
                from rdfcrawl.downloader.cookies import ChainCookies  # noqa: PLC0415

                self.cookies = ChainCookies()
            self.cookies.note(url, response.cookies)

    def may_return_to(self, target: str) -> bool:
        """Return whether a URL that redirected may now respond differently."""
        if self.cookies is None or target not in self.requested:
            return False
        return self.cookies.are_new_to(target)

    def document(self, response: HttpResponse, faults: list[Fault]) -> Document:
        """Return the result of the present try."""
        response.requested = tuple(self.requested)
        response.ended_ms = now_ms()
        response.started_ms = self.started_ms or response.ended_ms
        return Document(
            record=self.record,
            url=self.requested[-1] if self.requested else self.record.url,
            response=response,
            faults=list(faults),
        )


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
            wait_secs = parse_retry_after(response.retry_after)
            attempt.refusal = self._refuse(attempt, origin, wait_secs)
            if attempt.refusal.is_confirmed:
                return RetryDecision.UNREACHABLE
        return verdict


def sibling_path(url: str) -> str:
    """Return the part of the path of a URL that its siblings share.

    Numbers of folders stay, unlike in `page_forms`: one folder may refuse requests
    that the next one serves.

    >>> sibling_path("http://a.example/search?q=1")
    '/search?'
    >>> sibling_path("http://a.example/d/1.ttl")
    '/d/'
    """
    path, query, _ = url[url.find("/", url.find("://") + 3) :].partition("?")
    return path + query if query else path[: path.rfind("/") + 1]


def queue_target(
    visit: Visit, attempt: RecordAttempt, urls: tuple[str, str], status: int
) -> Fault | None:
    """Queue the second of two URLs as the target of a redirect to another host."""
    record, (url, target) = attempt.record, urls
    if attempt.request is not None:
        request = request_after(attempt.request, status, url, target)
        record = replace(record, task=request)
    try:
        further = moved(record, attempt.requested, target)
    except SourceFault as exc:
        return exc.fault
    visit.outlinks.append(further)
    if further.change and further.kind.is_of_url:  # links may lead there
        visit.known.append(further.url)
    return None
