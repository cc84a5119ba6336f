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

STARTED: Final = "started"  # figure of a worker: 1 once its seeds are queued
CURRENT: Final = "now/"  # prefix of momentary figures, which are not summed
HOSTS: Final = f"{CURRENT}hosts"  # hosts visited now
MAX_REPORTS: Final = 100  # beyond that, reports of gone workers are summed
ENDED: Final = "ended"  # name of the sum of all gone workers
# After this silence, a worker counts as gone.
GONE_AFTER_SECS: Final = 86_400
# Bounds of the silence after which a worker counts as dead.
_DEAD_AFTER_SECS: Final = 2.0, 15.0
_TRIES: Final = 10  # other ending workers change the sum, too

Figures = Mapping[str, float]


class WorkerReports:
    """The reports of all workers of a crawl.

    Invariant: the sum over all fields of `figures` covers all reports, including those
    of gone workers. Gone workers share one field once there are many.
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
        """Time of silence after which a worker no longer counts as live."""
        return silence_secs(self._options.lease_secs)

    async def beat(self, worker: str, figures: Figures) -> list[str]:
        """Report life and progress of a worker; return all live workers."""
        pipe = self._redis.pipeline(transaction=True)
        pipe.zadd(self._workers, {worker: await self._now()})
        pipe.hset(self._figures, worker, json.dumps(figures))
        await pipe.execute()
        await self.delays.agree(worker)
        return await self.live()

    async def rejoin(self, worker: str) -> bool:
        """Report the life of a worker after long silence; return whether it was buried.

        If so, its earlier figures are part of the sum of gone workers.
        """
        pipe = self._redis.pipeline(transaction=True)
        pipe.zadd(self._workers, {worker: await self._now()})
        pipe.hexists(self._figures, worker)
        return not (await pipe.execute())[1]

    async def report(self, worker: str, figures: Figures) -> None:
        """Report the figures of a worker; one round trip."""
        await self._redis.hset(self._figures, worker, json.dumps(figures))

    async def live(self) -> list[str]:
        """Return the workers with a recent sign of life."""
        now, silence = await self._now(), self.silence_secs
        # If the clock was set back, times in the future are not recent.
        since, until = now - silence, now + silence
        names = await self._redis.zrangebyscore(self._workers, since, until)
        return [name.decode() for name in cast("list[bytes]", names)]

    async def leave(self, worker: str) -> None:
        """Remove an ending worker from the live ones; its figures stay."""
        await self._redis.zrem(self._workers, worker)
        await self.delays.leave(worker)

    async def bury(self) -> None:
        """Sum the figures of gone workers if there are many."""
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
        """Add the figures of a worker silent since `until` to the sum."""
        for _ in range(_TRIES):
            found = await self._redis.hmget(self._figures, [worker, ENDED])
            own, ended = cast("list[bytes | None]", found)
            if own is None:
                return
            total = added(parsed(ended), parsed(own))
            reported = json.dumps(total)
            words: list[Argument] = [worker, own, ended or b"", reported, until]
            (is_done,) = await self._scripts.run("bury", [(self._prefix, words)])
            if is_done:
                return

    async def all(self) -> dict[str, dict[str, float]]:
        """Return the last report of each worker, and the sum of gone workers."""
        found = await self._redis.hgetall(self._figures)
        rows = cast("dict[bytes, bytes]", found)
        return {name.decode(): parsed(text) for name, text in rows.items()}

    async def _now(self) -> int:
        return int((await self._redis.time())[0])


def silence_secs(lease_secs: float) -> float:
    """Return the time of silence after which a worker no longer counts as live."""
    least, most = _DEAD_AFTER_SECS
    return min(most, max(least, lease_secs))


def parsed(text: bytes | None) -> dict[str, float]:
    """Return the figures in a report; empty if it is not valid."""
    try:
        found = json.loads(text or b"{}")
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {k: v for k, v in found.items() if isinstance(v, int | float)}


def added(ended: Figures, own: Figures) -> dict[str, float]:
    """Return the sum of figures, without momentary ones.

    >>> added({"document/seen": 2}, {"document/seen": 3, "started": 1.0})
    {'document/seen': 5}
    """
    total = dict(ended)
    for name, value in own.items():
        if not _is_current(name):
            total[name] = total.get(name, 0) + value
    return total


def without(figures: Figures, reported: Figures) -> dict[str, float]:
    """Return the increase of figures since a report.

    >>> without({"document/seen": 5, "started": 1.0}, {"document/seen": 3})
    {'document/seen': 2, 'started': 1.0}
    """
    return {
        name: value if _is_current(name) else value - reported.get(name, 0)
        for name, value in figures.items()
    }


def _is_current(name: str) -> bool:
    return name == STARTED or name.startswith(CURRENT)
