"""Count worker deaths while fetching or parsing the robots.txt of an origin.

robots.txt is fetched before any URI of the origin, so no URI is blamed for it
(`frontier/lua/reap.lua`). For URIs that have lost a life, each attempt is recorded, and
costs the origin as much as a URI: a decompression bomb ends after a few deaths.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from redis.exceptions import RedisError

if TYPE_CHECKING:
    from redis.asyncio import Redis

# As for URIs: three lives of eight parts; a request costs one part, parsing a full
# life.
_LIVES: Final = 24
_REQUESTED: Final = 1
_READ: Final = 7  # in addition
_SECS: Final = 24 * 3600  # robots.txt is fetched once a day


class RobotsDeathStore:
    """How many workers a robots.txt has killed; shared by all workers.

    Args:
        key: of the hash: origin -> eighths of lives.
    """

    def __init__(self, redis: Redis, key: str) -> None:
        self._redis = redis
        self._key = key
        self._known: set[str] | None = None  # origins that are not requested
        self._watched: set[str] = set()

    async def is_deadly(self, origin: str) -> bool:
        """Return whether the robots.txt of an origin must not be fetched."""
        if self._known is None:
            # Read once per worker: a new one starts after each death.
            self._known = set()
            with suppress(RedisError):
                found: Any = await self._redis.hgetall(self._key)
                self._known = {
                    name.decode() for name, n in found.items() if int(n) >= _LIVES
                }
        return origin in self._known

    async def begin(self, origin: str) -> None:
        """Record that the robots.txt of an origin is about to be requested."""
        self._watched.add(origin)
        await self._add(origin, _REQUESTED)

    async def read(self, origin: str) -> None:
        """Record that a fetched robots.txt is about to be parsed."""
        if origin in self._watched:
            await self._add(origin, _READ)

    async def forget(self, origin: str) -> None:
        """Delete the records of this attempt."""
        self._watched.discard(origin)
        with suppress(RedisError):
            await self._redis.hdel(self._key, origin)

    async def _add(self, origin: str, eighths: int) -> None:
        with suppress(RedisError):
            total = await self._redis.hincrby(self._key, origin, eighths)
            await self._redis.expire(self._key, _SECS)
            if total > _LIVES and self._known is not None:
                self._known.add(origin)
