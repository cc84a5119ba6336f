"""The guard's policy, and the connections of pages that it judges."""

from __future__ import annotations

import errno
import re
import socket
import subprocess
import threading
import time
from contextlib import asynccontextmanager
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from hypothesis import given
from hypothesis import strategies as st
from scrapy.settings import Settings
from scrapy.utils.project import get_project_settings

from rdfcrawl.core.errors import ConfigError, Reason
from rdfcrawl.core.records import Kind
from rdfcrawl.downloader.http.exchange import HttpExchange
from rdfcrawl.downloader.spool import Spool
from rdfcrawl.uri import BadUri, requestable
from rdfcrawl.uri.guard import operator, policy
from rdfcrawl.uri.guard.gate import MAX_ADDRESSES, ConnectionGate, GuardBlocked
from rdfcrawl.uri.guard.operator import looked_up_refusal, refusal_of
from rdfcrawl.uri.guard.options import guard_of
from rdfcrawl.uri.guard.policy import (
    MAX_PORT,
    ConnectionUse,
    Guard,
    RefusalCause,
    literal_address,
    parse_networks,
    parse_ports,
)
from rdfcrawl.uri.guard.resolver import GuardedResolver
from tests.support.namespaces import machines
from tests.support.page_tables import rows
from tests.support.pages import read_page

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from rdfcrawl.downloader.answer import HttpResponse
    from rdfcrawl.downloader.options import FetchOptions
    from tests.conftest import RawServers

    MakeOptions = Callable[..., FetchOptions]

LOOPBACK = Guard(parse_networks(["127.0.0.0/8"]))

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
    "64:ff9b::8.8.8.8",  # NAT64: whoever has IPv6 alone reaches IPv4 so
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
    RefusalCause.CLOUD: "an address within a cloud",
    RefusalCause.DOCUMENTATION: "an address of documentation",
    RefusalCause.BENCHMARK: "an address of benchmarks",
    RefusalCause.MULTICAST: "a multicast address",
    RefusalCause.UNSPECIFIED: "an unspecified address",
    RefusalCause.TUNNEL: "an address that stands for another one",
    RefusalCause.RESERVED: "no address of the public internet",
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
    """If an address is beside a refused network, then it is judged by itself."""
    refused = {ip_address(text) for row in NETWORKS for text in row[:2]}
    for each in refused:
        for beside in (int(each) - 1, int(each) + 1):
            if 0 <= beside < 2**each.max_prefixlen:
                address = type(each)(beside)
                is_inside = any(
                    int(ip_address(first)) <= beside <= int(ip_address(last))
                    for first, last, _ in NETWORKS
                    if ip_address(first).version == address.version
                )
                assert is_inside or Guard().refuses_address(str(address)) is None


def test_confined_guard_names_private_addresses() -> None:
    """If no contact is given, then only what is public is refused for that."""
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
    told = parse_ports(re.findall(r"\b\d{4,5}(?:-\d{4,5})?\b", cells))
    services = {port for first, last in told for port in range(first, last + 1)}
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
    guard = guard_of(Settings({"GUARD_MAX_PORTS": 1, "GUARD_PORTS": "80,9200"}))
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
    """If a host is an address, or named so for all, then nobody need be asked."""
    assert literal_address(host) == address


def test_many_ports_of_an_address_are_a_scan() -> None:
    """If documents lead to ever more ports of an address, then they are refused."""
    counts: list[RefusalCause] = []
    gate = ConnectionGate(Guard(max_ports=3), count=counts.append)
    for port in (80, 443, 8080, 80, 443):
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
    for host, port, use, told in [
        ("example.org", 22, ConnectionUse.WEB, "port 22 of example.org is not among"),
        ("example.org", 22, ConnectionUse.FTP, "port 22 of example.org is not among"),
        ("example.org", 80, ConnectionUse.FTP_DATA, "port 80 of .* none for data of F"),
        ("127.0.0.1", 80, ConnectionUse.WEB, "127.0.0.1 is a loopback address"),
        (
            "db.localhost",
            80,
            ConnectionUse.WEB,
            r"db.localhost \(127.0.0.1\) is",
        ),
    ]:
        with pytest.raises(GuardBlocked, match=told):
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


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://example.org/", ""),
        ("http://example.org:8080/", ""),
        ("http://example.org:22/", "port 22"),
        ("http://example.org:22?a", "port 22"),
        ("http://example.org:22#a", "port 22"),
        ("http://example.org:22", "port 22"),
        ("ftp://example.org:22/", "port 22"),
        ("ftp://example.org:21/", ""),
        ("ftps://example.org:990/", ""),
        ("http://example.org:21/", "port 21"),
        ("http://10.0.0.1/", "private"),
        ("http://127.0.0.1", "loopback"),
        ("http://127.0.0.1?a", "loopback"),
        ("http://[::1]/", "loopback"),
        ("http://localhost/", "loopback"),
        ("http://a.localhost./x", "loopback"),
        ("http://localhost", "loopback"),
        ("http://a.example/127.0.0.1", ""),
        ("urn:x:127.0.0.1", ""),
        ("example://10.0.0.1/", ""),
    ],
)
def test_url_of_the_operator_is_refused_before_the_crawl(url: str, told: str) -> None:
    """If a URL shows that it will be refused, then its operator knows at once."""
    found = refusal_of(url, Guard())
    assert bool(found) is bool(told)
    assert told in found
    whole = looked_up_refusal([url], Guard(), looks_up=False)
    assert whole == (f"{url}: {found}" if found else "")


def test_names_of_the_operator_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """If names are given, then the first are looked up, for some seconds at most."""
    asked: list[str] = []
    goes_on = threading.Event()

    def look_up(host: str, *_: object, **__: object) -> list[tuple[object, ...]]:
        asked.append(host)
        if host == "hangs.example":
            goes_on.wait(60)
        if host == "none.example":
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        address = "10.0.0.9" if host == "inside.example" else "1.1.1.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0))]

    assert operator.LOOKUP_SECS <= 3
    assert operator.EXIT_CODE == 3
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(operator, "LOOKUP_SECS", 0.2)
    names = [f"http://n{n}.example/" for n in range(20)]
    assert (
        looked_up_refusal(["http://1.1.1.1/", *names, "http://n.example/"], Guard())
        == ""
    )
    assert sorted(asked) == sorted(f"n{n}.example" for n in range(20))
    urls = ["http://none.example/", "http://hangs.example/", "http://inside.example/a"]
    told = looked_up_refusal(["urn:x:y", *urls], Guard())
    goes_on.set()
    assert told.startswith(
        "http://inside.example/a: inside.example (10.0.0.9) is in a pri"
    )
    asked.clear()
    assert looked_up_refusal(urls, Guard(), looks_up=False) == ""
    assert asked == []


def test_setting_is_read() -> None:
    """If GUARD_ALLOW_NETS has networks, then the guard allows them."""
    given = {"GUARD_ALLOW_NETS": "127.0.0.0/8,::1", "GUARD_PORTS": "80,8000-8999"}
    guard = guard_of(Settings(given | {"GUARD_MAX_PORTS": "5"}))
    assert guard.allow_nets == (ip_network("127.0.0.0/8"), ip_network("::1"))
    assert guard.ports == ((80, 80), (8000, 8999))
    assert guard.max_ports == 5


OWN = ["93.184.216.37", "2a00:1450:4001:81b::200e"]
ROUTED = ["93.185.7.7", "2a00:1451::7"]
SHARED = {"93.186.0.255": "broadcast", "2a00:1452::1": "anycast"}
HOLDERS = ["64:ff9b::5db8:d825", "2606:4700::5efe:93.184.216.37"]  # of the first


def change(word: str) -> None:
    """Add or delete addresses of this machine, in a namespace of the test's own."""
    for address in OWN:
        ip("addr", word, address, "dev", "lo")
    for network in ("93.185.0.0/16", "2a00:1451::/32"):
        ip("route", word, "local", network, "dev", "lo")
    for address, kind in SHARED.items():
        ip("route", word, kind, address, "dev", "lo")
    while ("local" in ip("route", "get", OWN[1])) != (word == "add"):
        time.sleep(0.01)  # the kernel adds those of IPv6 in the background


def ip(*words: str) -> str:
    """Run the command `ip`; return its output, empty if it fails for `get`."""
    is_strict = "get" not in words
    done = subprocess.run(["ip", *words], check=is_strict, capture_output=True)
    return done.stdout.decode()


@pytest.mark.parametrize("has_netlink", [True, False])
def test_own_addresses_are_refused_while_they_are_there(
    monkeypatch: pytest.MonkeyPatch, *, has_netlink: bool
) -> None:
    """If an address is added to this machine, then it is refused from then on."""
    if not has_netlink:  # as in a service that may not use it, or not on Linux
        monkeypatch.delattr(socket, "AF_NETLINK")
    guard = Guard()
    # Addresses of a routed network of IPv6 cannot be bound to, nor shared ones.
    shared = list(SHARED) if has_netlink else []
    addresses = [*OWN, *ROUTED[: 1 + has_netlink], *shared, *HOLDERS]
    with machines(0):
        assert not any(map(guard.refuses_address, addresses))
        change("add")
        found = {guard.refuses_address(address) for address in addresses}
        assert found == {RefusalCause.OWN}
        allowing = Guard(parse_networks(["93.184.216.37"]))
        allowed = [allowing.refuses_address(address) is None for address in addresses]
        assert allowed == [True] + [False] * (len(addresses) - 1)
        change("del")
        assert not any(map(guard.refuses_address, addresses))


def test_own_address_without_a_route_is_refused() -> None:
    """If rules of this machine hide the route to an address of its own, it is known."""
    with machines(0):
        ip("addr", "add", OWN[0], "dev", "lo")
        ip("rule", "add", "pref", "9", "lookup", "local")
        ip("rule", "add", "pref", "8", "to", OWN[0], "prohibit")
        ip("rule", "del", "pref", "0")
        assert "local" not in ip("route", "get", OWN[0])
        assert Guard().refuses_address(OWN[0]) is RefusalCause.OWN
        assert Guard().refuses_address(ROUTED[0]) is None


LACKING = [errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM]


@pytest.mark.parametrize("code", [*LACKING, errno.EACCES, errno.EAFNOSUPPORT])
@pytest.mark.parametrize("is_netlink", [True, False])
def test_addresses_are_not_judged_without_descriptors_or_memory(
    monkeypatch: pytest.MonkeyPatch, code: int, *, is_netlink: bool
) -> None:
    """If a machine lacks what it takes to find out, then no verdict is given."""

    class ScarceSocket(socket.socket):
        def __init__(self, family: int = -1, *args: int, **more: int) -> None:
            is_lacking = (family == socket.AF_NETLINK) is is_netlink
            if is_lacking or family == socket.AF_NETLINK:
                raise OSError(code if is_lacking else errno.EACCES, "no socket")
            super().__init__(family, *args, **more)

    monkeypatch.setattr(socket, "socket", ScarceSocket)
    guard = Guard()
    if code in LACKING:
        with pytest.raises(OSError, match="no socket"):
            guard.refuses_address("1.1.1.1")
        assert not guard.allows_address("1.1.1.1")
    else:  # other refusals are lasting: a system without netlink, or without IPv6
        is_refused = code == errno.EACCES and not is_netlink
        why = RefusalCause.OWN if is_refused else None
        assert guard.refuses_address("1.1.1.1") is why


def test_denied_networks_go_before_allowed_ones() -> None:
    """If a network is denied, then neither its addresses nor holders of them pass."""
    given = {"GUARD_DENY_NETS": "93.184.216.37,2606:4700::/32", "GUARD_MAX_PORTS": 1}
    guard = guard_of(Settings(given | {"GUARD_ALLOW_NETS": "93.184.216.0/24"}))
    denied = [OWN[0], *HOLDERS, "2606:4700::1111"]
    assert {guard.refuses_address(x) for x in denied} == {RefusalCause.DENIED}
    assert guard.refuses_address("93.184.216.38") is None
    with pytest.raises(GuardBlocked, match=r"is in a network of GUARD_DENY_NETS$"):
        ConnectionGate(guard).check(OWN[0], 80)


def test_settings_of_the_project_are_the_policy_itself() -> None:
    """If nothing is set, then the guard is as strict as it is by itself."""
    assert guard_of(get_project_settings()) == Guard()


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
        guard_of(Settings({"GUARD_MAX_PORTS": 1, name: value}))


# -- over real connections -----------------------------------------------------------


@asynccontextmanager
async def opened(options: FetchOptions, guard: Guard) -> AsyncIterator[HttpExchange]:
    """Open an exchange with a guard."""
    with Spool(options.spool_dir, memory_limit_bytes=1 << 20) as spool:
        async with HttpExchange(replace(options, guard=guard), spool) as exchange:
            yield exchange


async def get(url: str, options: FetchOptions, guard: Guard) -> HttpResponse:
    """Fetch one URL by a guarded exchange."""
    async with opened(options, guard) as exchange:
        return await exchange.get(url, options.ask(Kind.PAGE))


SPELLINGS = [
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f.1",
    "0177.0.0.1",
    "127.0.0.1.",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "①②⑦.0.0.1",
    "0.0.0.0",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:7f00:0001]",
    "[64:ff9b::7f00:1]",
    "[::127.0.0.1]",
    "me:pw@127.0.0.1",
]


@pytest.mark.parametrize("host", SPELLINGS)
async def test_loopback_is_not_reached(
    raw_server: RawServers, fetch_options: MakeOptions, host: str
) -> None:
    """If a URL spells a loopback address in any way, then no connection is made."""
    server = await raw_server({"*": raw_server.response()})
    try:
        url = requestable(f"http://{host}:{server.port}/")
    except BadUri:
        return
    answer = await get(url, fetch_options(), Guard())
    assert answer.fault is not None
    assert answer.fault.reason in {Reason.GUARD_BLOCKED, Reason.DNS}
    assert server.n_connections == 0


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_refusal_is_named(
    raw_server: RawServers, fetch_options: MakeOptions, host: str
) -> None:
    """If the guard refuses, then the fault says so, and holds for all of the host."""
    server = await raw_server()
    url = f"http://{host}:{server.port}/"
    answer = await get(url, fetch_options(), Guard())
    assert answer.fault is not None
    assert answer.fault.reason is Reason.GUARD_BLOCKED
    assert host in answer.fault.detail
    assert answer.is_host_fault


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_allowed_network_is_reached(
    raw_server: RawServers, fetch_options: MakeOptions, host: str
) -> None:
    """If a network is allowed, then its addresses and their names are reached."""
    server = await raw_server({"/": raw_server.response(b"<> <a:b> 1 .")})
    answer = await get(f"http://{host}:{server.port}/", fetch_options(), LOOPBACK)
    assert answer.fault is None
    assert answer.status == 200


class Names(AbstractResolver):
    """A name server of the test's own: each lookup takes the next list."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.is_closed = False

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_INET,
    ) -> list[ResolveResult]:
        """Return the next list."""
        return [
            ResolveResult(
                hostname=host, host=each, port=port, family=family, proto=0, flags=0
            )
            for each in self.answers.pop(0)
        ]

    async def close(self) -> None:
        """Take note."""
        self.is_closed = True


async def test_private_addresses_of_a_name_are_left_out() -> None:
    """If a name has public and private addresses, then only the public ones stay."""
    names = GuardedResolver(
        Names(["10.0.0.1", "1.1.1.1", "::1"]), ConnectionGate(Guard())
    )
    assert [each["host"] for each in await names.resolve("a.example", 80)] == [
        "1.1.1.1"
    ]


async def test_name_that_changes_its_address_is_refused() -> None:
    """If a name turns private (DNS rebinding), then each lookup is judged anew."""
    source = Names(["1.1.1.1"], ["127.0.0.1"])
    names = GuardedResolver(source, ConnectionGate(Guard()))
    assert await names.resolve("a.example", 80)
    with pytest.raises(GuardBlocked, match="loopback"):
        await names.resolve("a.example", 80)
    await names.close()
    assert source.is_closed


async def test_address_is_checked_when_it_is_dialled(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a resolver lets a private address through, then no socket is opened for it."""
    server = await raw_server({"*": raw_server.response()})
    async with opened(fetch_options(), Guard()) as exchange:
        connector = exchange._session.connector
        connector._resolver = Names(["127.0.0.1"])  # type: ignore[union-attr]
        url = f"http://rebound.example:{server.port}/"
        answer = await exchange.get(url, fetch_options().ask(Kind.PAGE))
    assert answer.fault is not None
    assert answer.fault.reason is Reason.GUARD_BLOCKED
    assert server.n_connections == 0


_connects = re.compile(
    r"socket\.socket\(|create_connection\(|open_connection\(|ClientSession\(|urlopen\("
    r"|HTTPS?Connection\(|connectTCP\("
)
# The gate itself; those who ask it; who looks for a route, and sends nothing; the
# synthetic web; the socket of our own Redis; the SPARQL store that the operator names.
_MAY_CONNECT = {
    "uri/guard/gate.py",
    "uri/guard/own_addresses.py",  # asks the kernel alone
    "downloader/http/connector.py",  # by aiohttp, with sockets of the gate
    "downloader/http/exchange.py",
    "downloader/ftp/protocol.py",
    "downloader/own_trouble.py",
    "dataweb/server.py",
    "stores/followers/sparql/client.py",
    "frontier/redis/embedded.py",
    "frontier/redis/refusals.py",  # the Redis that the operator names
    "commands/page.py",  # takes a socket that listens already
}


def test_connections_are_made_in_few_places() -> None:
    """If a file opens connections, then it is one that is known to ask the gate."""
    root = Path(__file__).resolve().parents[3] / "rdfcrawl"
    found = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if _connects.search(path.read_text(encoding="utf-8"))
    }
    assert found == _MAY_CONNECT
