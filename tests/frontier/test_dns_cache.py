"""Addresses of hosts, as politeness keys."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.frontier.queue.host_addresses import AddressBook
from rdfcrawl.frontier.redis.errors import RedisRetry

if TYPE_CHECKING:
    from tests.support.redis_fixtures import MakeFrontier

URL = "http://h.example/"


@pytest.mark.parametrize(
    "host",
    ["a" * 64 + ".example", "a..example", "no-such-host.invalid"],
    ids=["label too long", "label empty", "unknown"],
)
async def test_a_host_without_address_harms_no_other(
    make_frontier: MakeFrontier, host: str
) -> None:
    """If DNS cannot know a host, then it has no address, and others have theirs."""
    book = AddressBook(await make_frontier(), RedisRetry())
    await book.prime([f"http://{host}/", "http://127.0.0.1:8/"])
    assert book.address(host) is None
    assert book.address("127.0.0.1") == "127.0.0.1"


def names(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Have each name stand for these addresses."""

    def look_up(*_: Any, **__: Any) -> list[Any]:
        kinds = {True: socket.AF_INET6, False: socket.AF_INET}
        kind = socket.SOCK_STREAM
        return [(kinds[":" in x], kind, 6, "", (x, 0)) for x in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)


async def test_lowest_allowed_address_counts(
    make_frontier: MakeFrontier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a name has many addresses, then their order makes no difference."""
    book = AddressBook(
        await make_frontier(),
        RedisRetry(),
        is_allowed=lambda address: not address.startswith("10."),
    )
    names(monkeypatch, "::9", "100.2.0.1", "20.1.0.2", "10.0.0.1")
    await book.prime([URL])
    assert book.address("h.example") == "20.1.0.2"


async def test_workers_agree_on_the_address_of_a_name(
    make_frontier: MakeFrontier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a name changes its address, then it keeps the first one for all workers."""
    frontier = await make_frontier()
    one, two = (AddressBook(frontier, RedisRetry()) for _ in range(2))
    names(monkeypatch, "20.0.0.1")
    await one.prime([URL])
    names(monkeypatch, "20.0.0.2")
    await two.prime([URL])
    assert one.address("h.example") == two.address("h.example") == "20.0.0.1"
    await frontier.redis.delete("rc:{c/0}:ip")
    await one.restore()
    assert await frontier.addresses.of(["h.example"]) == {"h.example": "20.0.0.1"}
