"""Faults for errors of the operating system."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Final

from rdfcrawl.core.errors import Reason

# `EAI_NODATA` is not defined on every system.
_NO_NAME: Final = frozenset(
    getattr(socket, name)
    for name in ("EAI_NONAME", "EAI_NODATA", "EAI_ADDRFAMILY")
    if hasattr(socket, name)
)


# X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED
_UNTIMELY: Final = frozenset({9, 10})


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
    # aiohttp's subclass lacks the code.
    codes = (getattr(cause, "verify_code", 0) for cause in _causes(exc))
    return any(code in _UNTIMELY for code in codes)


def _causes(exc: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = exc
    for _ in range(5):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__ or cause.__context__
