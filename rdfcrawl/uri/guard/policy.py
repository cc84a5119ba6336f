"""The addresses and ports that URLs of strangers may lead to.

A URL from the web must not lead the crawler to services that only the crawler can
reach: on its own machine, in its network, or in its cloud. Addresses are judged as
numbers, so no spelling bypasses the check. Apart from the addresses of this machine,
no lookup is needed. The kernel is queried for those at each connection: a list of the
interfaces would miss addresses that are added later.

Sources: IANA special-purpose address registries (RFC 6890) for IPv4 and IPv6; RFC 6052
(NAT64), RFC 5214 (ISATAP), RFC 2577 (ports of FTP); rtnetlink(7).
"""

from __future__ import annotations

import errno
import re
import socket
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache, partial
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Any, Final, TypeVar

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options import values
from rdfcrawl.core.options.table import OptionsTable, integer, parsed

_NEW_ROUTE: Final = 24  # RTM_NEWROUTE
_GET_ROUTE: Final = 26  # RTM_GETROUTE
_REQUEST: Final = 1  # NLM_F_REQUEST
_DESTINATION: Final = 1  # RTA_DST
_HEADER: Final = struct.Struct("=IHHII")  # nlmsghdr
_ROUTE: Final = struct.Struct("=8BI")  # rtmsg
_TYPE_AT: Final = _HEADER.size + 7  # rtm_type
_HERE: Final = frozenset({2, 3, 4})  # RTN_LOCAL, RTN_BROADCAST, RTN_ANYCAST
_RESPONSE_BYTES: Final = 8192
_OCTET: Final = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_is_ipv4: Final = re.compile(rf"(?:{_OCTET}\.){{3}}{_OCTET}").fullmatch
_NOT_OURS: Final = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})
_LACKING: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
IPAddress = IPv4Address | IPv6Address
IPNetwork = IPv4Network | IPv6Network
PortRange = tuple[int, int]
MAX_PORT: Final = 0xFFFF
UNPRIVILEGED: Final = 1024
_FTP_PORTS: Final = frozenset({21, 990})
# Global unicast; other addresses are listed below, or reserved.
_GLOBAL: Final = IPv6Network("2000::/3")
_NAT64: Final = IPv6Network("64:ff9b::/96")
T = TypeVar("T")
# The gaps are ports of databases, queues and consoles, and bad ports of WHATWG Fetch.
# None is among those that systems hand out to servers without a port of their own.
_WEB_PORTS: Final = (
    "80,443,"
    "1024-1079,1081-1097,1100-1432,1435-1520,"  # SOCKS, Java RMI, SQL Server, Oracle
    "1523-1718,1721-1722,1724-1882,1884-2048,"  # H.323, PPTP, MQTT, NFS
    "2050-2180,2182-2374,2378,2381-2423,2425-2479,"  # ZooKeeper, Docker, etcd, OrientDB
    "2481-2482,2485-2887,2889-3049,"  # Oracle, ZooKeeper, Firebird
    "3051-3127,3129-3259,3261-3267,3270-3305,"  # HTTP proxies, iSCSI, LDAP, MySQL
    "3307-3388,3390-3631,3633-3658,3660-3689,"  # RDP, distcc, SASL, Subversion
    "3691-3887,3889-4044,4046-4189,4191-4221,"  # ZooKeeper, NFS, ManageSieve, NATS
    "4223-4368,4370-4645,4649-5043,5045-5059,"  # Erlang, Nomad, Logstash, SIP
    "5062-5221,5223-5268,5270-5431,5434-5600,"  # XMPP, PostgreSQL, Kibana
    "5602-5670,5673-5899,5904-5983,5987-5999,"  # AMQP, VNC, CouchDB, WinRM, X11
    "6064-6378,6381-6431,6433-6442,6444-6513,"  # Redis, PgBouncer, Kubernetes, syslog
    "6515-6565,6567-6659,6670-6678,6680-6696,6698-6983,"  # SANE, IRC, CouchDB
    "6985-7076,7078-7198,7200-7686,7688-7945,"  # Spark, Cassandra, Neo4j, Docker
    "7947-8008,8010-8085,8087-8122,8124-8199,"  # AJP, InfluxDB, ClickHouse, Vault
    "8202-8499,8503-8882,8884-9041,9043-9049,"  # Consul, MQTT, Cassandra, Tor
    "9052-9091,9095-9099,9101-9159,"  # Kafka, printers, Cassandra
    "9161-9199,9201-9299,9301-9417,9419-10049,"  # Elasticsearch, Git, Zabbix
    "10052-10079,10081-10247,10260-11210,"  # Amanda, Kubernetes, memcached
    "11212-11433,11435-15671,15673-16378,16380-25671,"  # Ollama, RabbitMQ, Redis
    "25673-26378,26380-27016,27020-28014,28016,"  # Redis, MongoDB, RethinkDB
    "28018-29014,29016-61612,61617-65535"
)


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


class RefusalCause(StrEnum):
    """Why a connection is refused; a variant of the statistic `guard/*`."""

    LOOPBACK = "loopback"
    PRIVATE = "private"
    LINK_LOCAL = "link_local"
    SHARED = "shared"
    CLOUD = "cloud"
    DOCUMENTATION = "documentation"
    BENCHMARK = "benchmark"
    MULTICAST = "multicast"
    UNSPECIFIED = "unspecified"
    TUNNEL = "tunnel"
    RESERVED = "reserved"
    PORT = "port"
    PORT_SCAN = "port_scan"
    OWN = "own"
    DENIED = "denied"
    NO_CONTACT = "no_contact"

    @property
    def is_of_port(self) -> bool:
        """Whether the port is refused, and not the address."""
        return self in (RefusalCause.PORT, RefusalCause.PORT_SCAN)


class ConnectionUse(StrEnum):
    """Purpose of a connection, which decides the allowed ports."""

    WEB = "web"
    FTP = "ftp"
    FTP_DATA = "ftp_data"


# As numbers: address of the network, and its mask.
_IPV4: Final = tuple(
    (int(network.network_address), int(network.netmask), why)
    for text, why in (
        ("0.0.0.0/8", RefusalCause.UNSPECIFIED),
        ("10.0.0.0/8", RefusalCause.PRIVATE),
        ("100.64.0.0/10", RefusalCause.SHARED),  # carrier-grade NAT (RFC 6598)
        ("127.0.0.0/8", RefusalCause.LOOPBACK),
        # A public address, but the host of a virtual machine in a cloud.
        ("168.63.129.16/32", RefusalCause.CLOUD),
        ("169.254.0.0/16", RefusalCause.LINK_LOCAL),  # metadata of clouds
        ("172.16.0.0/12", RefusalCause.PRIVATE),
        ("192.0.0.0/24", RefusalCause.RESERVED),  # IETF protocol assignments
        ("192.0.2.0/24", RefusalCause.DOCUMENTATION),
        ("192.88.99.0/24", RefusalCause.TUNNEL),  # 6to4 relays (RFC 7526)
        ("192.168.0.0/16", RefusalCause.PRIVATE),
        ("198.18.0.0/15", RefusalCause.BENCHMARK),
        ("198.51.100.0/24", RefusalCause.DOCUMENTATION),
        ("203.0.113.0/24", RefusalCause.DOCUMENTATION),
        ("224.0.0.0/4", RefusalCause.MULTICAST),
        ("240.0.0.0/4", RefusalCause.RESERVED),
    )
    for network in (IPv4Network(text),)
)
_IPV6: Final = tuple(
    (IPv6Network(network), why)
    for network, why in (
        ("::/128", RefusalCause.UNSPECIFIED),
        ("::1/128", RefusalCause.LOOPBACK),
        # IPv4 addresses: mapped, compatible, translated.
        ("::/32", RefusalCause.TUNNEL),
        # NAT64 with a local prefix (RFC 8215).
        ("64:ff9b:1::/48", RefusalCause.PRIVATE),
        ("2001::/32", RefusalCause.TUNNEL),  # Teredo
        ("2001::/23", RefusalCause.RESERVED),  # IETF protocol assignments
        ("2001:db8::/32", RefusalCause.DOCUMENTATION),
        ("2002::/16", RefusalCause.TUNNEL),  # 6to4
        ("3fff::/20", RefusalCause.DOCUMENTATION),  # RFC 9637
        ("fc00::/7", RefusalCause.PRIVATE),  # unique local; metadata of clouds
        ("fe80::/10", RefusalCause.LINK_LOCAL),
        ("fec0::/10", RefusalCause.PRIVATE),  # site-local (RFC 3879)
        ("ff00::/8", RefusalCause.MULTICAST),
    )
)


def parse_networks(texts: Iterable[str]) -> tuple[IPNetwork, ...]:
    """Parse networks and single addresses.

    Raises:
        ValueError: one of them is invalid; the message names it.

    >>> parse_networks(["10.0.0.0/8", "::1"])
    (IPv4Network('10.0.0.0/8'), IPv6Network('::1/128'))
    """
    return tuple(ip_network(text.strip()) for text in texts if text.strip())


def parse_ports(texts: Iterable[str]) -> tuple[PortRange, ...]:
    """Parse ports and ranges of ports.

    Raises:
        ValueError: one of them is invalid; the message names it.

    >>> parse_ports(["80", "1024-65535"])
    ((80, 80), (1024, 65535))
    """
    return tuple(_port_range(text.strip()) for text in texts if text.strip())


def _port_range(text: str) -> PortRange:
    first, dash, last = text.partition("-")
    numbers = [each.strip() for each in (first, last if dash else first)]
    if all(each.isascii() and each.isdigit() for each in numbers):
        low, high = map(int, numbers)
        if 1 <= low <= high <= MAX_PORT:
            return low, high
    raise ValueError(f"{text!r} is not a port or a range of ports")


def _parsed(
    parse: Callable[[Iterable[str]], T], example: str, name: str, value: Any
) -> T:
    texts = values.texts(value)
    try:
        return parse(texts)
    except ValueError as error:
        given = ",".join(texts)
        raise ConfigError(f"{name}={given}: {error}; for example {example}") from None


@dataclass(frozen=True, slots=True)
class Guard(OptionsTable):
    """The policy: the public internet, other allowed networks, and ports."""

    # An IPv4 network does not allow IPv6 addresses that embed its addresses.
    allow_nets: tuple[IPNetwork, ...] = parsed(
        "GUARD_ALLOW_NETS",
        [],
        partial(_parsed, parse_networks, "10.0.0.0/8,fd00::/8"),
        allowed="networks, separated by commas: `10.0.0.0/8,fd00::/8`",
    )
    """networks that a crawl may connect to although they are not public; see [the
    guard](../explanation/politeness.md#the-guard)"""
    ports: tuple[PortRange, ...] = parsed(
        "GUARD_PORTS",
        _WEB_PORTS,
        partial(_parsed, parse_ports, "80,443,1024-65535"),
        allowed="ports and ranges of them, separated by commas",
    )
    """ports that may be connected to; FTP has 21 and 990 in addition, its data 1024 and
    above. `80,443,1024-65535` allows those of services"""
    deny_nets: tuple[IPNetwork, ...] = parsed(
        "GUARD_DENY_NETS",
        [],
        partial(_parsed, parse_networks, "192.0.2.7,2001:db8::/32"),
        allowed="networks, separated by commas: `192.0.2.7,2001:db8::/32`",
    )
    """networks that a crawl never connects to, also if `GUARD_ALLOW_NETS` has them:
    addresses of this machine that its kernel does not know, as behind NAT, and other
    machines of yours"""
    max_ports: int = integer("GUARD_MAX_PORTS", 16, 1, 65535)
    """most ports of one address that a worker connects to, against port scans. Each
    worker counts alone, from its start, and remembers 10,000 addresses"""
    is_confined: bool = False  # only `allow_nets` are allowed

    def refusal(
        self, address: str, port: int, use: ConnectionUse = ConnectionUse.WEB
    ) -> RefusalCause | None:
        """Return why an address and a port may not be connected to.

        The address may have a zone; anything but an address is refused.

        >>> Guard().refusal("10.0.0.1", 80), Guard().refusal("2606:4700::1111", 443)
        (<RefusalCause.PRIVATE: 'private'>, None)
        """
        return self.refuses_port(port, use) or self.refuses_address(address)

    def refuses_address(self, address: str) -> RefusalCause | None:
        """Return why an address may not be connected to, at any port.

        Raises:
            OSError: no descriptors or memory are left for the check.
        """
        parsed, why = _judged(address)
        if parsed is None:
            return why
        reached = (parsed, _embedded(parsed) or parsed)
        if any(each in network for network in self.deny_nets for each in reached):
            return RefusalCause.DENIED
        if any(parsed in network for network in self.allow_nets):
            return None
        if why is None and any(map(is_own_address, reached)):
            return RefusalCause.OWN
        return why or (RefusalCause.NO_CONTACT if self.is_confined else None)

    def allows_address(self, address: str) -> bool:
        """Return whether an address may be connected to; False if unknown."""
        try:
            return self.refuses_address(address) is None
        except OSError:
            return False

    def refuses_port(
        self, port: int, use: ConnectionUse = ConnectionUse.WEB
    ) -> RefusalCause | None:
        """Return why a port may not be connected to, at any address.

        >>> Guard().refuses_port(22), Guard().refuses_port(21, ConnectionUse.FTP)
        (<RefusalCause.PORT: 'port'>, None)
        """
        if use is ConnectionUse.FTP_DATA:  # RFC 2577 3: no well-known service
            is_allowed = UNPRIVILEGED <= port <= MAX_PORT
        else:
            for first, last in self.ports:  # a generator takes thrice as long
                if first <= port <= last:
                    return None
            is_allowed = use is ConnectionUse.FTP and port in _FTP_PORTS
        return None if is_allowed else RefusalCause.PORT


def literal_address(host: str) -> str:
    """Return the address in the host of a parsed URL; empty for a name.

    >>> literal_address("[::1]"), literal_address("a.localhost")
    ('::1', '127.0.0.1')
    """
    bare = host.removeprefix("[").removesuffix("]").removesuffix(".")
    if _is_ipv4(bare):  # the module `ipaddress` takes ten times as long
        return bare
    if bare == "localhost" or bare.endswith(".localhost"):  # RFC 6761 6.3
        return "127.0.0.1"
    try:
        return str(ip_address(bare))
    except ValueError:
        return ""


@lru_cache(maxsize=4096)
def _judged(text: str) -> tuple[IPAddress | None, RefusalCause | None]:
    try:
        address = ip_address(text)
    except ValueError:
        return None, RefusalCause.RESERVED
    return address, _why(address)


def _why(address: IPAddress) -> RefusalCause | None:
    """Return why an address is not on the public internet."""
    if isinstance(address, IPv4Address):
        number = int(address)
        return next((why for net, mask, why in _IPV4 if number & mask == net), None)
    if address in _NAT64:
        # RFC 6052: an IPv6-only network reaches all IPv4 addresses by these.
        return _why(_lowest(address))
    for network, why in _IPV6:
        if address in network:
            return why
    if address not in _GLOBAL:
        return RefusalCause.RESERVED
    embedded = _embedded(address)
    return None if embedded is None else _why(embedded)


def _embedded(address: IPAddress) -> IPv4Address | None:
    """Return the IPv4 address that a public IPv6 address leads to."""
    if isinstance(address, IPv4Address):
        return None
    # ISATAP (RFC 5214 6.1): an interface identifier that holds an IPv4 address.
    is_isatap = int(address) >> 32 & 0xFDFF_FFFF == 0x5EFE
    return _lowest(address) if is_isatap or address in _NAT64 else None


def _lowest(address: IPv6Address) -> IPv4Address:
    return IPv4Address(int(address) & 0xFFFF_FFFF)
