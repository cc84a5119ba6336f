"""Errors of connections, and the faults of documents that follow from them."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from typing import Final

from rdfcrawl.core.errors import Fault, Reason, SourceFault, one_line
from rdfcrawl.downloader.client import HttpResponse
from rdfcrawl.downloader.spool import NoRoom
from rdfcrawl.downloader.watch import CostlyResponse
from rdfcrawl.uri.guard.gate import GuardBlocked

# `EAI_NODATA` is not defined on every system.
_NO_NAME: Final = frozenset(
    getattr(socket, name)
    for name in ("EAI_NONAME", "EAI_NODATA", "EAI_ADDRFAMILY")
    if hasattr(socket, name)
)


class ConnectionFailure(Exception):
    """A connection was not made, or broke."""


class NameFailure(ConnectionFailure):
    """The name of a host could not be resolved.

    Attributes:
        error: of the resolver.
    """

    def __init__(self, host: str, error: OSError) -> None:
        super().__init__(f"cannot resolve {host}: {error.strerror or error}")
        self.error = error


class ConnectFailure(ConnectionFailure):
    """No address of a host accepts connections."""


class ConnectTimeout(ConnectionFailure):
    """Connecting took too long."""


class TlsFailure(ConnectionFailure):
    """No TLS session could be opened."""


class ConnectionLost(ConnectionFailure):
    """A connection ended before the response, or within its headers."""


class BodyCut(ConnectionFailure):
    """A connection ended within a body."""


def caused(
    failure: ConnectionFailure, cause: BaseException | None
) -> ConnectionFailure:
    """Return a failure with its cause, to be raised later."""
    failure.__cause__ = cause
    return failure


# X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED
_UNTIMELY: Final = frozenset({9, 10})
# Exceptions, their reason, and whether it concerns the entire origin. The first match
# counts, since some classes inherit from one another.
_MEANINGS: Final[tuple[tuple[tuple[type[Exception], ...], Reason, bool], ...]] = (
    ((TlsFailure, ssl.SSLError), Reason.TLS, True),
    ((NameFailure,), Reason.DNS, True),
    ((ConnectTimeout,), Reason.TIMEOUT, True),
    ((ConnectFailure,), Reason.UNREACHABLE, True),
    ((TimeoutError,), Reason.TIMEOUT, False),
    ((UnicodeError,), Reason.BAD_URI, False),  # an impossible host name
    ((BodyCut,), Reason.TRUNCATED_BODY, False),
    ((ConnectionFailure, OSError), Reason.BAD_HTTP, False),
)


def dns_reason(error: OSError) -> Reason:
    """Return whether a name has no address, or could not be resolved.

    >>> str(dns_reason(socket.gaierror(socket.EAI_AGAIN, "try again")))
    'dns_unanswered'
    """
    return Reason.DNS if error.errno in _NO_NAME else Reason.DNS_UNANSWERED


def look_up(name: str) -> Reason | None:
    """Look up a name; return why it has no address, or None."""
    try:
        socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except OSError as exc:
        return dns_reason(exc)
    return None


def errno_of(exc: BaseException) -> int:
    """Return the system's error number behind an exception; 0 if there is none."""
    for cause in _causes(exc):
        # Twisted's errors are not system errors, but refer to one.
        number = getattr(cause, "osError", None) or getattr(cause, "errno", None)
        if isinstance(number, int) and number > 0:
            return number
    return 0


def is_untimely(exc: BaseException) -> bool:
    """Return whether a certificate is refused only for its period of validity."""
    codes = (getattr(cause, "verify_code", 0) for cause in _causes(exc))
    return any(code in _UNTIMELY for code in codes)


def _causes(exc: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = exc
    for _ in range(5):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__ or cause.__context__


def note_fault(response: HttpResponse, exc: SourceFault) -> None:
    """Set the fault of a response; lack of room is a local failure."""
    response.fault = exc.fault
    response.is_costly = isinstance(exc, CostlyResponse)
    if isinstance(exc, NoRoom):
        response.is_local_failure = True
        response.put_off_secs = exc.put_off_secs


def note_failure(response: HttpResponse, exc: Exception) -> bool:
    """Set the fault of `response` from the exception that ended the exchange.

    Returns:
        False if the web cannot have caused the exception.
    """
    response.errno = errno_of(exc)
    if isinstance(exc, SourceFault):
        note_fault(response, exc)
        return True
    if isinstance(exc, GuardBlocked):
        response.fault = exc.fault
        response.is_host_fault = True
        return True
    reason, response.is_host_fault = _judge(exc, has_status=response.status > 0)
    if isinstance(exc, NameFailure):
        reason = dns_reason(exc.error)
    response.is_untimely = reason is Reason.TLS and is_untimely(exc)
    response.fault = Fault(reason, one_line(exc))
    return reason is not Reason.INTERNAL


def _judge(exc: Exception, *, has_status: bool) -> tuple[Reason, bool]:
    """Return the reason, and whether it concerns the entire origin."""
    for classes, reason, is_host_fault in _MEANINGS:
        if isinstance(exc, classes):
            if reason is Reason.BAD_HTTP and has_status:
                return Reason.TRUNCATED_BODY, False
            return reason, is_host_fault
    return Reason.INTERNAL, False
