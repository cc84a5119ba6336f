"""Names to those of their addresses that may be connected to."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from aiohttp.abc import AbstractResolver

from rdfcrawl.fetch.guard import GuardBlocked

if TYPE_CHECKING:
    from aiohttp.abc import ResolveResult

    from rdfcrawl.fetch.guard import Guard


class GuardedResolver(AbstractResolver):
    """Leaves out the addresses of a name that the guard refuses.

    Takes over the resolver that it asks, and closes it.
    """

    def __init__(self, resolver: AbstractResolver, guard: Guard) -> None:
        self._resolver = resolver
        self._guard = guard

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_UNSPEC,
    ) -> list[ResolveResult]:
        """Return the addresses of `host` that may be connected to.

        Raises:
            GuardBlocked: there are others only.
            OSError: there is no such name.
        """
        found = await self._resolver.resolve(host, port, family)
        allowed = [each for each in found if self._guard.allows(each["host"])]
        if found and not allowed:
            raise GuardBlocked(f"{host} ({found[0]['host']})")
        return allowed

    async def close(self) -> None:
        """Close the resolver that is asked."""
        await self._resolver.close()
