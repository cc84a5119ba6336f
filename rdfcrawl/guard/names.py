"""The resolver of aiohttp, without addresses that the guard refuses."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from aiohttp.abc import AbstractResolver

if TYPE_CHECKING:
    from aiohttp.abc import ResolveResult

    from rdfcrawl.guard.gate import ConnectionGate


class GuardedResolver(AbstractResolver):
    """Leave out the addresses of a name that the guard refuses.

    Takes over the resolver that it asks, and closes it.
    """

    def __init__(self, resolver: AbstractResolver, gate: ConnectionGate) -> None:
        self._resolver = resolver
        self._gate = gate

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_UNSPEC,
    ) -> list[ResolveResult]:
        """Return the addresses of `host` that may be connected to.

        Raises:
            GuardBlocked: there are others only, or the port is refused.
            OSError: there is no such name.
        """
        self._gate.check_literal(host, port)
        found = await self.look_up(host, port, family)
        allowed = self._gate.allowed(host, port, [each["host"] for each in found])
        return [each for each in found if each["host"] in allowed]

    async def look_up(
        self, host: str, port: int, family: socket.AddressFamily
    ) -> list[ResolveResult]:
        """Return all addresses of `host`."""
        return await self._resolver.resolve(host, port, family)

    async def close(self) -> None:
        """Close the resolver that is asked."""
        await self._resolver.close()
