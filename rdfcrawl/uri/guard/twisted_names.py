"""The resolver of Twisted, without addresses that the guard refuses.

Twisted looks up every host of a URL, a name or the spelling of an address, and dials
the result. Only requests through Scrapy's downloader are judged here; other connections
with the same reactor belong to the operator.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.threads import deferToThread

from rdfcrawl.uri.guard.gate import ConnectionGate, GuardBlocked


class JudgedLookup:
    """The lookup of one request.

    Attributes:
        address: the only allowed one; empty for all of the host.
        blocked: the last refusal.
        n_allowed: addresses that may be connected to.
    """

    def __init__(self, gate: ConnectionGate, address: str = "") -> None:
        self.gate = gate
        self.address = address
        self.blocked: GuardBlocked | None = None
        self.n_allowed = 0

    def allows(self, host: str, address: str, port: int) -> bool:
        """Return whether an address of a name may be connected to."""
        try:
            self.gate.check_port(host, port)
            self.gate.allowed(host, port, [address])
            self.gate.check(address, port)
        except GuardBlocked as blocked:
            self.blocked = blocked
            return False
        except OSError:  # unknown whether the address is one of this machine
            return False
        self.n_allowed += 1
        return True


_judging: ContextVar[JudgedLookup | None] = ContextVar("judging", default=None)


@contextmanager
def judging(gate: ConnectionGate, address: str = "") -> Iterator[JudgedLookup]:
    """Judge lookups within the block; a given `address` replaces each lookup."""
    current = JudgedLookup(gate, address)
    token = _judging.set(current)
    try:
        yield current
    finally:
        _judging.reset(token)


class GuardedNames:
    """Resolver of Twisted that drops the addresses refused by the guard.

    Implements `twisted.internet.interfaces.IHostnameResolver`.
    """

    def __init__(self, resolver: Any) -> None:
        self._resolver = resolver

    def resolveHostName(  # noqa: N802  (Twisted's names)
        self,
        resolutionReceiver: Any,  # noqa: N803
        hostName: str,  # noqa: N803
        portNumber: int = 0,  # noqa: N803
        *more: Any,
        **named: Any,
    ) -> Any:
        """See `IHostnameResolver`."""
        receiver, current = resolutionReceiver, _judging.get()
        if current is not None:
            receiver = _Filter(receiver, hostName, portNumber, current)
            if current.address:
                known = _KnownHost(hostName)
                return known.report(receiver, current.address, portNumber)
        resolve = self._resolver.resolveHostName
        return resolve(receiver, hostName, portNumber, *more, **named)


class _KnownHost:
    """An `IHostResolution` of a name that needs no lookup."""

    def __init__(self, name: str) -> None:
        self.name = name

    def cancel(self) -> None:
        """See `IHostResolution`."""

    def report(self, receiver: Any, address: str, port: int) -> _KnownHost:
        made = IPv6Address if ":" in address else IPv4Address
        receiver.resolutionBegan(self)
        receiver.addressResolved(made("TCP", address, port))
        receiver.resolutionComplete()
        return self


class _Filter:
    """An `IResolutionReceiver` that filters addresses for another one.

    Scrapy's own resolver reports only the first address of a name. If it is refused,
    the others are looked up.
    """

    def __init__(
        self, receiver: Any, host: str, port: int, current: JudgedLookup
    ) -> None:
        self._receiver = receiver
        self._host, self._port = host, port
        self._current = current
        self._judged: set[str] = set()

    def resolutionBegan(self, resolution: Any) -> None:  # noqa: N802
        self._receiver.resolutionBegan(resolution)

    def addressResolved(self, address: Any) -> None:  # noqa: N802
        self._judged.add(address.host)
        if self._current.allows(self._host, address.host, self._port):
            self._receiver.addressResolved(address)

    def resolutionComplete(self) -> None:  # noqa: N802
        blocked = self._current.blocked
        is_known = bool(self._current.address)
        if (
            self._current.n_allowed
            or is_known
            or blocked is None
            or blocked.why.is_of_port
        ):
            self._receiver.resolutionComplete()
            return
        kind = socket.SOCK_STREAM
        found = deferToThread(socket.getaddrinfo, self._host, self._port, 0, kind)
        found.addCallbacks(self._take, lambda _: None)
        found.addBoth(lambda _: self._receiver.resolutionComplete())

    def _take(self, rows: list[Any]) -> None:
        for family, *_, (host, port, *_) in rows:
            if host not in self._judged:
                is_ipv6 = family == socket.AF_INET6
                made = IPv6Address if is_ipv6 else IPv4Address
                self.addressResolved(made("TCP", host, port))


def install(reactor: Any) -> None:
    """Judge the lookups of a reactor, with any `TWISTED_DNS_RESOLVER`."""
    if not isinstance(reactor.nameResolver, GuardedNames):
        reactor.installNameResolver(GuardedNames(reactor.nameResolver))
