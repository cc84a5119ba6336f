"""Names that have no address, told from those that nobody could look up."""

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
