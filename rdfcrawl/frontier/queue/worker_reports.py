"""Reports of workers: signs of life and statistics."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, cast

from rdfcrawl.frontier.queue.worker_delays import WorkerDelays

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from rdfcrawl.frontier.queue.options import FrontierOptions
    from rdfcrawl.frontier.redis.scripts import Argument, LuaScripts

STARTED: Final = "started"  # among a worker's figures: 1 once its seeds are handed in
CURRENT: Final = "now/"  # what begins so holds for the moment, and is not added up
HOSTS: Final = f"{CURRENT}hosts"  # that a worker visits
MAX_REPORTS: Final = 100  # beyond that, those of workers that are gone are added up
ENDED: Final = "ended"  # in place of a worker's name: all that are gone, added up
# One that was silent for so long is counted among those that are gone.
GONE_AFTER_SECS: Final = 86_400
_DEAD_AFTER_SECS: Final = 2.0, 15.0  # between them, as a lease
_TRIES: Final = 10  # others that end at the same time change the sum, too

Figures = Mapping[str, float]


class WorkerReports:
    """The reports of all workers of a crawl.

    Invariant: the sum over all fields of `figures` is what all workers have told, also
    those that are gone. These share one field once there are many.
    """

    def __init__(
        self,
        redis: Redis,
        scripts: LuaScripts,
        key: Callable[[str], str],
        options: FrontierOptions,
    ) -> None:
        self._redis = redis
        self._scripts = scripts
        self._prefix = key("").removesuffix(":")
        self._workers, self._figures = key("workers"), key("figures")
        self._options = options
        self.delays = WorkerDelays(redis, key, options.delay_secs, self.live)

    @property
    def silence_secs(self) -> float:
        """How long a worker counts as live that is not heard of."""
        return silence_secs(self._options.lease_secs)

    async def beat(self, worker: str, figures: Figures) -> list[str]:
        """Report the life and progress of a worker; return all live workers."""
        pipe = self._redis.pipeline(transaction=True)
        pipe.zadd(self._workers, {worker: await self._now()})
        pipe.hset(self._figures, worker, json.dumps(figures))
        await pipe.execute()
        await self.delays.agree(worker)
        return await self.live()

    async def rejoin(self, worker: str) -> bool:
        """Report the life of a worker after long silence; return whether it was buried.

        Then what it had told belongs to the others that are gone.
        """
        pipe = self._redis.pipeline(transaction=True)
        pipe.zadd(self._workers, {worker: await self._now()})
        pipe.hexists(self._figures, worker)
        return not (await pipe.execute())[1]

    async def tell(self, worker: str, figures: Figures) -> None:
        """Say how far a worker is; one round trip."""
        await self._redis.hset(self._figures, worker, json.dumps(figures))

    async def live(self) -> list[str]:
        """Return the workers that were heard of in the last seconds."""
        now, silence = await self._now(), self.silence_secs
        # If the clock was set back, those of the future have not been heard of since.
        since, until = now - silence, now + silence
        names = await self._redis.zrangebyscore(self._workers, since, until)
        return [name.decode() for name in cast("list[bytes]", names)]

    async def leave(self, worker: str) -> None:
        """Take a worker that ends off the list of live ones; its figures stay."""
        await self._redis.zrem(self._workers, worker)
        await self.delays.leave(worker)

    async def bury(self) -> None:
        """Add up figures of workers that left, or died long ago, if there are many."""
        if await self._redis.hlen(self._figures) <= MAX_REPORTS:
            return
        until = await self._now() - GONE_AFTER_SECS
        heard = await self._redis.zrange(self._workers, 0, -1, withscores=True)
        lately = {
            name for name, at in cast("list[tuple[bytes, float]]", heard) if at > until
        }
        names = cast("list[bytes]", await self._redis.hkeys(self._figures))
        for name in {*names} - lately - {ENDED.encode()}:
            await self._bury(name.decode(), until=until)

    async def _bury(self, worker: str, until: int) -> None:
        """Move the figures of a worker that was not heard of after `until`."""
        for _ in range(_TRIES):
            found = await self._redis.hmget(self._figures, [worker, ENDED])
            own, ended = cast("list[bytes | None]", found)
            if own is None:
                return
            total = added(parsed(ended), parsed(own))
            told = json.dumps(total)
            words: list[Argument] = [worker, own, ended or b"", told, until]
            (is_done,) = await self._scripts.run("bury", [(self._prefix, words)])
            if is_done:
                return

    async def all(self) -> dict[str, dict[str, float]]:
        """Return what each worker, and those that are gone together, said last."""
        found = await self._redis.hgetall(self._figures)
        rows = cast("dict[bytes, bytes]", found)
        return {name.decode(): parsed(text) for name, text in rows.items()}

    async def _now(self) -> int:
        return int((await self._redis.time())[0])


def silence_secs(lease_secs: float) -> float:
    """Return how long a worker counts as live that is not heard of."""
    least, most = _DEAD_AFTER_SECS
    return min(most, max(least, lease_secs))


def parsed(text: bytes | None) -> dict[str, float]:
    """Return the figures in a report; none if a stranger has written one."""
    try:
        found = json.loads(text or b"{}")
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {k: v for k, v in found.items() if isinstance(v, int | float)}


def added(ended: Figures, own: Figures) -> dict[str, float]:
    """Return the sum of what is counted; what only holds at a moment is left out.

    >>> added({"document/seen": 2}, {"document/seen": 3, "started": 1.0})
    {'document/seen': 5}
    """
    total = dict(ended)
    for name, value in own.items():
        if not _is_current(name):
            total[name] = total.get(name, 0) + value
    return total


def without(figures: Figures, told: Figures) -> dict[str, float]:
    """Return what figures have grown by since they were told.

    >>> without({"document/seen": 5, "started": 1.0}, {"document/seen": 3})
    {'document/seen': 2, 'started': 1.0}
    """
    return {
        name: value if _is_current(name) else value - told.get(name, 0)
        for name, value in figures.items()
    }


def _is_current(name: str) -> bool:
    return name == STARTED or name.startswith(CURRENT)
