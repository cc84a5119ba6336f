"""Workers of a frontier, and visits that tests make for them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from rdfcrawl.frontier.queue.options import WorkerOptions
from rdfcrawl.frontier.redis.errors import RedisRetry
from rdfcrawl.frontier.worker.worker import FrontierWorker
from rdfcrawl.frontier.worker.worker_state import IntakeHooks, WorkerHooks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from rdfcrawl.core.records import Record
    from rdfcrawl.core.visits import Visit
    from rdfcrawl.frontier.queue.frontier_client import Frontier

LONGEST_SECS = 60.0


async def nothing() -> None:
    """Flush no stores."""


async def account_for(buried: Sequence[Record]) -> None:
    """Meet no URI that was given up."""
    assert not buried


async def no_seeds() -> int:
    """Find no seeds."""
    return 0


def new_worker(
    frontier: Frontier,
    name: str = "w",
    *,
    flush_stores: Callable[[], Awaitable[None]] = nothing,
    wake: Callable[[], None] = lambda: None,
    figures: Callable[[], dict[str, float]] = dict,
    has_started: bool = True,
    **options: Any,
) -> FrontierWorker:
    """Return a worker that is not opened yet, and commits often."""
    worker = FrontierWorker(
        frontier,
        WorkerOptions(name=name, **{"visits": 4, "commit_secs": 0.05, **options}),
        WorkerHooks(
            flush_stores=flush_stores,
            wake=wake,
            figures=figures,
            account_for=account_for,
        ),
        outage=RedisRetry(),
        intake=IntakeHooks(take_seeds=no_seeds),
    )
    worker.has_started = has_started
    return worker


async def until(holds: Callable[[], bool], secs: float = LONGEST_SECS) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(secs):
        while not holds():  # noqa: ASYNC110 (of another object, or of Redis)
            await asyncio.sleep(0.005)


async def next_visit(worker: FrontierWorker) -> Visit:
    """Wait for a visit."""
    async with asyncio.timeout(LONGEST_SECS):
        while (visit := worker.next_visit()) is None:  # noqa: ASYNC110 (as Scrapy does)
            await asyncio.sleep(0.005)
    return visit


def make(visit: Visit) -> list[str]:
    """Make a visit in which all goes well; return its URLs."""
    visit.pending.clear()
    return [record.url for record in visit.records]


def paths(n: int, host: str = "a.example") -> list[str]:
    """Return URLs of one host."""
    return [f"https://{host}/r/{i}" for i in range(n)]
