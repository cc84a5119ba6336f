"""Lookups of host names: many in parallel, filtered by the guard."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import monotonic
from typing import Final, Protocol

from rdfcrawl.uri.guard.gate import ConnectionGate

OnAddresses = Callable[[str, Sequence[str]], None]

MAX_LOOKUPS: Final = 64  # in parallel; threads are created on demand
KEPT_SECS: Final = 10.0  # lifetime of found addresses
MAX_KEPT: Final = 1000  # names with addresses; the oldest are dropped


class HostResolver(Protocol):
    """Looks up the addresses of names."""

    async def resolve(self, host: str) -> list[str]:
        """Return the addresses of `host`, the best first.

        Raises:
            OSError: there is no such name.
            UnicodeError: `host` cannot be a name.
        """

    async def close(self) -> None:
        """End lookups."""


class NameResolver:
    """The system's resolver in a separate thread pool.

    The pool of the event loop has room for few lookups (libuv: 4): a few unresponsive
    name servers would make all other names time out.

    Args:
        on_addresses: called with each name that has addresses, and the addresses.
    """

    def __init__(self, on_addresses: OnAddresses | None = None) -> None:
        self._on_addresses = on_addresses
        self._threads = ThreadPoolExecutor(MAX_LOOKUPS, thread_name_prefix="names")

    async def resolve(self, host: str) -> list[str]:
        """See `HostResolver.resolve`; the order is the system's."""
        lookup = partial(
            socket.getaddrinfo,
            host,
            0,
            type=socket.SOCK_STREAM,
            flags=socket.AI_ADDRCONFIG,
        )
        loop = asyncio.get_running_loop()
        rows = await loop.run_in_executor(self._threads, lookup)
        found = [str(row[4][0]) for row in rows]
        if self._on_addresses is not None and found:
            self._on_addresses(host, found)
        return found

    async def close(self) -> None:
        """Stop each thread after its lookup."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class GuardedResolver:
    """Leave out the addresses of a name that the guard refuses.

    It owns the wrapped resolver, and closes it. Parallel lookups of a name and port are
    one. Allowed addresses are kept for `KEPT_SECS`; each use takes another one first.
    """

    def __init__(self, resolver: HostResolver, gate: ConnectionGate) -> None:
        self._resolver = resolver
        self._gate = gate
        # until, addresses
        self._kept: dict[tuple[str, int], tuple[float, list[str]]] = {}
        self._lookups: dict[tuple[str, int], asyncio.Task[list[str]]] = {}

    async def resolve(self, host: str, port: int, address: str = "") -> list[str]:
        """Return the addresses of `host`, without brackets, that may be connected to.

        An address is returned unjudged.

        Args:
            host: a name or an address.
            port: to connect to.
            address: taken in place of a lookup, if known.

        Raises:
            GuardBlocked: all addresses, or the port, are refused.
            OSError: there is no such name.
            UnicodeError: `host` cannot be a name.
        """
        if ":" in host or host.replace(".", "").isdigit():  # judged when connected to
            return [host.removesuffix(".")]
        self._gate.check_literal(host, port)
        if address:
            return self._gate.allowed(host, port, [address])
        until, kept = self._kept.get((host, port), (0.0, []))
        if until > monotonic():
            kept.append(kept.pop(0))
            return [*kept]
        # Others may wait for it.
        return [*await asyncio.shield(self._lookup(host, port))]

    def _lookup(self, host: str, port: int) -> asyncio.Task[list[str]]:
        lookup = self._lookups.get((host, port))
        if lookup is None:
            lookup = asyncio.create_task(self._look_up(host, port))
            self._lookups[host, port] = lookup
            lookup.add_done_callback(partial(self._end_lookup, (host, port)))
        return lookup

    async def _look_up(self, host: str, port: int) -> list[str]:
        found = await self._resolver.resolve(host)
        allowed = self._gate.allowed(host, port, found)
        self._kept.pop((host, port), None)
        if len(self._kept) >= MAX_KEPT:
            del self._kept[next(iter(self._kept))]
        if allowed:
            self._kept[host, port] = monotonic() + KEPT_SECS, [*allowed]
        return allowed

    def _end_lookup(
        self, place: tuple[str, int], lookup: asyncio.Task[list[str]]
    ) -> None:
        del self._lookups[place]
        if not lookup.cancelled():
            lookup.exception()  # retrieved, even if no request waits for it

    async def close(self) -> None:
        """Close the wrapped resolver."""
        for lookup in list(self._lookups.values()):
            lookup.cancel()
        await self._resolver.close()
