"""What the errors of the system mean."""

from __future__ import annotations

import socket
from typing import Final

from rdfcrawl.errors import Reason

# `EAI_NODATA` is no constant of each system.
_NO_NAME: Final = frozenset(
    getattr(socket, name)
    for name in ("EAI_NONAME", "EAI_NODATA", "EAI_ADDRFAMILY")
    if hasattr(socket, name)
)


def dns_reason(error: OSError) -> Reason:
    """Return whether a name is known to have no address, or nobody could tell.

    >>> str(dns_reason(socket.gaierror(socket.EAI_AGAIN, "try again")))
    'dns_unanswered'
    """
    return Reason.DNS if error.errno in _NO_NAME else Reason.DNS_UNANSWERED


def errno_of(exc: BaseException) -> int:
    """Return the number of the system's error behind an exception; 0: there is none."""
    cause: BaseException | None = exc
    for _ in range(5):
        if cause is None:
            break
        # Twisted's are no errors of the system, but say which one is behind them.
        number = getattr(cause, "osError", None) or getattr(cause, "errno", None)
        if isinstance(number, int) and number > 0:
            return number
        cause = cause.__cause__ or cause.__context__
    return 0
