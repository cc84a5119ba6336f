"""The guard's policy, and the settings that it is read from."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.settings import Settings
from scrapy.utils.project import get_project_settings

from rdfcrawl.core.errors import ConfigError, Reason
from rdfcrawl.uri.guard import policy
from rdfcrawl.uri.guard.gate import MAX_ADDRESSES, ConnectionGate, GuardBlocked
from rdfcrawl.uri.guard.policy import (
    MAX_PORT,
    ConnectionUse,
    Guard,
    RefusalCause,
    literal_address,
    parse_networks,
    parse_ports,
)
from tests.support.page_tables import rows
from tests.support.pages import read_page

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfcrawl.downloader.options import FetchOptions

    MakeOptions = Callable[..., FetchOptions]


REFUSED = [
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "100.100.100.200",  # metadata of a cloud
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",  # of another one
    "169.254.169.254",  # of most
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",  # IPv4-compatible
    "::ffff:127.0.0.1",  # IPv4-mapped
    "::ffff:0:127.0.0.1",  # IPv4-translated
    "64:ff9b::7f00:1",  # NAT64
    "64:ff9b::10.0.0.1",
    "64:ff9b:1::a00:1",
    "100::1",
    "2001::1",  # Teredo
    "2001:0:4136:e378:8000:63bf:80ff:fffe",
    "2001:db8::1",
    "2002:7f00:1::",  # 6to4
    "2002:808:808::1",
    "2606:4700::5efe:10.0.0.1",  # ISATAP
    "2606:4700::200:5efe:127.0.0.1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",  # metadata of a cloud
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "localhost",
    "",
    "2130706433",
    "0177.0.0.1",
    "127.1",
]
ALLOWED = [
    "1.1.1.1",
    "8.8.8.8",
    "100.63.255.255",
    "100.128.0.1",
    "172.15.255.255",
    "172.32.0.1",
    "192.0.1.1",
    "223.255.255.255",
    "2606:4700::1111",
    "64:ff9b::8.8.8.8",  # NAT64, the way from IPv6-only networks to IPv4
    "2606:4700::5efe:8.8.8.8",
    "2a00:1450:4001:81b::200e",
]


@pytest.mark.parametrize("address", REFUSED)
def test_address_is_refused(address: str) -> None:
    """If an address is not on the public internet, then it is not connected to."""
    assert Guard().refusal(address, 80) is not None


@pytest.mark.parametrize("address", ALLOWED)
def test_address_is_allowed(address: str) -> None:
    """If an address is on the public internet, then it is connected to."""
    assert Guard().refusal(address, 80) is None


@given(st.integers(0, 2**32 - 1))
def test_guard_is_stricter_than_the_library(number: int) -> None:
    """If an IPv4 address is allowed, then Python's registry calls it global too."""
    address = IPv4Address(number)
    if Guard().refuses_address(str(address)) is None:
        assert address.is_global
        assert not address.is_multicast


@given(st.integers(0, 2**128 - 1))
def test_guard_is_stricter_than_the_library_for_ipv6(number: int) -> None:
    """If an IPv6 address is allowed, then Python's registry calls it global too."""
    address = IPv6Address(number)
    if Guard().refuses_address(str(address)) is None:
        assert address.is_global
        assert address.ipv4_mapped is None
        assert address.sixtofour is None
        assert address.teredo is None


def test_networks_are_allowed() -> None:
    """If a network is allowed, then its addresses are, and no embedding of them."""
    guard = Guard(parse_networks(["10.0.0.0/8", " fd00::/8 ", ""]))
    assert guard.refusal("10.1.2.3", 80) is None
    assert guard.refusal("fd12::1", 80) is None
    assert guard.refusal("127.0.0.1", 80) is RefusalCause.LOOPBACK
    assert guard.refusal("::ffff:10.1.2.3", 80) is RefusalCause.TUNNEL


def filled(beginning: str) -> str:
    """Return the last address of IPv6 that begins so."""
    groups = beginning.split(":") if beginning else []
    return ":".join(groups + ["ffff"] * (8 - len(groups)))


NETWORKS = [
    # first and last address of each, IANA's registries
    ("0.0.0.0", "0.255.255.255", RefusalCause.UNSPECIFIED),
    ("10.0.0.0", "10.255.255.255", RefusalCause.PRIVATE),
    ("100.64.0.0", "100.127.255.255", RefusalCause.SHARED),
    ("127.0.0.0", "127.255.255.255", RefusalCause.LOOPBACK),
    ("168.63.129.16", "168.63.129.16", RefusalCause.CLOUD),
    ("169.254.0.0", "169.254.255.255", RefusalCause.LINK_LOCAL),
    ("172.16.0.0", "172.31.255.255", RefusalCause.PRIVATE),
    ("192.0.0.0", "192.0.0.255", RefusalCause.RESERVED),
    ("192.0.2.0", "192.0.2.255", RefusalCause.DOCUMENTATION),
    ("192.88.99.0", "192.88.99.255", RefusalCause.TUNNEL),
    ("192.168.0.0", "192.168.255.255", RefusalCause.PRIVATE),
    ("198.18.0.0", "198.19.255.255", RefusalCause.BENCHMARK),
    ("198.51.100.0", "198.51.100.255", RefusalCause.DOCUMENTATION),
    ("203.0.113.0", "203.0.113.255", RefusalCause.DOCUMENTATION),
    ("224.0.0.0", "239.255.255.255", RefusalCause.MULTICAST),
    ("240.0.0.0", "255.255.255.255", RefusalCause.RESERVED),
    ("::", "::", RefusalCause.UNSPECIFIED),
    ("::1", "::1", RefusalCause.LOOPBACK),
    ("::2", filled("0:0"), RefusalCause.TUNNEL),
    ("0:1::", filled("64:ff9a"), RefusalCause.RESERVED),
    ("64:ff9b::", "64:ff9b::ff:ffff", RefusalCause.UNSPECIFIED),
    ("64:ff9b::7f00:0", "64:ff9b::7fff:ffff", RefusalCause.LOOPBACK),
    ("64:ff9b::e000:0", "64:ff9b::efff:ffff", RefusalCause.MULTICAST),
    ("64:ff9b::f000:0", "64:ff9b::ffff:ffff", RefusalCause.RESERVED),
    ("64:ff9b::1:0:0", filled("64:ff9b:0"), RefusalCause.RESERVED),
    ("64:ff9b:1::", filled("64:ff9b:1"), RefusalCause.PRIVATE),
    ("64:ff9b:2::", filled("1fff"), RefusalCause.RESERVED),
    ("2001::", filled("2001:0"), RefusalCause.TUNNEL),
    ("2001:1::", filled("2001:1ff"), RefusalCause.RESERVED),
    ("2001:db8::", filled("2001:db8"), RefusalCause.DOCUMENTATION),
    ("2002::", filled("2002"), RefusalCause.TUNNEL),
    ("3fff::", filled("3fff:fff"), RefusalCause.DOCUMENTATION),
    ("4000::", filled("fbff"), RefusalCause.RESERVED),
    ("fc00::", filled("fdff"), RefusalCause.PRIVATE),
    ("fe00::", filled("fe7f"), RefusalCause.RESERVED),
    ("fe80::", filled("febf"), RefusalCause.LINK_LOCAL),
    ("fec0::", filled("feff"), RefusalCause.PRIVATE),
    ("ff00::", filled(""), RefusalCause.MULTICAST),
]


WORDS = {
    RefusalCause.LOOPBACK: "a loopback address",
    RefusalCause.PRIVATE: "in a private network",
    RefusalCause.LINK_LOCAL: "a link-local address",
    RefusalCause.SHARED: "in the shared network of a provider",
    RefusalCause.CLOUD: "an internal address of a cloud",
    RefusalCause.DOCUMENTATION: "a documentation address",
    RefusalCause.BENCHMARK: "a benchmark address",
    RefusalCause.MULTICAST: "a multicast address",
    RefusalCause.UNSPECIFIED: "an unspecified address",
    RefusalCause.TUNNEL: "a tunnel to another address",
    RefusalCause.RESERVED: "not an address of the public internet",
}


@pytest.mark.parametrize(("first", "last", "why"), NETWORKS)
def test_refusal_has_a_name(first: str, last: str, why: RefusalCause) -> None:
    """If an address is first or last in a network, then the refusal names it."""
    for address in (first, last):
        assert Guard().refusal(address, 443) is why
        with pytest.raises(GuardBlocked, match=WORDS[why]) as blocked:
            ConnectionGate(Guard()).check_literal(address, 443)
        assert blocked.value.fault.reason is Reason.GUARD_BLOCKED


def test_refusal_by_the_machine_and_by_the_operator_have_names() -> None:
    """If an address is of this machine, or denied, then the refusal names that."""
    gate = ConnectionGate(Guard())
    own = gate.blocked("1.1.1.1", "1.1.1.1", 80, RefusalCause.OWN)
    assert own.detail.startswith("1.1.1.1 is an address of this machine; GUARD_ALLOW")
    denied = gate.blocked("1.1.1.1", "1.1.1.1", 80, RefusalCause.DENIED)
    assert denied.detail == "1.1.1.1 is in a network of GUARD_DENY_NETS"


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("::ffff:127.0.0.1", RefusalCause.TUNNEL),
        ("fe80::1%eth0", RefusalCause.LINK_LOCAL),
        ("2606:4700::5efe:10.0.0.1", RefusalCause.PRIVATE),
        ("2606:4700::200:5efe:127.0.0.1", RefusalCause.LOOPBACK),
        ("127.1", RefusalCause.RESERVED),
    ],
)
def test_spellings_have_the_same_name(address: str, why: RefusalCause) -> None:
    """If an address is spelt within another, then the refusal names the one meant."""
    assert Guard().refusal(address, 443) is why


def test_networks_end_where_others_begin() -> None:
    """If an address is next to a refused network, then it is judged by itself."""
    refused = {ip_address(text) for row in NETWORKS for text in row[:2]}
    for each in refused:
        for neighbour in (int(each) - 1, int(each) + 1):
            if 0 <= neighbour < 2**each.max_prefixlen:
                address = type(each)(neighbour)
                is_inside = any(
                    int(ip_address(first)) <= neighbour <= int(ip_address(last))
                    for first, last, _ in NETWORKS
                    if ip_address(first).version == address.version
                )
                assert is_inside or Guard().refuses_address(str(address)) is None


def test_confined_guard_names_private_addresses() -> None:
    """If no contact is given, then only public addresses are refused for it."""
    guard = Guard(parse_networks(["127.0.0.0/8"]), is_confined=True)
    assert guard.refuses_address("8.8.8.8") is RefusalCause.NO_CONTACT
    assert guard.refuses_address("10.0.0.1") is RefusalCause.PRIVATE
    assert guard.refuses_address("127.0.0.1") is None
    assert guard.refuses_address("no address") is RefusalCause.RESERVED


def test_judged_addresses_are_forgotten() -> None:
    """If ever more addresses are judged, then few of them are remembered."""
    guard = Guard()
    for number in range(5000):
        guard.refuses_address(str(IPv4Address(number)))
    assert policy._judged.cache_info().currsize <= 4096


@pytest.mark.parametrize(
    ("use", "allowed", "refused"),
    [
        (
            ConnectionUse.WEB,
            [80, 443, 1024, 8890, MAX_PORT],
            [0, 1, 21, 22, 25, 110, 990, 1023],
        ),
        (ConnectionUse.FTP, [21, 990, 2121], [20, 22, 25, 1023, MAX_PORT + 1]),
        (ConnectionUse.FTP_DATA, [1024, 50_000, MAX_PORT], [20, 21, 22, 80, 443, 1023]),
    ],
)
def test_ports(use: ConnectionUse, allowed: list[int], refused: list[int]) -> None:
    """If a port is one of another service, then it is not connected to."""
    guard = Guard()
    assert [port for port in allowed if guard.refuses_port(port, use)] == []
    assert {guard.refusal("1.1.1.1", port, use) for port in refused} == {
        RefusalCause.PORT
    }


# Of stores of RDF, and of other servers that publish pages.
PUBLISHERS = (
    *(1111, 2020, 3000, 3030, 5000, 5820, 7200, 7474, 8000, 8008, 8080, 8081, 8085),
    *(8088, 8090, 8181, 8443, 8529, 8880, 8888, 8890, 8983, 9000, 9090, 9999, 10035),
)


def test_ports_of_services_are_left_out() -> None:
    """If a port is known for a service that publishes nothing, then it is refused."""
    section = read_page("settings.md").partition("### Ports of services")[2]
    cells = " ".join(row["ports"] for row in rows(section, "kind"))
    ranges = parse_ports(re.findall(r"\b\d{4,5}(?:-\d{4,5})?\b", cells))
    services = {port for first, last in ranges for port in range(first, last + 1)}
    guard = Guard()
    refused = {port for port in range(1024, MAX_PORT + 1) if guard.refuses_port(port)}
    assert refused == services
    assert services >= {2375, 2379, 3306, 5432, 6379, 6443, 9200, 10250, 11211, 27017}
    assert services.isdisjoint(PUBLISHERS)
    # The ports that systems hand out are those of servers in tests, too.
    assert services.isdisjoint(range(32_768, 61_000))
    assert guard.refuses_port(6379, ConnectionUse.FTP) is RefusalCause.PORT


def test_service_is_allowed_by_name() -> None:
    """If GUARD_PORTS has the port of a service, then it is connected to."""
    guard = Guard.from_settings(
        Settings({"GUARD_MAX_PORTS": 1, "GUARD_PORTS": "80,9200"})
    )
    assert guard.refuses_port(9200) is None


def test_ports_are_set() -> None:
    """If the ports of the web are fewer, then those of FTP and its data stay."""
    assert parse_ports(["1-65535", "9-9"]) == ((1, MAX_PORT), (9, 9))
    guard = Guard(ports=parse_ports(["80", " 443 "]))
    assert guard.refuses_port(8080) is RefusalCause.PORT
    assert guard.refuses_port(2121, ConnectionUse.FTP) is RefusalCause.PORT
    assert guard.refuses_port(21, ConnectionUse.FTP) is None
    assert guard.refuses_port(50_000, ConnectionUse.FTP_DATA) is None


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "::1"),
        ("localhost", "127.0.0.1"),
        ("db.localhost", "127.0.0.1"),
        ("example.org", ""),
        ("mylocalhost", ""),
    ],
)
def test_literals_are_known_without_a_lookup(host: str, address: str) -> None:
    """If a host is an address, or a reserved name, then no lookup is needed."""
    assert literal_address(host) == address


def test_many_ports_of_an_address_are_a_scan() -> None:
    """If documents lead to ever more ports of an address, then they are refused."""
    counts: list[RefusalCause] = []
    gate = ConnectionGate(Guard(max_ports=3), count=counts.append)
    for port in (80, 443, 80, 443, 8080):
        gate.check("1.1.1.1", port)
    with pytest.raises(GuardBlocked, match="GUARD_MAX_PORTS"):
        gate.check("1.1.1.1", 8081)
    gate.check("1.1.1.1", 8080)
    gate.check("1.1.1.2", 8081)
    gate.check("1.1.1.1", 50_000, ConnectionUse.FTP_DATA)
    assert counts == [RefusalCause.PORT_SCAN]


def test_ports_of_a_refused_address_are_not_counted() -> None:
    """If an address is refused, then that is the reason, however many its ports."""
    gate = ConnectionGate(Guard(max_ports=1))
    for port in (80, 443, 8080):
        with pytest.raises(GuardBlocked) as blocked:
            gate.check("10.0.0.1", port)
        assert blocked.value.why is RefusalCause.PRIVATE


def test_ports_of_few_addresses_are_remembered() -> None:
    """If ever more addresses are dialled, then the ports of the latest are known."""
    assert MAX_ADDRESSES <= 10_000
    guard = Guard(parse_networks(["1.0.0.0/8"]), max_ports=1)
    gate = ConnectionGate(guard)
    addresses = [str(IPv4Address(0x0101_0101 + n)) for n in range(MAX_ADDRESSES + 1)]
    for address in addresses[:-1]:
        gate.check(address, 80)
    with pytest.raises(GuardBlocked, match="GUARD_MAX_PORTS"):
        gate.check(addresses[0], 8081)
    gate.check(addresses[0], 80)  # used again, so that the second is the oldest
    gate.check(addresses[-1], 80)
    with pytest.raises(GuardBlocked, match="GUARD_MAX_PORTS"):
        gate.check(addresses[0], 8081)
    gate.check(addresses[1], 8081)
    with pytest.raises(GuardBlocked, match="GUARD_MAX_PORTS"):
        gate.check(addresses[-1], 8081)


def test_host_is_checked_before_a_lookup() -> None:
    """If port or address show that a host is refused, then no name is looked up."""
    counts: list[RefusalCause] = []
    gate = ConnectionGate(Guard(), count=counts.append)
    for host, port, use, detail in [
        ("example.org", 22, ConnectionUse.WEB, "port 22 of example.org is not among"),
        ("example.org", 22, ConnectionUse.FTP, "port 22 of example.org is not among"),
        ("example.org", 80, ConnectionUse.FTP_DATA, "port 80 of .* not a port for FTP"),
        ("127.0.0.1", 80, ConnectionUse.WEB, "127.0.0.1 is a loopback address"),
        (
            "db.localhost",
            80,
            ConnectionUse.WEB,
            r"db.localhost \(127.0.0.1\) is",
        ),
    ]:
        with pytest.raises(GuardBlocked, match=detail):
            gate.check_literal(host, port, use)
    for port in (22, 1023):
        with pytest.raises(GuardBlocked):
            gate.check_port("example.org", port)
    gate.check_literal("example.org", 80)
    assert counts == [
        *[RefusalCause.PORT] * 3,
        *[RefusalCause.LOOPBACK] * 2,
        *counts[:2],
    ]
    assert gate.allowed("nowhere.example", 80, []) == []


def test_setting_is_read() -> None:
    """If GUARD_ALLOW_NETS has networks, then the guard allows them."""
    given = {"GUARD_ALLOW_NETS": "127.0.0.0/8,::1", "GUARD_PORTS": "80,8000-8999"}
    guard = Guard.from_settings(Settings(given | {"GUARD_MAX_PORTS": "5"}))
    assert guard.allow_nets == (ip_network("127.0.0.0/8"), ip_network("::1"))
    assert guard.ports == ((80, 80), (8000, 8999))
    assert guard.max_ports == 5


def test_settings_of_the_project_are_the_policy_itself() -> None:
    """If nothing is set, then the guard is as strict as it is by itself."""
    assert Guard.from_settings(get_project_settings()) == Guard()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GUARD_ALLOW_NETS", "10.0.0.1/8"),
        ("GUARD_ALLOW_NETS", "everything"),
        ("GUARD_ALLOW_NETS", "10.0.0.0/33"),
        ("GUARD_DENY_NETS", "me"),
        ("GUARD_PORTS", "http"),
        ("GUARD_PORTS", "0-80"),
        ("GUARD_PORTS", "443-80"),
        ("GUARD_PORTS", "1-65536"),
        ("GUARD_PORTS", "80-"),
        ("GUARD_PORTS", "8_0"),
        ("GUARD_PORTS", "\u0668\u0660"),
        ("GUARD_MAX_PORTS", "0"),
        ("GUARD_MAX_PORTS", "many"),
    ],
)
def test_bad_setting_is_refused(name: str, value: str) -> None:
    """If a setting makes no sense, then the crawl does not begin."""
    with pytest.raises(ConfigError, match=name):
        Guard.from_settings(Settings({"GUARD_MAX_PORTS": 1, name: value}))
