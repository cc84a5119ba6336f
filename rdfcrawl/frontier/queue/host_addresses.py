"""Addresses of hosts, and politeness keys by name or address.

A name may have many addresses, which name servers rotate. The first one found is valid
for the crawl and all its workers: under another key, the URIs of the host would be
fetched again, without its delay.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
from collections import deque
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from time import monotonic
from typing import TYPE_CHECKING, Final

from redis.exceptions import RedisError

from rdfcrawl.uri import (
    HostGrouping,
    PolitenessKey,
    host_of,
    is_of_web,
    registered_domain,
)
from rdfcrawl.uri.guard.policy import literal_address

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from rdfcrawl.frontier.queue.frontier_client import Frontier
    from rdfcrawl.frontier.queue.options import CrawlOptions
    from rdfcrawl.frontier.redis.errors import RedisRetry
    from rdfcrawl.uri.guard.resolver import NameResolver


_MAX_HOSTS: Final = 100_000
_AT_ONCE: Final = 50
# For so long, Redis may lose writes (`worker.py`).
_WINDOW_SECS: Final = 10.0


class AddressBook:
    """Addresses of hosts, looked up in advance, so that `address` never waits."""

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
        """Return the address of a primed host; None if it has none."""
        return self._addresses.get(host) or None

    async def agreed(self, host: str) -> str:
        """Return the address of a host for all of the crawl; empty if it has none.

        A host without an address at first may have one by now.
        """
        if address := literal_address(host):
            return address
        await self.prime([f"http://{host}/"])
        return self.address(host) or (await self.found(host) or [""])[0]

    async def prime(self, urls: Iterable[str]) -> None:
        """Look up the unknown hosts of URLs."""
        hosts = {host_of(url) for url in urls if is_of_web(url)}
        hosts -= self._addresses.keys()
        if not hosts:
            return
        if len(self._addresses) + len(hosts) > _MAX_HOSTS:
            self._addresses.clear()
        self._addresses |= await self._persistent(
            "read addresses", self._frontier.addresses.of, hosts
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

        IPv4 comes first, as more workers reach it.
        """
        if self._names is None:
            from rdfcrawl.uri.guard.resolver import NameResolver  # noqa: PLC0415  (threads)

            self._names = NameResolver()
        bare = host.removeprefix("[").removesuffix("]")
        try:
            addresses = {*await self._names.resolve(bare)}
        except (OSError, UnicodeError):  # no such name, or not a valid one
            return []
        # If none is allowed, the guard reports it on connecting.
        allowed = set(filter(self._is_allowed, addresses)) or addresses
        return sorted(allowed, key=_rank)

    async def restore(self) -> None:
        """Agree again on the addresses that Redis may have lost."""
        for _, found in list(self._latest):
            await self._agree(found)

    async def close(self) -> None:
        """Stop looking up names."""
        if self._names is not None:
            await self._names.close()

    async def _agree(self, found: dict[str, str]) -> dict[str, str]:
        agreed = await self._persistent(
            "keep addresses", self._frontier.addresses.agree, found
        )
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


logger = logging.getLogger(__name__)

NAMES: Final = 16  # with one address, before a random name is looked up
_MAX_KNOWN: Final = 100_000


class HostAddresses:
    """Hosts that share an address, and domains with wildcard DNS.

    The addresses come from look-ups for connections. The only extra look-up is one
    random name of a domain that seems to have wildcard DNS.
    """

    def __init__(self, redis: Redis, key: str) -> None:
        self.n_wildcards = 0  # domains found by this worker first
        self._redis = redis
        self._key = key
        self._addresses: dict[str, str] = {}
        self._names: dict[tuple[str, str], int] = {}  # (parent, address) -> count
        self._looks: set[asyncio.Task[None]] = set()

    def address_of(self, host: str) -> str:
        """Return the address of a host; empty if unknown."""
        return self._addresses.get(host, "")

    def note(self, host: str, address: str) -> None:
        """Record the address of a host, the lowest of several."""
        if self._addresses.get(host) == address:
            return
        if len(self._addresses) >= _MAX_KNOWN:
            self._addresses.clear()
            self._names.clear()
        self._addresses[host] = address
        parent = host.partition(".")[2]
        if len(parent) < len(registered_domain(host)):
            return  # a registered domain: siblings belong to other owners
        place = parent, address
        self._names[place] = self._names.get(place, 0) + 1
        if self._names[place] == NAMES:
            look = asyncio.create_task(self._look(parent, address))
            self._looks.add(look)
            look.add_done_callback(self._looks.discard)

    async def _look(self, parent: str, address: str) -> None:
        """Look up whether an unused name has the same address."""
        name = f"{secrets.token_hex(8)}.{parent}"
        try:
            rows = await asyncio.to_thread(
                socket.getaddrinfo, name, None, type=socket.SOCK_STREAM
            )
            if min(str(row[4][0]) for row in rows) != address:
                return
            is_first = await self._redis.sadd(self._key, parent)
        except (OSError, UnicodeError, RedisError):  # no such name, as expected
            return
        if is_first:
            self.n_wildcards += 1
            logger.info(
                "*.%s: every name has the address %s (wildcard DNS); its hosts take"
                " turns as one, and max_hosts_per_domain limits their number",
                parent,
                address,
            )

    async def close(self) -> None:
        """Stop looking up names."""
        for look in self._looks:
            look.cancel()
        await asyncio.gather(*self._looks, return_exceptions=True)


class HostKeys:
    """Politeness keys of URLs.

    Attributes:
        keys: computation of keys.
        book: addresses of names, shared by all workers.
        is_by_address: hosts with one address share a queue.
        goes_by_address: each request goes to the address of its turn.
    """

    def __init__(self, options: CrawlOptions, book: AddressBook) -> None:
        grouping = options.keys.grouping
        self.book = book
        self.keys = PolitenessKey(grouping, book.address)
        self.is_by_address = grouping is HostGrouping.IP
        self.goes_by_address = self.is_by_address or options.address_delay_secs > 0

    def of(self, url: str) -> str:
        """Return the politeness key of a URL that was primed."""
        return self.keys.of(url)

    async def prime(self, *urls: str) -> None:
        """Look up the hosts of URLs, if `of` needs their addresses."""
        if self.is_by_address:
            await self.book.prime(urls)
