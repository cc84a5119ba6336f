"""Drain one worker of a crawl: it ends without loss, and others take over."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import StrEnum
from time import monotonic
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import ConfigError

if TYPE_CHECKING:
    from rdfcrawl.monitor.operating.crawl import FrontierView

_LOOK_SECS: Final = 0.2
_SHOWN: Final = 100  # characters of a name


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
    stopped
            reporting, before or meanwhile.
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
    Workers
    that are started later are not affected.
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
        if silent > frontier.silence_secs:
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
