"""Decide whether a response is a document, a retry, or the end of the visit.

Also parses `Retry-After`, and computes back-off times.
"""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Fault, Reason
from rdfcrawl.downloader.redirects import is_redirect

if TYPE_CHECKING:
    from rdfcrawl.downloader.client import HttpResponse, RequestOptions
    from rdfcrawl.downloader.options import FetchOptions


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
_PASSING: Final = frozenset({Reason.TIMEOUT, Reason.TRUNCATED_BODY, Reason.BAD_HTTP})


_STATUS_REASONS: Final = {404: Reason.NOT_FOUND, 410: Reason.GONE}
_CLASS_REASONS: Final = {
    3: Reason.REDIRECT_BAD_TARGET,  # 304, 305, 306: never followed
    4: Reason.CLIENT_ERROR,
    5: Reason.SERVER_ERROR,
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


def parse_http_date(value: str) -> datetime | None:
    """Parse an HTTP date, which is always GMT; None if invalid."""
    try:
        moment = parsedate_to_datetime(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def parse_retry_after(value: str, now: datetime) -> float | None:
    """Return seconds from `now`, at least 0, or None if `value` says nothing.

    Source: RFC 9110 10.2.3: a number of seconds or an HTTP date.

    >>> parse_retry_after("120", datetime(2026, 1, 1, tzinfo=UTC))
    120.0
    """
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:12])
    moment = parse_http_date(value)
    return None if moment is None else max(0.0, (moment - now).total_seconds())


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
