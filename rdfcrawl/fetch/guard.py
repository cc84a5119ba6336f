"""Which addresses may be connected to, and a connector's parts that see to it.

A URL that a stranger wrote must not make the crawler speak to what only it can
reach: services of its own machine, of its network, of its cloud. The check is made on
the address that is dialled, after all names are resolved and on every connection:
neither the spelling of an address, nor a redirect, nor a name that changes its
address in between (DNS rebinding) leads past it.

Sources: IANA special-purpose address registries (RFC 6890) for IPv4 and IPv6.
"""

from __future__ import annotations

import errno
import socket
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aiohappyeyeballs import AddrInfoType

IPNetwork = IPv4Network | IPv6Network

_NO_IPV4: Final = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network; unspecified
        "10.0.0.0/8",  # private (RFC 1918)
        "100.64.0.0/10",  # carrier-grade NAT (RFC 6598)
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # public, but leads to the host of a machine in a cloud
        "169.254.0.0/16",  # link-local; metadata of clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # IETF protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays (RFC 7526)
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved; broadcast
    )
)
# All that is global unicast. Loopback, unique local, link-local, multicast, addresses
# that hold an IPv4 address (mapped, compatible, NAT64) lie outside of it.
_IPV6: Final = IPv6Network("2000::/3")
_NO_IPV6: Final = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # IETF protocol assignments; Teredo
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: holds an IPv4 address
        "3fff::/20",  # documentation (RFC 9637)
    )
)


class GuardBlocked(OSError):
    """The guard refuses an address, or all addresses of a name."""

    def __init__(self, what: str) -> None:
        super().__init__(errno.EACCES, f"{what} is not on the public internet")


@dataclass(frozen=True, slots=True)
class Guard:
    """The policy: addresses of the public internet, and those that are allowed.

    Attributes:
        allow_nets: networks that are connected to although they are not public. An
            IPv4 network allows no IPv6 address that holds one of its addresses.
    """

    allow_nets: tuple[IPNetwork, ...] = ()

    def allows(self, address: str) -> bool:
        """Say whether an address may be connected to; what is none may not.

        Args:
            address: in the spelling of the socket interface, perhaps with a zone.

        >>> Guard().allows("10.0.0.1"), Guard().allows("2606:4700::1111")
        (False, True)
        """
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        return _is_public(parsed) or any(parsed in net for net in self.allow_nets)

    def check(self, address: str) -> None:
        """See that an address may be connected to.

        Raises:
            GuardBlocked: it may not.
        """
        if not self.allows(address):
            raise GuardBlocked(address)

    def open_socket(self, info: AddrInfoType) -> socket.socket:
        """Return a socket for the address that is about to be dialled.

        Raises:
            GuardBlocked: it is refused.
        """
        family, kind, protocol, _, address = info
        self.check(str(address[0]))
        return socket.socket(family, kind, protocol)


def parse_networks(texts: Iterable[str]) -> tuple[IPNetwork, ...]:
    """Return the networks, or single addresses, that texts stand for.

    Raises:
        ValueError: one of them is none; its message says which.

    >>> parse_networks(["10.0.0.0/8", "::1"])
    (IPv4Network('10.0.0.0/8'), IPv6Network('::1/128'))
    """
    return tuple(ip_network(text.strip()) for text in texts if text.strip())


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NO_IPV4)
    if address not in _IPV6 or any(address in network for network in _NO_IPV6):
        return False
    # ISATAP (RFC 5214 6.1): an interface identifier that holds an IPv4 address.
    if int(address) >> 32 & 0xFDFF_FFFF == 0x5EFE:
        return _is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
    return True
