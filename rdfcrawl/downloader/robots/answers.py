"""The answer of one request for robots.txt, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rdfcrawl.core.errors import Fault, Reason

_REFUSALS: Final = (Reason.GUARD_BLOCKED, Reason.HOST_LEFT, Reason.LEASES_LOST)
_NOT_ASKED: Final = (*_REFUSALS, Reason.DNS_BLOCKED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsResponse:
    """The answer of one GET for robots.txt."""

    status: int  # HTTP status, 0 if no whole answer came
    body: bytes = b""  # its text, as far as it is read
    location: str = ""
    redirected_to: str = ""  # where the last request went, if not to the origin itself
    retry_after_secs: float | None = None
    fault: Fault | None = None  # why there was no answer
    is_connection_refused: bool = False  # nothing listens there
    is_blocked: bool = False  # the origin itself was not asked
    # nobody was asked, as the worker stops or has lost the host
    is_unasked: bool = False


def is_refused(response: RobotsResponse) -> bool:
    """Return whether we refuse to ask, now and the next time."""
    fault = response.fault
    return fault is not None and fault.reason in _REFUSALS


def is_not_asked(response: RobotsResponse) -> bool:
    """Return whether we have asked nobody, now; the next time may be otherwise."""
    fault = response.fault
    return fault is not None and fault.reason in _NOT_ASKED


def says_nothing(response: RobotsResponse) -> bool:
    """Return whether nobody has asked an origin, so that nothing is known of it now."""
    fault = response.fault
    return is_not_asked(response) or (
        fault is not None and fault.reason is Reason.HOST_BUSY
    )


def faults_of(response: RobotsResponse) -> list[Fault]:
    """Return why nothing of an origin may be asked for, after such an answer."""
    if response.is_blocked and response.fault:
        return [response.fault]
    detail = f"status {response.status}" if response.status else "no answer"
    if response.redirected_to:
        detail += f" at {response.redirected_to}, where it redirects to"
    fault = Fault(Reason.ROBOTS_UNREACHABLE, detail[: Fault.MAX_DETAIL])
    return [fault, response.fault] if response.fault else [fault]
