"""Names to those of their addresses that may be connected to, for Twisted.

Twisted looks up whatever host a URL has, a name or the spelling of an address, and
dials what it is told. Requests through Scrapy's downloader are judged there, and no
other connection that somebody makes with the same reactor: it is the operator's.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from rdfcrawl.guard.gate import GuardBlocked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.guard.gate import Gate


class Judging:
    """The lookup of one request.

    Attributes:
        blocked: what was refused last.
        n_allowed: addresses that may be connected to.
    """

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self.blocked: GuardBlocked | None = None
        self.n_allowed = 0

    def allows(self, host: str, address: str, port: int) -> bool:
        """Tell whether an address of a name may be connected to."""
        try:
            self.gate.check_port(host, port)
            self.gate.allowed(host, port, [address])
            self.gate.check(address, port)
        except GuardBlocked as blocked:
            self.blocked = blocked
            return False
        self.n_allowed += 1
        return True


_judging: ContextVar[Judging | None] = ContextVar("judging", default=None)


@contextmanager
def judging(gate: Gate) -> Iterator[Judging]:
    """Have what is looked up within the block judged."""
    current = Judging(gate)
    token = _judging.set(current)
    try:
        yield current
    finally:
        _judging.reset(token)


class GuardedNames:
    """Leaves out the addresses that the guard refuses, whoever finds them.

    Has what `twisted.internet.interfaces.IHostnameResolver` asks for.
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
        resolve = self._resolver.resolveHostName
        return resolve(receiver, hostName, portNumber, *more, **named)


class _Filter:
    """What `IResolutionReceiver` asks for, before the one who wants addresses."""

    def __init__(self, receiver: Any, host: str, port: int, current: Judging) -> None:
        self._receiver = receiver
        self._host, self._port = host, port
        self._current = current

    def resolutionBegan(self, resolution: Any) -> None:  # noqa: N802
        self._receiver.resolutionBegan(resolution)

    def addressResolved(self, address: Any) -> None:  # noqa: N802
        if self._current.allows(self._host, address.host, self._port):
            self._receiver.addressResolved(address)

    def resolutionComplete(self) -> None:  # noqa: N802
        self._receiver.resolutionComplete()


def install(reactor: Any) -> None:
    """Have a reactor's lookups judged, whatever `TWISTED_DNS_RESOLVER` makes them."""
    if not isinstance(reactor.nameResolver, GuardedNames):
        reactor.installNameResolver(GuardedNames(reactor.nameResolver))
