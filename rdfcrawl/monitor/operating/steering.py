"""Changes to one host of a crawl or to its workers, with or without running workers."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from time import monotonic
from typing import Final

from rdfcrawl.core.batches import in_batches
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.frontier.queue.profiles import SpiderProfiles
from rdfcrawl.frontier.redis.operations import millisecs
from rdfcrawl.monitor.operating.checking import pages_of
from rdfcrawl.monitor.operating.crawl import FrontierView, OperatedCrawl

MAX_DELAY_SECS: Final = 86_400
_BATCH_SIZE: Final = 500
_GLOB: Final = re.compile(r"([\\*?\[\]])")
_LOOK_SECS: Final = 0.2
_SHOWN: Final = 100  # characters of a name


@dataclass(frozen=True, slots=True, kw_only=True)
class HostChange:
    """Result of a change to a host.

    Attributes:
        key: of the host.
        has_changed: it was not so before.
        n_waiting: URIs that were queued before.
        n_dropped: URIs removed from the queue, which stay marked as seen.
        n_taken_up: URIs over its former budget that were queued.
        is_visited: a visit is under way, and continues.
    """

    key: str
    has_changed: bool
    n_waiting: int
    n_dropped: int = 0
    n_taken_up: int = 0
    is_visited: bool = False


class HostSteering:
    """Changes to hosts of one crawl.

    All raise `ConfigError` if the host is not in the frontier.
    """

    def __init__(self, crawl: OperatedCrawl) -> None:
        self._crawl = crawl

    async def pause(self, key: str) -> HostChange:
        """Stop claims of a host; its present visit continues."""
        return (await self._do("pause", key))[0]

    async def resume(self, key: str) -> HostChange:
        """Allow claims of a paused host."""
        return (await self._do("resume", key))[0]

    async def set_delay(self, key: str, secs: float | None) -> HostChange:
        """Set the least delay of a host from its next visit; None: remove it.

        A longer delay of its robots.txt or `DOWNLOAD_DELAY` takes precedence.
        """
        value = "" if secs is None else millisecs(secs)
        return (await self._do("delay", key, value))[0]

    async def set_budget(self, key: str, most: int | None) -> HostChange:
        """Set the limit of accepted URIs of a host, 0 for no limit.

        None is the spider's budget. Refused URIs that were kept are queued as far as
        the budget allows.
        """
        value = "" if most is None else most
        change, partition = await self._do("budget", key, value)
        taken = await self._take_up(key, partition)
        return replace(change, n_taken_up=taken)

    async def drop(self, key: str) -> HostChange:
        """Remove all waiting URIs from the queue of a host.

        They stay marked as seen, so that no link queues them again. Later URIs of the
        host are queued as before.
        """
        change, partition = await self._do("drop", key)
        dropped = change.n_waiting + await self._drop_waiting(key, partition)
        return replace(change, n_dropped=dropped, has_changed=dropped > 0)

    async def _do(
        self, action: str, key: str, *values: str | int
    ) -> tuple[HostChange, int]:
        for partition in self._crawl.places_of(key):
            found = await self._crawl.run("steer", partition, action, key, *values)
            if found[0] >= 0:
                changed, n, epoch = found
                change = HostChange(
                    key=key,
                    has_changed=changed == 1,
                    n_waiting=n,
                    is_visited=bool(epoch),
                )
                return change, partition
        raise ConfigError(f"host {key}: not in the frontier")

    async def _drop_waiting(self, key: str, partition: int) -> int:
        """Drop URIs that wait for an epoch of the host's registered domain."""
        crawl, dropped = self._crawl, 0
        prefix = crawl.prefixes[partition]
        length = await crawl.redis.hget(f"{prefix}:h:{key}", "e")
        if length is None:
            return 0
        name, own = f"{prefix}:ew:{key[-int(length) :]}", f"{key}\0".encode()
        async for rows in pages_of(crawl.redis.hscan, name):
            names = [each for each, text in rows.items() if text.startswith(own)]
            for some in in_batches(names, _BATCH_SIZE):
                answer = await crawl.run("steer", partition, "drop waiting", key, *some)
                dropped += answer[0]
        return dropped

    async def _take_up(self, key: str, partition: int) -> int:
        """Queue refused URIs of a host, as far as its budget allows."""
        crawl, taken = self._crawl, 0
        profiles = SpiderProfiles(crawl.frontier, crawl.connection.outage)
        await profiles.learn_all()
        budgets = {n: each.budget for n, each in profiles.arguments.items()}
        name = f"{crawl.prefixes[partition]}:over"
        pattern = _GLOB.sub(r"\\\1", key) + " *"
        async for rows in pages_of(crawl.redis.hscan, name, match=pattern):
            taken += await crawl.frontier.take_up_some(partition, rows, budgets)
        return taken


class DrainOutcome(StrEnum):
    """Result of draining a worker."""

    DRAINED = "drained"
    GONE = "gone"
    DEAD = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainedWorker:
    """A drained worker.

    Attributes:
        worker: its name.
        outcome: `drained`: it has ended; `gone`: it had ended before; `dead`: it
            stopped reporting, before or meanwhile.
        waited_ms: until it had ended.
        silent_secs: since the last report of a dead one.
    """

    worker: str
    outcome: DrainOutcome
    waited_ms: int = 0
    silent_secs: int = 0


async def drain_all(crawl: FrontierView) -> list[str]:
    """Drain all live workers of a crawl without waiting; return their names.

    Each ends as by SIGTERM: work under way is stored, and the rest is given back.
    Workers that are started later are not affected.
    """
    workers = await crawl.frontier.live_workers()
    for worker in workers:
        await crawl.frontier.drains.request(worker)
    return list(workers)


async def drain_worker(crawl: FrontierView, worker: str) -> DrainedWorker:
    """Drain a worker, and wait until it has ended.

    An interrupt here does not cancel the drain.

    Raises:
        ConfigError: the crawl has never had such a worker.
    """
    frontier, began = crawl.frontier, monotonic()
    name = frontier.key("workers")
    is_drained = False
    while (heard := await crawl.redis.zscore(name, worker)) is not None:
        silent = abs((await crawl.now_ms()) // 1000 - int(heard))
        if silent > frontier.reports.silence_secs:
            await frontier.drains.forget(worker)
            return DrainedWorker(
                worker=worker, outcome=DrainOutcome.DEAD, silent_secs=silent
            )
        if not is_drained:
            await frontier.drains.request(worker)
            is_drained = True
        await asyncio.sleep(_LOOK_SECS)
    if is_drained:
        await frontier.drains.forget(worker)  # it may have left a moment ago
        waited = round(1000 * (monotonic() - began))
        return DrainedWorker(
            worker=worker, outcome=DrainOutcome.DRAINED, waited_ms=waited
        )
    if worker in await frontier.figures():
        return DrainedWorker(worker=worker, outcome=DrainOutcome.GONE)
    live = ", ".join(await frontier.live_workers()) or "none"
    raise ConfigError(
        f"WORKER {worker[:_SHOWN]!a}: the crawl has no such worker; live ones: {live}"
    )
