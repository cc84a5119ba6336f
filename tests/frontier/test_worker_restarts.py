"""State that a worker keeps when its Redis is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.frontier.redis.embedded import program_version
from rdfcrawl.frontier.redis.errors import RedisRetry
from tests.support.frontier_state import (
    candidates,
    check_frontier,
)
from tests.support.frontier_workers import (
    LONGEST_SECS,
    make,
    new_worker,
    until,
)
from tests.support.redis_fixtures import RedisServer, frontier_on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.frontier.queue.frontier_client import Frontier


@pytest.fixture
def durable_server(redis_program: str) -> Iterator[RedisServer]:
    """Yield a server that keeps acknowledged writes, as the embedded one does.

    In memory if possible: while a slow disk syncs, Redis answers before it writes, so
    that a kill may lose the last second there.
    """
    in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    options = (
        *("--appendonly", "yes", "--appendfsync", "everysec"),
        *("--set-max-intset-entries", "4096"),
    )
    with tempfile.TemporaryDirectory(prefix="rc-", dir=in_memory) as folder:
        server = RedisServer(redis_program, Path(folder), options)
        server.start()
        yield server
        server.end()


class Traffic:
    """A worker that visits all it gets, and a client that adds links all the time."""

    def __init__(self, frontier: Frontier) -> None:
        self.frontier = frontier
        self.worker = new_worker(frontier, visits=8, has_started=False)
        self.visited: set[str] = set()
        self.acknowledged: set[str] = set()
        self.is_adding = True

    async def visit(self) -> None:
        """Make visits, each page with one child, until the crawl is over."""
        while not self.worker.is_over:
            visit = self.worker.next_visit()
            if visit is None:
                await asyncio.sleep(0.002)
                continue
            urls = make(visit)
            self.visited.update(urls)
            children = [url + "/child" for url in urls if "child" not in url]
            self.worker.links.offer(candidates(self.frontier, children))
            self.worker.finish(visit)

    async def add(self) -> None:
        """Add links; note those that the server has taken."""
        outage = RedisRetry()
        n = 0
        while self.is_adding:
            urls = [f"https://h{n % 50}.example/{n}/{i}" for i in range(20)]
            batch = candidates(self.frontier, urls)
            await outage.persistent("add", self.frontier.add, batch)
            self.acknowledged.update(urls)
            n += 1
            await asyncio.sleep(0.005)


@pytest.mark.service
async def test_nothing_acknowledged_is_lost_when_redis_is_killed(
    durable_server: RedisServer,
) -> None:
    """If redis-server is killed and comes back, then nothing is lost."""
    version = program_version(durable_server.program) or ()
    redis = durable_server.client()
    frontier = frontier_on(redis, version, partitions=4, lease_secs=1.0, batch=5)
    await frontier.open()
    traffic = Traffic(frontier)
    await traffic.worker.open()
    tasks = [asyncio.create_task(job()) for job in (traffic.visit, traffic.add)]
    async with asyncio.timeout(LONGEST_SECS):
        while not (before := await frontier.counts()).done:  # noqa: ASYNC110 (of Redis)
            await asyncio.sleep(0.01)
    await asyncio.to_thread(durable_server.end, signal.SIGKILL)
    n_before = len(traffic.acknowledged)
    await asyncio.sleep(0.1)
    await asyncio.to_thread(durable_server.start)
    await until(lambda: len(traffic.acknowledged) > n_before + 100)
    traffic.is_adding = False
    traffic.worker.has_started = True
    async with asyncio.timeout(LONGEST_SECS):
        await asyncio.gather(*tasks)
    assert traffic.acknowledged <= traffic.visited
    counts = await frontier.counts()
    assert counts.is_over
    assert counts.done >= before.done
    assert counts.seen == counts.done == len(traffic.visited)
    await check_frontier(frontier)
    taken = sorted(traffic.acknowledged)
    assert (await frontier.add(candidates(frontier, taken))).seen == len(taken)
    await traffic.worker.close()
    await redis.aclose()
