"""Workers that died while fetching or reading the robots.txt of an origin.

That comes before any URI of the origin is asked for, so that no URI is blamed for it
(`frontier/lua/reap.lua`). With URIs whose worker has died before, it is written down,
and costs the origin what it would cost a URI: a bomb ends after a few deaths.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from redis.exceptions import RedisError

if TYPE_CHECKING:
    from redis.asyncio import Redis

# As for URIs: three lives, of eight parts; being asked costs one, being read all.
_LIVES: Final = 24
_ASKED: Final = 1
_READ: Final = 7  # beside that
_SECS: Final = 24 * 3600  # a robots.txt is read anew each day


class RobotsDeathStore:
    """How many workers a robots.txt has killed; shared by all workers.

    Args:
        key: of the hash: origin -> eighths of lives.
    """

    def __init__(self, redis: Redis, key: str) -> None:
        self._redis = redis
        self._key = key
        self._known: set[str] | None = None  # origins that are left alone
        self._watched: set[str] = set()

    async def is_deadly(self, origin: str) -> bool:
        """Return whether the robots.txt of an origin must not be fetched."""
        if self._known is None:
            # A worker learns of them when it starts, as one does after each death.
            self._known = set()
            with suppress(RedisError):
                found: Any = await self._redis.hgetall(self._key)
                self._known = {
                    name.decode() for name, n in found.items() if int(n) >= _LIVES
                }
        return origin in self._known

    async def begin(self, origin: str) -> None:
        """Write down that the robots.txt of an origin is about to be asked for."""
        self._watched.add(origin)
        await self._add(origin, _ASKED)

    async def read(self, origin: str) -> None:
        """Write down that a fetched robots.txt is about to be read."""
        if origin in self._watched:
            await self._add(origin, _READ)

    async def survived(self, origin: str) -> None:
        """Forget what was written down."""
        self._watched.discard(origin)
        with suppress(RedisError):
            await self._redis.hdel(self._key, origin)

    async def _add(self, origin: str, eighths: int) -> None:
        with suppress(RedisError):
            total = await self._redis.hincrby(self._key, origin, eighths)
            await self._redis.expire(self._key, _SECS)
            if total > _LIVES and self._known is not None:
                self._known.add(origin)
