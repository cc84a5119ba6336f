"""The delays of a crawl's workers, of which the longest holds for all.

Each worker writes down its own delay, and which one it keeps. Whoever joins with a
longer one than others waits until these say that they keep it. Nobody keeps less than
it says: a longer delay is kept before it is said; a shorter one is kept only if nobody
is found to have a longer one after it was said.
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
"""Returns the workers that were heard of lately."""


class WorkerDelays:
    """Least time between two requests to a host that sets none, for all workers.

    Attributes:
        own_secs: what this worker was told.
        secs: what it keeps.
        shortest_secs: what it would be if it were for the most hasty of them.
    """

    def __init__(
        self, redis: Redis, key: Callable[[str], str], secs: float, live: Live
    ) -> None:
        self.own_secs = self.secs = self.shortest_secs = secs
        self._redis, self._live = redis, live
        self._delays, self._kept = key("delays"), key("kept")
        self._agreeing = asyncio.Lock()

    async def agree(self, worker: str) -> None:
        """Say which delay a worker has that is live, and keep the longest of all."""
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
        """Keep a longer delay of others, where nothing can be written."""
        async with self._agreeing:
            # Full memory refuses even to read in a transaction.
            longest = await self._longest(self._redis.pipeline(transaction=False))
            self.secs = max(self.secs, longest / 1000)

    async def are_kept(self, worker: str) -> bool:
        """Return whether all other live workers keep the delay of this one."""
        found = await self._redis.zrange(self._kept, 0, -1, withscores=True)
        kept = {name.decode(): ms for name, ms in cast("Scores", found)}
        own, live = millisecs(self.own_secs), await self._live()
        return all(kept.get(name, -1) >= own for name in live if name != worker)

    async def leave(self, worker: str) -> None:
        """Take a worker that ends off the lists."""
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
        """Take dead workers off the lists, but for those that live again just now."""
        await self._redis.zrem(self._delays, *gone)
        await self._redis.zrem(self._kept, *gone)
        back = {n: ms for n, ms in gone.items() if n.decode() in await self._live()}
        if back:
            await self._redis.zadd(self._delays, back, nx=True)
