"""Decide whether a response is a document, a retry, or the end of the visit."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from rdfcrawl.errors import Fault, Reason
from rdfcrawl.fetch.redirects import REDIRECTS

if TYPE_CHECKING:
    from rdfcrawl.fetch.answer import HttpResponse
    from rdfcrawl.fetch.options import FetchOptions


class RetryDecision(Enum):
    """What to do after a response."""

    DONE = auto()
    """It is the document, or its final fault."""
    REDIRECT = auto()
    """Another URI is to be asked."""
    RETRY = auto()
    """It may be better in a moment."""
    UNREACHABLE = auto()
    """The origin cannot be reached: nothing else of it need be tried."""
    BLOCKED = auto()
    """The guard refuses it, and whatever else has its origin."""
    THROTTLED = auto()
    """The host asks to be left alone."""


_PASSING: Final = frozenset({Reason.TIMEOUT, Reason.TRUNCATED_BODY, Reason.BAD_HTTP})


_STATUS_REASONS: Final = {404: Reason.NOT_FOUND, 410: Reason.GONE}
_CLASS_REASONS: Final = {
    3: Reason.REDIRECT_BAD_TARGET,  # 300, 304, 305, 306: nothing that is followed
    4: Reason.CLIENT_ERROR,
    5: Reason.SERVER_ERROR,
}


def judge_answer(
    answer: HttpResponse,
    options: FetchOptions,
    *,
    is_conditional: bool = False,
    is_of_range: bool = False,
) -> RetryDecision:
    """Return what to do next, and set `answer.fault` to what the status means.

    Only a conditional request may be answered by 304.
    """
    status = answer.status
    if status in options.busy_codes:
        answer.fault = Fault(Reason.HOST_BUSY, f"status {status}")
        return RetryDecision.THROTTLED
    if answer.fault is not None:
        if answer.is_host_fault:
            is_blocked = answer.fault.reason is Reason.GUARD_BLOCKED
            return RetryDecision.BLOCKED if is_blocked else RetryDecision.UNREACHABLE
        passes = answer.fault.reason in _PASSING
        return RetryDecision.RETRY if passes else RetryDecision.DONE
    if status in REDIRECTS:
        return RetryDecision.REDIRECT
    if status == 304 and is_conditional:
        return RetryDecision.DONE
    if not (status == 206 and is_of_range):
        answer.fault = fault_of_status(status)
        answer.is_partial |= status == 206
    return RetryDecision.RETRY if status in options.retry_codes else RetryDecision.DONE


def fault_of_status(status: int) -> Fault | None:
    """Return the fault for a status; None for success."""
    if status == 206:
        return Fault(Reason.TRUNCATED_BODY, "a part that was not asked for")
    if 200 <= status < 300:
        return None
    reason = _STATUS_REASONS.get(status) or _CLASS_REASONS.get(status // 100)
    return Fault(reason or Reason.BAD_HTTP, f"status {status}")
