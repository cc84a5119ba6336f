"""The response to one request for robots.txt, and its faults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rdfcrawl.core.errors import Fault, Reason

_REFUSALS: Final = (Reason.GUARD_BLOCKED, Reason.HOST_LEFT, Reason.LEASES_LOST)
_NOT_SENT: Final = (*_REFUSALS, Reason.DNS_BLOCKED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsResponse:
    """The response to one request for robots.txt."""

    status: int  # HTTP status, 0 without a complete response
    body: bytes = b""  # its text, up to the limit
    location: str = ""
    redirected_to: str = ""  # target of the last request, if another origin
    retry_after_secs: float | None = None
    fault: Fault | None = None  # why there was no response
    is_connection_refused: bool = False  # nothing listens there
    is_blocked: bool = False  # the origin itself was not requested
    # not sent, as the worker stops or has lost the host
    is_unsent: bool = False


def is_refused(response: RobotsResponse) -> bool:
    """Return whether we refuse the request, now and later."""
    fault = response.fault
    return fault is not None and fault.reason in _REFUSALS


def is_not_sent(response: RobotsResponse) -> bool:
    """Return whether no request was sent; a later one may be."""
    fault = response.fault
    return fault is not None and fault.reason in _NOT_SENT


def is_unknown(response: RobotsResponse) -> bool:
    """Return whether the origin's state is unknown, as no request was sent."""
    fault = response.fault
    return is_not_sent(response) or (
        fault is not None and fault.reason is Reason.HOST_BUSY
    )


def faults_of(response: RobotsResponse) -> list[Fault]:
    """Return why nothing of an origin may be requested, after such a response."""
    if response.is_blocked and response.fault:
        return [response.fault]
    detail = f"status {response.status}" if response.status else "no response"
    if response.redirected_to:
        detail += f" at {response.redirected_to}, where it redirects to"
    fault = Fault(Reason.ROBOTS_UNREACHABLE, detail[: Fault.MAX_DETAIL])
    return [fault, response.fault] if response.fault else [fault]
