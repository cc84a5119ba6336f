"""Addresses of hosts, for crawls whose politeness key is the IP address.

A name may have many addresses, and name servers give them in turns. The one that was
found first is the name's for the whole crawl and all of its workers: with another key,
its URIs would be fetched once more, without the delay.
"""

from __future__ import annotations

import asyncio
from collections import deque
from ipaddress import ip_address
from time import monotonic
from typing import TYPE_CHECKING, Final

from rdfcrawl.uri import host_of, is_of_web

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rdfcrawl.frontier.client import Frontier
    from rdfcrawl.frontier.redis_retry import RedisRetry
    from rdfcrawl.guard.resolver import NameResolver

_MAX_HOSTS: Final = 100_000
_AT_ONCE: Final = 50
# As long as Redis may come back without what it took (`worker.py`).
_WINDOW_SECS: Final = 10.0


class AddressBook:
    """Addresses of hosts, looked up ahead of time, so that `address` never waits."""

    def __init__(
        self,
        frontier: Frontier,
        retry: RedisRetry,
        *,
        is_allowed: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self._frontier = frontier
        self._persistent = retry.persistent
        self._is_allowed = is_allowed
        self._addresses: dict[str, str] = {}
        self._names: NameResolver | None = None
        self._latest: deque[tuple[float, dict[str, str]]] = deque()

    def address(self, host: str) -> str | None:
        """Return the address of a host that was primed; None if it has none."""
        return self._addresses.get(host) or None

    async def prime(self, urls: Iterable[str]) -> None:
        """Look up the hosts of URLs that are not known yet."""
        hosts = {host_of(url) for url in urls if is_of_web(url)}
        hosts -= self._addresses.keys()
        if not hosts:
            return
        if len(self._addresses) + len(hosts) > _MAX_HOSTS:
            self._addresses.clear()
        self._addresses |= await self._persistent(
            "read addresses", self._frontier.addresses, hosts
        )
        gate = asyncio.Semaphore(_AT_ONCE)

        async def look_up(host: str) -> tuple[str, str]:
            async with gate:
                return host, (await self.found(host) or [""])[0]

        new = hosts - self._addresses.keys()
        found = dict(await asyncio.gather(*map(look_up, new)))
        if found:
            found = await self._agree(found)
            self._remember(found)

    async def found(self, host: str) -> list[str]:
        """Look up the addresses of a host, in a fixed order, the best first.

        IPv4 comes first, as more workers can reach it.
        """
        if self._names is None:
            from rdfcrawl.guard.resolver import NameResolver  # noqa: PLC0415  (aiohttp)

            self._names = NameResolver()
        bare = host.removeprefix("[").removesuffix("]")
        try:
            rows = await self._names.resolve(bare)
        except (OSError, UnicodeError):  # no such name, or none that DNS can have
            return []
        addresses = {row["host"] for row in rows}
        # Where none is allowed, the guard says so when it is connected to.
        allowed = set(filter(self._is_allowed, addresses)) or addresses
        return sorted(allowed, key=_rank)

    async def restore(self) -> None:
        """Agree again on what Redis may have lost."""
        for _, found in list(self._latest):
            await self._agree(found)

    async def close(self) -> None:
        """Look nothing up any more."""
        if self._names is not None:
            await self._names.close()

    async def _agree(self, found: dict[str, str]) -> dict[str, str]:
        agreed = await self._persistent("keep addresses", self._frontier.agree, found)
        self._addresses |= agreed
        return agreed

    def _remember(self, found: dict[str, str]) -> None:
        now = monotonic()
        self._latest.append((now, found))
        while now - self._latest[0][0] > _WINDOW_SECS:
            self._latest.popleft()


def _rank(address: str) -> tuple[int, int]:
    parsed = ip_address(address.partition("%")[0])
    return parsed.version, int(parsed)
