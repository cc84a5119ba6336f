"""The guard: no stranger's URL leads the crawler into a network that is not public."""

from __future__ import annotations

import socket
from contextlib import asynccontextmanager
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import TYPE_CHECKING

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from hypothesis import given
from hypothesis import strategies as st
from scrapy.settings import Settings

from rdfcrawl.errors import ConfigError, Reason
from rdfcrawl.fetch.exchange import HttpExchange
from rdfcrawl.fetch.guard import (
    Guard,
    GuardBlocked,
    parse_networks,
)
from rdfcrawl.fetch.resolver import GuardedResolver
from rdfcrawl.fetch.spool import Spool
from rdfcrawl.options import _guard
from rdfcrawl.records import Kind
from rdfcrawl.uri import BadUri, requestable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from rdfcrawl.fetch.answer import Answer
    from rdfcrawl.fetch.options import FetchOptions
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
    "64:ff9b::8.8.8.8",
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
    "2606:4700::5efe:8.8.8.8",
    "2a00:1450:4001:81b::200e",
]


@pytest.mark.parametrize("address", REFUSED)
def test_address_is_refused(address: str) -> None:
    """If an address is not on the public internet, then it is not connected to."""
    assert not Guard().allows(address)


@pytest.mark.parametrize("address", ALLOWED)
def test_address_is_allowed(address: str) -> None:
    """If an address is on the public internet, then it is connected to."""
    assert Guard().allows(address)


@given(st.integers(0, 2**32 - 1))
def test_guard_is_stricter_than_the_library(number: int) -> None:
    """If an IPv4 address is allowed, then Python's registry calls it global too."""
    address = IPv4Address(number)
    if Guard().allows(str(address)):
        assert address.is_global
        assert not address.is_multicast


@given(st.integers(0, 2**128 - 1))
def test_guard_is_stricter_than_the_library_for_ipv6(number: int) -> None:
    """If an IPv6 address is allowed, then Python's registry calls it global too."""
    address = IPv6Address(number)
    if Guard().allows(str(address)):
        assert address.is_global
        assert address.ipv4_mapped is None
        assert address.sixtofour is None
        assert address.teredo is None


def test_networks_are_allowed() -> None:
    """If a network is allowed, then its addresses are, and no embedding of them."""
    guard = Guard(parse_networks(["10.0.0.0/8", " fd00::/8 ", ""]))
    assert guard.allows("10.1.2.3")
    assert guard.allows("fd12::1")
    assert not guard.allows("127.0.0.1")
    assert not guard.allows("::ffff:10.1.2.3")


def test_setting_is_read() -> None:
    """If GUARD_ALLOW_NETS has networks, then the guard allows them."""
    guard = _guard(Settings({"GUARD_ALLOW_NETS": "127.0.0.0/8,::1"}))
    assert guard.allow_nets == (ip_network("127.0.0.0/8"), ip_network("::1"))


@pytest.mark.parametrize("value", ["10.0.0.1/8", "everything", "10.0.0.0/33"])
def test_bad_setting_is_refused(value: str) -> None:
    """If GUARD_ALLOW_NETS is no list of networks, then the crawl does not begin."""
    with pytest.raises(ConfigError, match="GUARD_ALLOW_NETS"):
        _guard(Settings({"GUARD_ALLOW_NETS": value}))


# -- over real connections -----------------------------------------------------------


@asynccontextmanager
async def opened(
    options: FetchOptions, guard: Guard | None
) -> AsyncIterator[HttpExchange]:
    """Open an exchange that is guarded."""
    with Spool(options.spool_dir, memory_limit_bytes=1 << 20) as spool:
        async with HttpExchange(options, spool, guard=guard) as exchange:
            yield exchange


async def get(url: str, options: FetchOptions, guard: Guard) -> Answer:
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
    """If the guard refuses, then the fault says so and the host is not blamed."""
    server = await raw_server()
    url = f"http://{host}:{server.port}/"
    answer = await get(url, fetch_options(), Guard())
    assert answer.fault is not None
    assert answer.fault.reason is Reason.GUARD_BLOCKED
    assert host in answer.fault.detail
    assert not answer.is_host_fault


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_allowed_network_is_reached(
    raw_server: RawServers, fetch_options: MakeOptions, host: str
) -> None:
    """If a network is allowed, then its addresses and their names are reached."""
    server = await raw_server({"/": raw_server.response(b"<> <a:b> 1 .")})
    answer = await get(f"http://{host}:{server.port}/", fetch_options(), LOOPBACK)
    assert answer.fault is None
    assert answer.status == 200


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1/", Reason.GUARD_BLOCKED),
        ("http://localhost/", Reason.GUARD_BLOCKED),
        ("http://[::1]/", Reason.GUARD_BLOCKED),
        ("http://1.1.1.1/", None),
        ("http://no-such-name.invalid/", None),
        (f"http://{'a' * 70}.example/", None),
    ],
)
async def test_url_is_checked_before_it_is_asked(
    fetch_options: MakeOptions, url: str, reason: Reason | None
) -> None:
    """If a URL is checked, then without a connection, and names are looked up."""
    async with opened(fetch_options(), Guard()) as exchange:
        fault = await exchange.check(url)
    assert (fault and fault.reason) == reason


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
    names = GuardedResolver(Names(["10.0.0.1", "1.1.1.1", "::1"]), Guard())
    assert [each["host"] for each in await names.resolve("example.org")] == ["1.1.1.1"]


async def test_name_that_changes_its_address_is_refused() -> None:
    """If a name turns private (DNS rebinding), then each lookup is judged anew."""
    source = Names(["1.1.1.1"], ["127.0.0.1"])
    names = GuardedResolver(source, Guard())
    assert await names.resolve("example.org")
    with pytest.raises(GuardBlocked, match="not on the public internet"):
        await names.resolve("example.org")
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
