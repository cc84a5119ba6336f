"""Addresses of hosts, for crawls whose politeness key is the IP address."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

from rdfcrawl.uri import host_of

if TYPE_CHECKING:
    from collections.abc import Iterable

_MAX_HOSTS = 100_000
_AT_ONCE = 50


class AddressBook:
    """Looks hosts up ahead of time, so that a key can be given without waiting.

    A host with several addresses always has its lowest, so that all workers agree.
    """

    def __init__(self) -> None:
        self._addresses: dict[str, str | None] = {}

    def address(self, host: str) -> str | None:
        """Return the address of a host that was primed; None if it has none."""
        return self._addresses.get(host)

    async def prime(self, urls: Iterable[str]) -> None:
        """Look up the hosts of URLs that are not known yet."""
        hosts = {host_of(url) for url in urls} - self._addresses.keys()
        if len(self._addresses) + len(hosts) > _MAX_HOSTS:
            self._addresses.clear()
        gate = asyncio.Semaphore(_AT_ONCE)
        await asyncio.gather(*(self._look_up(host, gate) for host in hosts))

    async def _look_up(self, host: str, gate: asyncio.Semaphore) -> None:
        loop = asyncio.get_running_loop()
        async with gate:
            try:
                rows = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
            except (OSError, UnicodeError):  # no such name, or none that DNS can have
                self._addresses[host] = None
                return
        self._addresses[host] = min(str(row[4][0]) for row in rows)
