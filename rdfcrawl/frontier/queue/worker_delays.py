"""The delays of a crawl's workers; the longest is valid for all.

Each worker publishes its delay and the delay that it keeps. A joining worker with a
longer delay waits until the others keep it. No worker keeps less than it publishes: a
longer delay is kept before it is published; a shorter one only if, after publishing it,
no longer one is found.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast

from rdfcrawl.frontier.redis.scripts import millisecs

if TYPE_CHECKING:
    from redis.asyncio import Redis

Scores = list[tuple[bytes, float]]
Live = Callable[[], Awaitable[list[str]]]
"""Returns the live workers."""


class WorkerDelays:
    """Least time between two requests to a host without a delay, for all workers.

    Attributes:
        own_secs: delay in the settings of this worker.
        secs: delay that it keeps.
        shortest_secs: shortest delay in the settings of all live workers.
    """

    def __init__(
        self, redis: Redis, key: Callable[[str], str], secs: float, live: Live
    ) -> None:
        self.own_secs = self.secs = self.shortest_secs = secs
        self._redis, self._live = redis, live
        self._delays, self._kept = key("delays"), key("kept")
        self._agreeing = asyncio.Lock()

    async def agree(self, worker: str) -> None:
        """Publish the delay of a live worker, and keep the longest of all."""
        async with self._agreeing:
            own, keeps = millisecs(self.own_secs), millisecs(self.secs)
            while True:
                pipe = self._redis.pipeline(transaction=True)
                pipe.zadd(self._delays, {worker: own})
                pipe.zadd(self._kept, {worker: keeps})
                longest = await self._longest(pipe)
                self.secs = max(self.secs, longest / 1000)
                if longest == keeps:
                    break
                keeps = longest
            self.secs = max(self.own_secs, longest / 1000)

    async def look(self) -> None:
        """Keep a longer delay of other workers, without writing."""
        async with self._agreeing:
            # Full memory refuses even reads in a transaction.
            longest = await self._longest(self._redis.pipeline(transaction=False))
            self.secs = max(self.secs, longest / 1000)

    async def are_kept(self, worker: str) -> bool:
        """Return whether all other live workers keep the delay of this one."""
        found = await self._redis.zrange(self._kept, 0, -1, withscores=True)
        kept = {name.decode(): ms for name, ms in cast("Scores", found)}
        own, live = millisecs(self.own_secs), await self._live()
        return all(kept.get(name, -1) >= own for name in live if name != worker)

    async def leave(self, worker: str) -> None:
        """Remove an ending worker from the lists."""
        await self._redis.zrem(self._delays, worker)
        await self._redis.zrem(self._kept, worker)

    async def _longest(self, pipe: Any) -> int:
        """Return the longest delay of live workers (ms), once the pipe is executed."""
        delays = self._delays
        while True:
            pipe.zrange(delays, 0, 0, withscores=True)
            pipe.zrange(delays, -1, -1, withscores=True)
            ends = [row for rows in (await pipe.execute())[-2:] for row in rows]
            live = await self._live()
            gone = {name: ms for name, ms in ends if name.decode() not in live}
            if not gone:
                break
            await self._forget(gone)
        own = millisecs(self.own_secs)
        self.shortest_secs = min([own, *(ms for _, ms in ends)]) / 1000
        return max([own, *(int(ms) for _, ms in ends)])

    async def _forget(self, gone: dict[bytes, float]) -> None:
        """Remove dead workers from the lists, except those alive again."""
        await self._redis.zrem(self._delays, *gone)
        await self._redis.zrem(self._kept, *gone)
        back = {n: ms for n, ms in gone.items() if n.decode() in await self._live()}
        if back:
            await self._redis.zadd(self._delays, back, nx=True)
