"""Addresses that Twisted gets when it looks up a name for a request."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet import defer
from twisted.internet.address import IPv4Address, IPv6Address

from rdfcrawl.uri.guard import twisted_names
from rdfcrawl.uri.guard.gate import ConnectionGate
from rdfcrawl.uri.guard.policy import Guard, RefusalCause
from rdfcrawl.uri.guard.twisted_names import GuardedNames, install, judging

if TYPE_CHECKING:
    from collections.abc import Sequence

PUBLIC, OTHER, INSIDE = "1.1.1.1", "8.8.8.8", "10.0.0.1"


class TwistedNames:
    """A resolver of Twisted that has the same addresses for each name."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses
        self.asked: list[tuple[str, int, tuple[object, ...]]] = []

    def resolveHostName(  # noqa: N802 (Twisted's names)
        self,
        receiver: Any,
        name: str,
        port: int = 0,
        *more: object,
        **named: object,
    ) -> Any:
        """Report the addresses to the receiver."""
        self.asked.append((name, port, (*more, *named.values())))
        receiver.resolutionBegan(self)
        for each in self.addresses:
            receiver.addressResolved(IPv4Address("TCP", each, port))
        receiver.resolutionComplete()
        return self


class RecordingReceiver:
    """A receiver of Twisted that records its calls in order."""

    def __init__(self) -> None:
        self.all: list[Any] = []

    def resolutionBegan(self, resolution: Any) -> None:  # noqa: N802
        """Take note."""
        self.all.append(resolution.__class__.__name__)

    def addressResolved(self, address: Any) -> None:  # noqa: N802
        """Take note."""
        self.all.append(address)

    def resolutionComplete(self) -> None:  # noqa: N802
        """Take note."""
        self.all.append("end")


def resolved(names: TwistedNames, port: int = 80) -> list[Any]:
    """Return the result of a look-up, in short."""
    receiver = RecordingReceiver()
    GuardedNames(names).resolveHostName(receiver, "a.example", port, (), "TCP")
    assert receiver.all[0] in ("TwistedNames", "_KnownHost")
    assert receiver.all[-1] == "end"
    assert receiver.all.count("end") == 1
    return [each.host for each in receiver.all[1:-1]]


def test_other_lookups_are_not_judged() -> None:
    """If nothing of a crawl is requested, then names have all of their addresses."""
    names = TwistedNames(PUBLIC, INSIDE)
    assert resolved(names) == [PUBLIC, INSIDE]
    with judging(ConnectionGate(Guard())):
        assert resolved(names) == [PUBLIC]
    assert resolved(names) == [PUBLIC, INSIDE]
    assert names.asked == [("a.example", 80, ((), "TCP"))] * 3


def test_refused_addresses_are_left_out() -> None:
    """If a name has public and private addresses, then Twisted gets the public ones."""
    with judging(ConnectionGate(Guard())) as lookup:
        assert resolved(TwistedNames(INSIDE, PUBLIC, OTHER)) == [PUBLIC, OTHER]
    assert lookup.n_allowed == 2
    assert lookup.blocked is not None
    assert lookup.blocked.why is RefusalCause.PRIVATE
    assert lookup.blocked.is_of_name
    with judging(ConnectionGate(Guard())) as lookup:
        assert resolved(TwistedNames()) == []
    assert lookup.blocked is None


def test_refused_ports_are_not_looked_up_again() -> None:
    """If a port is refused, then other addresses of the name do not matter."""
    gate = ConnectionGate(Guard(max_ports=1))
    with judging(gate) as lookup:
        assert resolved(TwistedNames(PUBLIC), port=22) == []
    assert lookup.blocked is not None
    assert lookup.blocked.why is RefusalCause.PORT
    for port, found in [(80, [PUBLIC]), (8080, [])]:
        with judging(gate) as lookup:
            assert resolved(TwistedNames(PUBLIC), port=port) == found
    assert lookup.blocked is not None
    assert lookup.blocked.why is RefusalCause.PORT_SCAN


@pytest.mark.parametrize(
    ("address", "kind", "found"),
    [
        (PUBLIC, IPv4Address, [PUBLIC]),
        ("2606:4700::1111", IPv6Address, ["2606:4700::1111"]),
        (INSIDE, IPv4Address, []),
    ],
)
def test_known_address_is_the_only_one(
    address: str, kind: type, found: list[str]
) -> None:
    """If an address was chosen for a request, then no name is looked up for it."""
    names, receiver = TwistedNames(OTHER), RecordingReceiver()
    with judging(ConnectionGate(Guard()), address):
        GuardedNames(names).resolveHostName(receiver, "a.example", 443).cancel()
    assert names.asked == []
    assert receiver.all == ["_KnownHost", *receiver.all[1:-1], "end"]
    assert [(each.host, each.port, type(each)) for each in receiver.all[1:-1]] == [
        (host, 443, kind) for host in found
    ]


ROWS = [
    (socket.AF_INET, 1, 6, "", (INSIDE, 80)),
    (socket.AF_INET, 1, 6, "", (OTHER, 80)),
    (socket.AF_INET6, 1, 6, "", ("2606:4700::1111", 80, 0, 0)),
    (socket.AF_INET6, 1, 6, "", ("::1", 80, 0, 0)),
]


@pytest.mark.parametrize(
    ("rows", "found"),
    [(ROWS, [OTHER, "2606:4700::1111"]), (ROWS[:1], []), ([], []), (None, [])],
)
def test_further_addresses_are_looked_up(
    monkeypatch: pytest.MonkeyPatch, rows: Sequence[Any] | None, found: list[str]
) -> None:
    """If the first address of a name is refused, then the others may be allowed."""
    asked: list[tuple[Any, ...]] = []

    def look_up(*call: Any) -> Any:
        asked.append(call)
        return defer.fail(OSError("none")) if rows is None else defer.succeed(rows)

    monkeypatch.setattr(twisted_names, "deferToThread", look_up)
    counts: list[RefusalCause] = []
    with judging(ConnectionGate(Guard(), count=counts.append)):
        assert resolved(TwistedNames(INSIDE)) == found
    assert asked == [
        (socket.getaddrinfo, "a.example", 80, 0, socket.SOCK_STREAM),
    ]
    # Addresses are judged once.
    inside = [RefusalCause.LOOPBACK] if found else []
    assert counts == [RefusalCause.PRIVATE, *inside]


def test_reactor_is_guarded_once() -> None:
    """If several crawls share a reactor, then its names are judged once."""
    reactor = SimpleNamespace(nameResolver=TwistedNames())
    made: list[Any] = []

    def take(resolver: Any) -> None:
        made.append(resolver)
        reactor.nameResolver = resolver

    reactor.installNameResolver = take
    install(reactor)
    install(reactor)
    assert len(made) == 1
    assert isinstance(made[0], GuardedNames)
