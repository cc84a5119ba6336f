"""Workers that an operator has asked to end, as they look for themselves.

Each takes its name off the list when it leaves the crawl.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from redis.asyncio import Redis

DRAINED: Final = "drained"
"""Why the spider of such a worker is closed."""


class WorkerDrains:
    """The list of one crawl."""

    def __init__(self, redis: Redis, key: Callable[[str], str]) -> None:
        self._redis = redis
        self._name = key("drain")

    async def ask(self, worker: str) -> None:
        """Ask a worker to end."""
        await self._redis.sadd(self._name, worker)

    async def is_asked(self, worker: str) -> bool:
        """Return whether a worker is asked to end."""
        return bool(await self._redis.sismember(self._name, worker))

    async def asked(self) -> set[str]:
        """Return the workers that are asked to end, and have not."""
        names = await self._redis.smembers(self._name)
        return {name.decode() for name in cast("set[bytes]", names)}

    async def forget(self, worker: str) -> None:
        """Take a worker off the list that has ended, or is dead."""
        await self._redis.srem(self._name, worker)
