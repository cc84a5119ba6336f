"""Connections of pages that the guard judges."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.records import Kind
from rdfcrawl.downloader.http.connections import ServerDialer
from rdfcrawl.downloader.http.exchange import HttpExchange
from rdfcrawl.downloader.http.protocol import ResponseProtocol
from rdfcrawl.downloader.http.request_heads import HttpServer
from rdfcrawl.downloader.spool import Spool
from rdfcrawl.downloader.watch import EventBudget
from rdfcrawl.uri import BadUri, requestable
from rdfcrawl.uri.guard import resolver
from rdfcrawl.uri.guard.gate import ConnectionGate, GuardBlocked
from rdfcrawl.uri.guard.policy import (
    Guard,
    parse_networks,
)
from rdfcrawl.uri.guard.resolver import GuardedResolver

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from rdfcrawl.downloader.client import HttpResponse
    from rdfcrawl.downloader.options import FetchOptions
    from tests.conftest import RawServers

    MakeOptions = Callable[..., FetchOptions]

LOOPBACK = Guard(parse_networks(["127.0.0.0/8"]))


@asynccontextmanager
async def opened(options: FetchOptions, guard: Guard) -> AsyncIterator[HttpExchange]:
    """Open an exchange with a guard."""
    with Spool(options.spool_dir, memory_limit_bytes=1 << 20) as spool:
        async with HttpExchange(replace(options, guard=guard), spool) as exchange:
            yield exchange


async def get(url: str, options: FetchOptions, guard: Guard) -> HttpResponse:
    """Fetch one URL by a guarded exchange."""
    async with opened(options, guard) as exchange:
        return await exchange.get(url, options.request_options(Kind.PAGE))


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


class ScriptedResolver:
    """A name server of the test's own: each lookup takes the next list."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.is_closed = False

    async def resolve(self, host: str) -> list[str]:
        """Return the next list."""
        assert host
        return self.answers.pop(0)

    async def close(self) -> None:
        """Take note."""
        self.is_closed = True


async def test_private_addresses_of_a_name_are_left_out() -> None:
    """If a name has public and private addresses, then only the public ones stay."""
    names = GuardedResolver(
        ScriptedResolver(["10.0.0.1", "1.1.1.1", "::1"]), ConnectionGate(Guard())
    )
    assert await names.resolve("a.example", 80) == ["1.1.1.1"]


async def test_name_that_changes_its_address_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If a name turns private (DNS rebinding), then each lookup is judged."""
    monkeypatch.setattr(resolver, "KEPT_SECS", 0)
    source = ScriptedResolver(["1.1.1.1"], ["127.0.0.1"])
    names = GuardedResolver(source, ConnectionGate(Guard()))
    assert await names.resolve("a.example", 80)
    with pytest.raises(GuardBlocked, match="loopback"):
        await names.resolve("a.example", 80)
    await names.close()
    assert source.is_closed


class UnguardedNames(GuardedResolver):
    """A resolver that lets all addresses through."""

    async def resolve(self, host: str, port: int, address: str = "") -> list[str]:
        """Return a private address of any name."""
        assert host
        assert port
        assert not address
        return ["127.0.0.1"]


async def test_address_is_checked_when_it_is_dialled(
    raw_server: RawServers,
) -> None:
    """If a resolver lets a private address through, then no socket is opened for it."""
    server = await raw_server({"*": raw_server.response()})
    gate = ConnectionGate(Guard())
    dialer = ServerDialer(
        UnguardedNames(ScriptedResolver(), gate),
        gate,
        partial(ResponseProtocol, EventBudget()),
        connect_secs=5,
        verifies=True,
    )
    with pytest.raises(GuardBlocked, match="loopback"):
        await dialer.dial(HttpServer("rebound.example", server.port, is_tls=False), "")
    assert server.n_connections == 0


_connects = re.compile(
    r"socket\.socket\(|create_connection\(|open_connection\(|ClientSession\(|urlopen\("
    r"|HTTPS?Connection\(|connectTCP\("
)
# The gate itself; those who ask it; who looks for a route, and sends nothing; the
# synthetic web; the socket of our own Redis; the SPARQL store that the operator names.
_MAY_CONNECT = {
    "uri/guard/gate.py",
    "uri/guard/policy.py",  # asks the kernel alone
    "downloader/http/connections.py",  # with sockets of the gate
    "downloader/ftp/protocol.py",
    "downloader/local_failures.py",
    "dataweb/server.py",
    "stores/followers/sparql/client.py",
    "frontier/redis/embedded.py",
    "frontier/redis/errors.py",  # the Redis that the operator names
    "commands/page.py",  # takes a socket that listens already
}


def test_connections_are_made_in_few_places() -> None:
    """If a file opens connections, then it is known to use the gate."""
    root = Path(__file__).resolve().parents[3] / "rdfcrawl"
    found = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if _connects.search(path.read_text(encoding="utf-8"))
    }
    assert found == _MAY_CONNECT
