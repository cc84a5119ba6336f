"""Resolvers for aiohttp: many lookups in parallel, filtered by the guard."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from aiohttp.abc import AbstractResolver, ResolveResult

from rdfcrawl.uri.guard.gate import ConnectionGate

OnAddresses = Callable[[str, Sequence[str]], None]

MAX_LOOKUPS: Final = 64  # in parallel; threads are created on demand


class NameResolver(AbstractResolver):
    """The system's resolver in a separate thread pool.

    The pool of the event loop has room for few lookups (libuv: 4): a few unresponsive
    name servers would make all other names time out.

    Args:
        on_addresses: called with each name that has addresses, and the addresses.
    """

    def __init__(self, on_addresses: OnAddresses | None = None) -> None:
        self._on_addresses = on_addresses
        self._threads = ThreadPoolExecutor(MAX_LOOKUPS, thread_name_prefix="names")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of `host`, in the system's order.

        Raises:
            OSError: there is no such name.
            UnicodeError: `host` cannot be a name.
        """
        lookup = partial(
            socket.getaddrinfo,
            host,
            port,
            family=family,
            type=socket.SOCK_STREAM,
            flags=socket.AI_ADDRCONFIG,
        )
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._threads, lookup)
        if self._on_addresses is not None and found:
            self._on_addresses(host, [str(row[4][0]) for row in found])
        return [
            resolved(host, str(address[0]), int(address[1]), address_family, proto)
            for address_family, _, proto, _, address in found
        ]

    async def close(self) -> None:
        """Stop each thread after its lookup."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class GuardedResolver(AbstractResolver):
    """Leave out the addresses of a name that the guard refuses.

    It owns the wrapped resolver, and closes it.
    """

    def __init__(self, resolver: AbstractResolver, gate: ConnectionGate) -> None:
        self._resolver = resolver
        self._gate = gate

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of `host` that may be connected to.

        Raises:
            GuardBlocked: all addresses, or the port, are refused.
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
        """Close the wrapped resolver."""
        await self._resolver.close()


def resolved(
    host: str, address: str, port: int, family: int, proto: int = 0
) -> ResolveResult:
    """Return one address of a host in the form of aiohttp."""
    return ResolveResult(
        hostname=host,
        host=address,
        port=port,
        family=family,
        proto=proto,
        flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
    )
