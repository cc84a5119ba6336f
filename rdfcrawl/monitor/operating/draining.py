"""Have one worker of a crawl end, so that nothing is lost and others go on at once."""

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
    """What has become of a worker that was to end."""

    DRAINED = "drained"
    GONE = "gone"
    DEAD = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainedWorker:
    """A worker that was to end.

    Attributes:
        worker: its name.
        outcome: `drained`, it has ended; `gone`, it had ended before; `dead`, it was
            not heard of any more, before or meanwhile.
        waited_ms: until it had ended.
        silent_secs: since a dead one was heard of.
    """

    worker: str
    outcome: DrainOutcome
    waited_ms: int = 0
    silent_secs: int = 0


async def ask_to_end(crawl: FrontierView) -> list[str]:
    """Ask all live workers of a crawl to end, wait for none, and return their names.

    Each ends as by SIGTERM: what is under way is stored, and the rest is given back. A
    worker that is started later is not asked.
    """
    workers = await crawl.frontier.live_workers()
    for worker in workers:
        await crawl.frontier.drains.ask(worker)
    return list(workers)


async def drain_worker(crawl: FrontierView, worker: str) -> DrainedWorker:
    """Ask a worker to end, and wait until it has.

    It is asked for good: whoever is interrupted here does not take that back.

    Raises:
        ConfigError: the crawl has never had such a worker.
    """
    frontier, began = crawl.frontier, monotonic()
    name = frontier.key("workers")
    is_asked = False
    while (heard := await crawl.redis.zscore(name, worker)) is not None:
        silent = abs((await crawl.now_ms()) // 1000 - int(heard))
        if silent > frontier.silence_secs:
            await frontier.drains.forget(worker)
            return DrainedWorker(
                worker=worker, outcome=DrainOutcome.DEAD, silent_secs=silent
            )
        if not is_asked:
            await frontier.drains.ask(worker)
            is_asked = True
        await asyncio.sleep(_LOOK_SECS)
    if is_asked:
        await frontier.drains.forget(worker)  # it may have left just before
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
