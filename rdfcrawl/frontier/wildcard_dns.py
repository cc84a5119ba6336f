"""Which hosts have one address, and which domains answer for any name.

Addresses are those that were looked up for a connection; nobody is asked for more,
except for one name of a domain that seems to have them all.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
from typing import TYPE_CHECKING, Final

from redis.exceptions import RedisError

from rdfcrawl.uri import registered_domain

if TYPE_CHECKING:
    from redis.asyncio import Redis

logger = logging.getLogger(__name__)

NAMES: Final = 16  # with one address, before a name is made up to see
_MAX_KNOWN: Final = 100_000


class HostAddresses:
    """Addresses of hosts that one worker has connected to."""

    def __init__(self, redis: Redis, key: str) -> None:
        self.n_wildcards = 0  # such domains that this worker was the first to notice
        self._redis = redis
        self._key = key
        self._addresses: dict[str, str] = {}
        self._names: dict[tuple[str, str], int] = {}  # (parent, address): how many
        self._looks: set[asyncio.Task[None]] = set()

    def address_of(self, host: str) -> str:
        """Return the address of a host; empty if it is not known."""
        return self._addresses.get(host, "")

    def note(self, host: str, address: str) -> None:
        """Take note of the address of a host, the lowest if it has several."""
        if self._addresses.get(host) == address:
            return
        if len(self._addresses) >= _MAX_KNOWN:
            self._addresses.clear()
            self._names.clear()
        self._addresses[host] = address
        parent = host.partition(".")[2]
        if len(parent) < len(registered_domain(host)):
            return  # it is a domain of its own: others have the names beside it
        place = parent, address
        self._names[place] = self._names.get(place, 0) + 1
        if self._names[place] == NAMES:
            look = asyncio.create_task(self._look(parent, address))
            self._looks.add(look)
            look.add_done_callback(self._looks.discard)

    async def _look(self, parent: str, address: str) -> None:
        """Find out whether a name that nobody has linked to has the same address."""
        name = f"{secrets.token_hex(8)}.{parent}"
        try:
            rows = await asyncio.to_thread(
                socket.getaddrinfo, name, None, type=socket.SOCK_STREAM
            )
            if min(str(row[4][0]) for row in rows) != address:
                return
            is_first = await self._redis.sadd(self._key, parent)
        except (OSError, UnicodeError, RedisError):  # no such name, as it should be
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
        """End what is being looked up."""
        for look in self._looks:
            look.cancel()
        await asyncio.gather(*self._looks, return_exceptions=True)
