"""Drained workers: requests of operators that a worker end.

Each worker checks the list, and removes its name when it leaves the crawl.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from redis.asyncio import Redis

DRAINED: Final = "drained"
"""Close reason of the spider of a drained worker."""


class WorkerDrains:
    """The list of one crawl."""

    def __init__(self, redis: Redis, key: Callable[[str], str]) -> None:
        self._redis = redis
        self._name = key("drain")

    async def request(self, worker: str) -> None:
        """Request that a worker end."""
        await self._redis.sadd(self._name, worker)

    async def is_requested(self, worker: str) -> bool:
        """Return whether a worker shall end."""
        return bool(await self._redis.sismember(self._name, worker))

    async def requested(self) -> set[str]:
        """Return the workers that shall end, and still run."""
        names = await self._redis.smembers(self._name)
        return {name.decode() for name in cast("set[bytes]", names)}

    async def forget(self, worker: str) -> None:
        """Remove a worker that has ended or is dead."""
        await self._redis.srem(self._name, worker)
