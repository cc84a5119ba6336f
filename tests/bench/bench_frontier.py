"""Cost of the frontier: memory per URI, rates, server CPU, latencies.

usage: python -m tests.bench.bench_frontier [--uris N] [--program REDIS_SERVER]
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rdfcrawl.core.records import Kind, Record
from rdfcrawl.frontier.queue.candidate import Candidate
from rdfcrawl.frontier.queue.options import WorkerOptions
from rdfcrawl.frontier.redis.embedded import OPTIONS, find_server, program_version
from rdfcrawl.frontier.redis.errors import RedisRetry
from rdfcrawl.frontier.worker.link_ingest import LINK_BAND, LinkIngest
from rdfcrawl.frontier.worker.worker import FrontierWorker
from rdfcrawl.frontier.worker.worker_state import IntakeHooks, WorkerHooks
from rdfcrawl.uri import NormalForm, PolitenessKey
from rdfcrawl.uri.link_filter import CrawlScope, LinkFilter
from tests.bench.figures import Figure, judge
from tests.support.redis_fixtures import RedisServer, frontier_on

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from redis.asyncio import Redis

    from rdfcrawl.core.visits import Visit
    from rdfcrawl.frontier.queue.frontier_client import Frontier

PARTITIONS = 16


class Bench:
    """One server program, with the options of the embedded server but no AOF.

    Args:
        program: of the server.
        n_uris: for the seen-set; the other parts take a fraction of it.
    """

    def __init__(self, program: str, n_uris: int) -> None:
        self._program = program
        self._version = program_version(program) or ()
        self._n_uris = n_uris
        self._choose = random.Random(1)
        self._figures: list[Figure] = []

    async def run(self) -> list[Figure]:
        """Return all figures."""
        print(f"{self._program} {'.'.join(map(str, self._version))}")
        await self._seen()
        await self._queue("100 URIs a host", n_hosts=self._n_uris // 2500, a_host=100)
        await self._queue("3 URIs a host", n_hosts=self._n_uris // 75, a_host=3)
        await self._add("100 hosts a call", n_hosts=100, limit=60_000, cpu=5.0)
        await self._add("all hosts different", n_hosts=10**9, limit=None, cpu=12.0)
        await self._visits()
        await self._claim_latency()
        await self._next_visit_latency()
        return self._figures

    def _show(
        self,
        name: str,
        value: float,
        unit: str,
        *,
        at_most: float | None = None,
        at_least: float | None = None,
    ) -> None:
        figure = Figure(name, value, unit, at_most=at_most, at_least=at_least)
        print(figure, flush=True)
        self._figures.append(figure)

    @asynccontextmanager
    async def _frontier(self, **options: Any) -> AsyncIterator[Frontier]:
        with tempfile.TemporaryDirectory(prefix="rc-") as folder:
            own = ("--appendonly", "no")
            server = RedisServer(self._program, Path(folder), (*OPTIONS, *own))
            server.start()
            redis = server.client()
            try:
                frontier = frontier_on(
                    redis, self._version, partitions=PARTITIONS, **options
                )
                await frontier.open()
                yield frontier
            finally:
                await redis.aclose()
                server.end()

    # -- memory ------------------------------------------------------------------

    async def _seen(self) -> None:
        n = self._n_uris
        async with self._frontier() as frontier:
            empty = await used_memory(frontier.redis)
            start = time.perf_counter()
            for _ in range(n // 5000):
                batch = [
                    Candidate(i % PARTITIONS, "h", self._fingerprint(), b"k")
                    for i in range(5000)
                ]
                await frontier.add(batch)
            rate = n / (time.perf_counter() - start)
            used = await used_memory(frontier.redis) - empty
        self._show(f"seen-set, {n / 1e6:g} M URIs", used / n, "B/URI", at_most=9)
        self._show("  filled at", rate, "URIs/s")

    def _fingerprint(self) -> int:
        return self._choose.getrandbits(64) - 2**63

    async def _queue(self, name: str, *, n_hosts: int, a_host: int) -> None:
        budgets = {100: 60, 3: 150}
        value = await self.bytes_per_uri(n_hosts, a_host=a_host)
        self._show(f"queue, {name}", value, "B/URI", at_most=budgets[a_host])

    async def bytes_per_uri(self, n_hosts: int, *, a_host: int) -> float:
        """Return the memory of a frontier for each of its URIs, all of them queued."""
        async with self._frontier() as frontier:
            empty = await used_memory(frontier.redis)
            n = await self._fill(frontier, n_hosts, a_host)
            return (await used_memory(frontier.redis) - empty) / n

    async def _fill(self, frontier: Frontier, n_hosts: int, a_host: int) -> int:
        """Queue links as crawling finds them: of some hosts, in mixed order."""
        ingest = new_ingest(frontier)
        n = 0
        for start in range(0, n_hosts, 50):
            hosts = range(start, min(start + 50, n_hosts))
            batch = [self._link(ingest, h, i) for i in range(a_host) for h in hosts]
            n += (await frontier.add(batch)).new
        return n

    def _link(self, ingest: LinkIngest, host: int, i: int) -> Candidate:
        """Return a link with a path of 35 bytes; 9 in 10 parents are of its host."""
        is_own = self._choose.random() < 0.9
        parent_host = host if is_own else self._choose.randrange(10**6)
        parent = f"https://www.h{parent_host}.example/{self._path(i // 40)}"
        url = f"https://www.h{host}.example/{self._path(i)}"
        return ingest.candidate(Record(url, Kind.PAGE, 3, parent), LINK_BAND)

    def _path(self, i: int) -> str:
        return f"resource/category-{i % 10}/item-{i * 7919 % 10**10:010}"

    # -- rates -------------------------------------------------------------------

    async def _add(
        self, name: str, *, n_hosts: int, limit: int | None, cpu: float
    ) -> None:
        async with self._frontier() as frontier:
            ingest = new_ingest(frontier)
            n = max(self._n_uris // 20, 100_000)
            links = [self._link(ingest, i % n_hosts, i) for i in range(n)]
            used = await server_cpu(frontier.redis)
            start = time.perf_counter()
            for i in range(0, n, 500):
                await frontier.add(links[i : i + 500])
            secs = time.perf_counter() - start
            used = await server_cpu(frontier.redis) - used
        self._show(f"add, {name}", n / secs, "URIs/s", at_least=limit)
        self._show("  server", used / n * 1e6, "us CPU/URI", at_most=cpu)

    async def _visits(self) -> None:
        async with self._frontier(batch=10) as frontier:
            n = await self._fill(frontier, 1000, 100)
            used, start = await server_cpu(frontier.redis), time.perf_counter()
            waits: list[float] = []
            done = await drain(frontier, range(PARTITIONS), waits)
            secs = time.perf_counter() - start
            used = await server_cpu(frontier.redis) - used
        assert done == n
        self._show(
            "claim + release + ack, one client", n / secs, "URIs/s", at_least=40_000
        )
        self._show("  server", used / n * 1e6, "us CPU/URI", at_most=12)

    async def _claim_latency(self) -> None:
        async with self._frontier(batch=10) as frontier:
            await self._fill(frontier, 1000, 100)
            waits: list[float] = []
            shares = [[p, p + 8] for p in range(8)]
            start = time.perf_counter()
            done = await asyncio.gather(*(drain(frontier, s, waits) for s in shares))
            secs = time.perf_counter() - start
        self._show("  8 clients", sum(done) / secs, "URIs/s")
        self._show(
            "claim, 8 clients: p99", percentile(waits, 99) * 1e3, "ms", at_most=5
        )

    async def _next_visit_latency(self) -> None:
        async with self._frontier(batch=10) as frontier:
            n = await self._fill(frontier, 1000, 50)
            worker = new_worker(frontier)
            await worker.open()
            waits: list[float] = []
            while not worker.is_over:
                start = time.perf_counter()
                visit = worker.next_visit()
                waits.append(time.perf_counter() - start)
                if visit is None:
                    await asyncio.sleep(0.001)
                    continue
                visit.pending.clear()
                worker.finish(visit)
                await asyncio.sleep(0)
            await worker.close()
            assert (await frontier.counts()).done == n
        self._show(
            "Worker.next_visit: p99", percentile(waits, 99) * 1e6, "us", at_most=50
        )


def new_ingest(frontier: Frontier) -> LinkIngest:
    """Return an ingest that takes every link."""
    return LinkIngest(
        keys=PolitenessKey(),
        normal_form=NormalForm(),
        link_filter=LinkFilter(CrawlScope()),
        partitions=frontier.partitions,
        max_depth=255,
    )


def new_worker(frontier: Frontier) -> FrontierWorker:
    """Return a worker that stores nothing."""

    async def nothing() -> None:
        return

    async def no_seeds() -> int:
        return 0

    async def ignore(_: object) -> None:
        return None

    worker = FrontierWorker(
        frontier,
        WorkerOptions(name="bench"),
        WorkerHooks(
            flush_stores=nothing, wake=lambda: None, figures=dict, account_for=ignore
        ),
        outage=RedisRetry(),
        intake=IntakeHooks(take_seeds=no_seeds),
    )
    worker.has_started = True
    return worker


async def drain(
    frontier: Frontier,
    partitions: range | list[int],
    waits: list[float],
    *,
    most: float = float("inf"),
) -> int:
    """Visit everything in some partitions; return how many URIs that were.

    Args:
        frontier: whose hosts have no delay.
        partitions: claimed from one after another, 10 hosts each time.
        waits: takes the seconds of each claim.
        most: URIs, after which it ends.
    """
    n = 0
    for partition in partitions:
        while n < most:
            start = time.perf_counter()
            visits, _ = await frontier.claim([partition], most_keys=10)
            waits.append(time.perf_counter() - start)
            if not visits:
                break
            await finish(frontier, visits)
            n += sum(len(visit.records) for visit in visits)
    return n


async def finish(frontier: Frontier, visits: list[Visit]) -> None:
    """Commit visits."""
    await frontier.release(visits)
    await frontier.ack(visits)


async def used_memory(redis: Redis) -> int:
    """Return the bytes that the server has allocated."""
    return int((await redis.info("memory"))["used_memory"])


async def server_cpu(redis: Redis) -> float:
    """Return the seconds of CPU that the server has used."""
    cpu = await redis.info("cpu")
    return float(cpu["used_cpu_sys"]) + float(cpu["used_cpu_user"])


def percentile(values: list[float], percent: int) -> float:
    """Return the value that this percentage does not exceed."""
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Run all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--uris", type=int, default=1_000_000)
    parser.add_argument("--program", default=None)
    given = parser.parse_args(arguments)
    return asyncio.run(Bench(find_server(given.program), given.uris).run())


if __name__ == "__main__":
    sys.exit(judge(main()))
