"""Check whether an address belongs to this machine, with a query to the kernel.

The kernel is queried for each connection: a list of the interfaces would miss addresses
that are added later.

Source: rtnetlink(7).
"""

from __future__ import annotations

import errno
import socket
import struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

_NEW_ROUTE: Final = 24  # RTM_NEWROUTE
_GET_ROUTE: Final = 26  # RTM_GETROUTE
_REQUEST: Final = 1  # NLM_F_REQUEST
_DESTINATION: Final = 1  # RTA_DST
_HEADER: Final = struct.Struct("=IHHII")  # nlmsghdr
_ROUTE: Final = struct.Struct("=8BI")  # rtmsg
_TYPE_AT: Final = _HEADER.size + 7  # rtm_type
_HERE: Final = frozenset({2, 3, 4})  # RTN_LOCAL, RTN_BROADCAST, RTN_ANYCAST
_RESPONSE_BYTES: Final = 8192
_NOT_OURS: Final = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})
_LACKING: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


def is_own_address(address: IPv4Address | IPv6Address) -> bool:
    """Return whether an address leads to this machine.

    >>> from ipaddress import ip_address
    >>> is_own_address(ip_address("127.0.0.1"))
    True

    Raises:
        OSError: no descriptors or memory are left for the query.
    """
    try:
        return _is_routed_here(address)
    except OSError as error:
        if error.errno in _LACKING:
            raise
    return _can_bind(address)


def _is_routed_here(address: IPv4Address | IPv6Address) -> bool:
    """Return whether the kernel has a local route, also of a network.

    Raises:
        OSError: the kernel cannot be queried, or has no route.
    """
    if not hasattr(socket, "AF_NETLINK"):
        raise OSError(errno.EAFNOSUPPORT, "no netlink")
    packed = address.packed
    body = _ROUTE.pack(_family(address), 8 * len(packed), 0, 0, 0, 0, 0, 0, 0)
    body += struct.pack("=HH", 4 + len(packed), _DESTINATION) + packed
    head = _HEADER.pack(_HEADER.size + len(body), _GET_ROUTE, _REQUEST, 0, 0)
    with socket.socket(
        socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE
    ) as kernel:
        kernel.send(head + body)
        response = kernel.recv(_RESPONSE_BYTES)
    _, kind, *_ = _HEADER.unpack_from(response)
    if kind != _NEW_ROUTE:
        raise OSError(errno.ENETUNREACH, "no route")
    return response[_TYPE_AT] in _HERE


def _can_bind(address: IPv4Address | IPv6Address) -> bool:
    """Return whether an address can be bound; true if unknown."""
    try:
        with socket.socket(_family(address), socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError as error:
        if error.errno in _LACKING:
            raise
        return error.errno not in _NOT_OURS
    return True


def _family(address: IPv4Address | IPv6Address) -> int:
    return socket.AF_INET if address.version == 4 else socket.AF_INET6
