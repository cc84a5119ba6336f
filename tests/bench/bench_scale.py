"""Cost of a crawl of very many URIs: its share of one partition, filled the same way.

All partitions of a crawl are alike, so that one of them, as full as it would be, is a
sample. With `--uris 1e10 --partitions 256`, it has 39 million URIs.

usage: python -m tests.bench.bench_scale [--uris N] [--partitions P] [--sample S]
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rdfcrawl.core.records import Record
from rdfcrawl.frontier.queue.candidate import SEEN_ONLY, Candidate, pack
from rdfcrawl.frontier.redis.embedded import OPTIONS, find_server, program_version
from tests.bench.bench_frontier import drain, server_cpu, used_memory
from tests.bench.figures import Figure, judge
from tests.support.redis_fixtures import RedisServer, frontier_on

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from redis.asyncio import Redis

    from rdfcrawl.frontier.queue.frontier_client import Frontier

_BATCH = 5000
_ROWS = 10  # of the table of how the seen set grows
_OPERATIONS = 100_000  # links and visits that are timed once it is full
_LINKS_A_CALL, _HOSTS_A_CALL = 500, 100
_HOSTS_KNOWN = 1000
_AGAIN_SHARE = 0.8  # of the links of pages, the share of seen ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawl:
    """How large a crawl is, and how many of its partitions are looked at.

    Attributes:
        uris, hosts: ever seen.
        queued: of these URIs, how many wait at a time.
        partitions: of the crawl.
        sample: of these, how many are filled.
    """

    uris: int
    hosts: int
    queued: int
    partitions: int
    sample: int

    def share(self, n: int) -> int:
        """Return the size of the sample of this many things."""
        return n * self.sample // self.partitions


@dataclass(slots=True)
class Scale:
    """Fills a sample of a crawl, and measures operations in it."""

    crawl: Crawl
    program: str
    figures: list[Figure] = field(default_factory=list)
    _choose: random.Random = field(default_factory=lambda: random.Random(1))
    _known: list[list[Candidate]] = field(default_factory=list)  # of some hosts

    async def run(self) -> list[Figure]:
        """Return all figures."""
        crawl = self.crawl
        print(
            f"{self.program}: {crawl.share(crawl.uris):,} URIs in {crawl.sample} of"
            f" {crawl.partitions} partitions, of a crawl of {crawl.uris:,}"
        )
        for a_host in (3, 100):
            for length in (20, 35, 80, 160):
                await self._queued(a_host, length)
        async with self._frontier() as frontier:
            await self._hosts(frontier)
            await self._fill(frontier)
            await self._append_only(frontier.redis)
            await self._operations(frontier)
            await self._looks(frontier)
        return self.figures

    def _show(self, name: str, value: float, unit: str, **budget: Any) -> None:
        figure = Figure(name, value, unit, **budget)
        print(figure, flush=True)
        self.figures.append(figure)

    @asynccontextmanager
    async def _frontier(self) -> AsyncIterator[Frontier]:
        with tempfile.TemporaryDirectory(prefix="rc-") as folder:
            own = ("--appendonly", "no")
            server = RedisServer(self.program, Path(folder), (*OPTIONS, *own))
            server.start()
            redis = server.client()
            try:
                version = program_version(self.program) or ()
                frontier = frontier_on(
                    redis, version, partitions=self.crawl.sample, batch=50
                )
                await frontier.open()
                yield frontier
            finally:
                await redis.aclose()
                server.end()

    # -- the queue -----------------------------------------------------------------

    async def _queued(self, a_host: int, length: int, n_uris: int = 150_000) -> None:
        """Measure the memory of a URI in a queue, without its place in the seen set."""
        async with self._frontier() as frontier:
            empty = await used_memory(frontier.redis)
            n_hosts = n_uris // a_host
            for start in range(0, n_hosts, 50):
                hosts = range(start, min(start + 50, n_hosts))
                paths = [_path(i, length) for i in range(a_host)]
                batch = [self._link(host, path) for path in paths for host in hosts]
                await frontier.add(batch)
            used = await used_memory(frontier.redis) - empty
            async for key in frontier.redis.scan_iter(match="rc:*:s:*", count=1000):
                await frontier.redis.delete(key)
            seen = empty + used - await used_memory(frontier.redis)
        name = f"queued, {length} characters, {a_host} a host"
        self._show(name, (used - seen) / n_uris, "B/URI")

    def _link(self, host: int, path: str) -> Candidate:
        """Return a link within a host, which is known by its number."""
        key = f"h{host}.example"
        url, parent = f"https://{key}{path}", f"https://{key}{path[:-8]}"
        item = b"2" + pack(Record(url, depth=3, parent=parent), key)
        return Candidate(host % self.crawl.sample, key, self._fingerprint(), item)

    def _fingerprint(self) -> int:
        return self._choose.getrandbits(64) - 2**63

    # -- the seen set --------------------------------------------------------------

    async def _hosts(self, frontier: Frontier) -> None:
        """Queue the URIs that wait at a time, of all hosts."""
        crawl = self.crawl
        n_hosts = max(1, crawl.share(crawl.hosts))
        a_host = max(1, crawl.share(crawl.queued) // n_hosts)
        empty, start = await used_memory(frontier.redis), time.perf_counter()
        for first in range(0, n_hosts, 100):
            numbers = range(first, min(first + 100, n_hosts))
            paths = [_path(i, 35) for i in range(a_host)]
            batch = [self._link(host, path) for path in paths for host in numbers]
            await frontier.add(batch)
            if len(self._known) < _HOSTS_KNOWN:
                self._known += [batch[i :: len(numbers)] for i in range(len(numbers))]
        used = await used_memory(frontier.redis) - empty
        n = n_hosts * a_host
        name = f"{n:,} queued URIs of {n_hosts:,} hosts"
        self._show(name, used / n, "B/URI")
        self._show("  queued at", n / (time.perf_counter() - start), "URIs/s")

    async def _fill(self, frontier: Frontier) -> None:
        """Mark finished URIs as seen, and print the growth."""
        n = self.crawl.share(self.crawl.uris - self.crawl.queued)
        before = await used_memory(frontier.redis)
        for row in self._rows(n):
            used = await used_memory(frontier.redis)
            cpu, start = await server_cpu(frontier.redis), time.perf_counter()
            for _ in range(row // _BATCH):
                await frontier.add(
                    [
                        Candidate(i % self.crawl.sample, "h", fingerprint, SEEN_ONLY)
                        for i, fingerprint in enumerate(self._fingerprints())
                    ]
                )
            secs = time.perf_counter() - start
            cpu = await server_cpu(frontier.redis) - cpu
            used = await used_memory(frontier.redis) - used
            counts = await frontier.counts()
            print(
                f"{counts.seen:15,} seen: the last {row:,} took {used / row:.2f} bytes"
                f" and {cpu / row * 1e6:.2f} us of Redis each, {row / secs:,.0f}/s",
                flush=True,
            )
        info: Any = await frontier.redis.info("memory")
        used = info["used_memory"] - before
        self._show("seen", used / n, "B/URI", at_most=9.0)
        resident = info["used_memory_rss"] / info["used_memory"]
        self._show("resident memory", resident, "x used")

    @staticmethod
    def _rows(n: int) -> Iterator[int]:
        size = max(_BATCH, n // _ROWS // _BATCH * _BATCH)
        yield from [size] * min(_ROWS, max(1, n // size))

    def _fingerprints(self) -> list[int]:
        some = self._choose.randbytes(8 * _BATCH)
        view = memoryview(some).cast("q")
        return view.tolist()

    # -- operations on the full sample ----------------------------------------------

    async def _append_only(self, redis: Redis) -> None:
        """Write the file that a server is restarted from; crawls need one."""
        start = time.perf_counter()
        await redis.config_set("appendonly", "yes")
        info: Any = {"aof_rewrite_in_progress": 1}
        while info["aof_rewrite_in_progress"] or info.get("aof_rewrite_scheduled"):
            await asyncio.sleep(0.2)
            info = await redis.info("persistence")
        n = self.crawl.share(self.crawl.uris)
        name = "append-only file, rewritten in"
        self._show(name, time.perf_counter() - start, "s")
        self._show("  its size", info["aof_current_size"] / n, "B/URI seen")

    async def _operations(self, frontier: Frontier) -> None:
        """Time links of many hosts, four of five of them seen before, and visits."""
        redis = frontier.redis
        numbers = range(_OPERATIONS // _LINKS_A_CALL)
        calls = [self._links_of_pages(number) for number in numbers]
        cpu, start, size = await self._gauge(redis)
        for call in calls:
            await frontier.add(call)
        used, end, full = await self._gauge(redis)
        n = len(calls) * _LINKS_A_CALL
        self._show("links of pages, 100 hosts a call", n / (end - start), "URIs/s")
        self._show("  server", (used - cpu) / n * 1e6, "us CPU/URI", at_most=15)
        self._show("  append-only file", (full - size) / n, "B/URI")
        waits: list[float] = []
        cpu, start, size = await self._gauge(redis)
        partitions = range(self.crawl.sample)
        done = await drain(frontier, partitions, waits, most=_OPERATIONS)
        used, end, full = await self._gauge(redis)
        self._show("claim + release + ack", done / (end - start), "URIs/s")
        self._show("  server", (used - cpu) / done * 1e6, "us CPU/URI", at_most=15)
        self._show("  append-only file", (full - size) / done, "B/URI")

    async def _looks(self, frontier: Frontier, n: int = 2000) -> None:
        """Time the request of each worker to each partition for expired leases."""
        cpu = await server_cpu(frontier.redis)
        for _ in range(n):
            await frontier.reap()
        used = (await server_cpu(frontier.redis) - cpu) / n / self.crawl.sample
        self._show("look for dead workers, a partition", used * 1e6, "us CPU")

    def _links_of_pages(self, call: int) -> list[Candidate]:
        """Return links to some hosts, most of them to queued URLs."""
        n_each, links = _LINKS_A_CALL // _HOSTS_A_CALL, []
        for known in self._choose.sample(self._known, _HOSTS_A_CALL):
            host = int(known[0].key[1:].partition(".")[0])
            for i in range(n_each):
                is_new = self._choose.random() >= _AGAIN_SHARE
                new = self._link(host, _path(10**6 + call * n_each + i, 35))
                links.append(new if is_new else self._choose.choice(known))
        return links

    @staticmethod
    async def _gauge(redis: Redis) -> tuple[float, float, float]:
        info: Any = await redis.info("persistence")
        cpu = await server_cpu(redis)
        return cpu, time.perf_counter(), float(info["aof_current_size"])


def _path(i: int, length: int) -> str:
    """Return a path of a length that is usual for sites with databases."""
    tail = f"/{i * 7919 % 10**8:08}"
    middle = "/resource/category" * (length // 18 + 1)
    return middle[: length - len(tail)] + tail


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Run all; by default, with a crawl that takes seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--uris", type=float, default=1e8)
    parser.add_argument("--hosts", type=float, default=1e5)
    parser.add_argument("--queued", type=float, default=5e6)
    parser.add_argument("--partitions", type=int, default=256)
    parser.add_argument("--sample", type=int, default=4, help="partitions to fill")
    parser.add_argument("--program", default=None)
    given = parser.parse_args(arguments)
    crawl = Crawl(
        uris=int(given.uris),
        hosts=int(given.hosts),
        queued=int(given.queued),
        partitions=given.partitions,
        sample=given.sample,
    )
    return asyncio.run(Scale(crawl, find_server(given.program)).run())


if __name__ == "__main__":
    sys.exit(judge(main()))
