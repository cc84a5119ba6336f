"""Lookups of names in threads, and the checks before and after a lookup."""

from __future__ import annotations

import asyncio
import socket
import threading

import pytest

from rdfcrawl.uri.guard import gate
from rdfcrawl.uri.guard.gate import ConnectionGate, GuardBlocked, looked_up_refusal
from rdfcrawl.uri.guard.policy import ConnectionUse, Guard
from rdfcrawl.uri.guard.resolver import GuardedResolver, NameResolver
from rdfcrawl.uri.guard.twisted_names import JudgedLookup

ROW = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("1.1.1.1", 80))


async def test_lookups_are_few_and_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """If name servers are silent, then so many threads wait, and no one for them."""
    asked: list[str] = []
    goes_on = threading.Event()

    def look_up(host: str, *_: object, **__: object) -> list[tuple[object, ...]]:
        asked.append(host)
        goes_on.wait(60)
        return [ROW]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    resolver = NameResolver()
    names = [f"n{n}.example" for n in range(128)]
    tasks = [asyncio.create_task(resolver.resolve(name)) for name in names]
    async with asyncio.timeout(20):
        while len(asked) < 64:  # noqa: ASYNC110 (in other threads)
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)
    timer = threading.Timer(3, goes_on.set)
    timer.start()
    await resolver.close()
    assert not goes_on.is_set()
    timer.cancel()
    goes_on.set()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert sum(isinstance(each, list) for each in found) == len(asked) == 64


async def test_names_with_addresses_are_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If a name has no address, then nothing is kept of it."""
    rows = {"a.example": [ROW], "b.example": []}
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *_, **__: rows[host])
    kept: dict[str, list[str]] = {}
    resolver = NameResolver(lambda host, found: kept.update({host: [*found]}))
    found = [await resolver.resolve(name) for name in rows]
    await resolver.close()
    assert [len(each) for each in found] == [1, 0]
    assert kept == {"a.example": ["1.1.1.1"]}


class ScriptedNames:
    """Name servers whose lookups take the next list."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)

    async def resolve(self, host: str) -> list[str]:
        """Return the next list, after others had their turn."""
        assert host
        await asyncio.sleep(0)
        return self.answers.pop(0)

    async def close(self) -> None:
        """Do nothing."""


async def test_allowed_addresses_of_a_name_are_kept() -> None:
    """If a name is looked up again soon, then its addresses are used in turn."""
    names = ScriptedNames(["169.254.169.254"], ["1.1.1.1", "1.0.0.1"])
    resolver = GuardedResolver(names, ConnectionGate(Guard()))
    with pytest.raises(GuardBlocked):
        await resolver.resolve("a.example", 80)
    pair = [asyncio.create_task(resolver.resolve("a.example", 80)) for _ in range(2)]
    assert await asyncio.gather(*pair) == [["1.1.1.1", "1.0.0.1"]] * 2
    assert await resolver.resolve("a.example", 80) == ["1.0.0.1", "1.1.1.1"]
    assert await resolver.resolve("a.example", 80) == ["1.1.1.1", "1.0.0.1"]
    assert names.answers == []


async def test_known_address_of_a_turn_is_judged() -> None:
    """If the address is known, then no name is looked up, but the guard judges it."""
    resolver = GuardedResolver(ScriptedNames(), ConnectionGate(Guard()))
    assert await resolver.resolve("a.example", 80, "1.1.1.1") == ["1.1.1.1"]
    assert await resolver.resolve("2606:4700::1111", 80) == ["2606:4700::1111"]
    with pytest.raises(GuardBlocked):
        await resolver.resolve("a.example", 80, "10.0.0.1")


async def test_refused_ports_cost_no_lookup(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the port of a name is refused, then the name is not looked up."""
    asked: list[str] = []
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda host, *_, **__: asked.append(host)
    )
    resolver = GuardedResolver(NameResolver(), ConnectionGate(Guard()))
    with pytest.raises(GuardBlocked, match=r"port 22 of a\.example"):
        await resolver.resolve("a.example", 22)
    await resolver.close()
    assert asked == []


def test_refusals_name_the_host_and_the_reason() -> None:
    """If an address of a name is refused, then the message has name and reason."""
    gate = ConnectionGate(Guard())
    lookup = JudgedLookup(gate)
    assert not lookup.allows("a.example", "1.1.1.1", 22)
    assert "port 22 of a.example" in str(lookup.blocked)
    with pytest.raises(GuardBlocked, match="private"):
        gate.check("10.0.0.1", 50_000, ConnectionUse.FTP_DATA)
    with pytest.raises(GuardBlocked, match="not a port for FTP data"):
        gate.check("1.1.1.1", 80, ConnectionUse.FTP_DATA)


def test_slow_name_of_the_operator_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If a name takes a while, then it is judged; a process never waits for it."""
    daemons: list[bool] = []
    is_asked = threading.Event()

    def look_up(*_: object, **__: object) -> list[tuple[object, ...]]:
        daemons.append(threading.current_thread().daemon)
        is_asked.wait(0.1)
        return [(*ROW[:4], ("10.0.0.9", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(gate, "LOOKUP_SECS", 20)
    refusal = looked_up_refusal(["http://inside.example/"], Guard())
    assert "inside.example (10.0.0.9)" in refusal
    assert daemons == [True]
