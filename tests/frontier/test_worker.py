"""One worker's share of a crawl: what it commits, when, and when it is over."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from scrapy.settings import Settings

from rdfcrawl.arguments.crawl import CrawlArguments
from rdfcrawl.errors import StoreFault
from rdfcrawl.frontier.options import CrawlOptions, WorkerOptions
from rdfcrawl.frontier.redis_program import program_version
from rdfcrawl.frontier.redis_retry import RedisRetry
from rdfcrawl.frontier.session import CrawlSession
from rdfcrawl.frontier.worker import FrontierWorker
from rdfcrawl.frontier.worker_state import WorkerHooks
from tests.support.frontier_state import (
    candidates,
    check_frontier,
    expire_leases,
    read_partition,
)
from tests.support.redis_fixtures import RedisServer, frontier_on

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from redis.asyncio import Redis

    from rdfcrawl.frontier.candidate import AddedCounts, Candidate
    from rdfcrawl.frontier.client import Frontier
    from rdfcrawl.records import Record, Visit
    from tests.support.redis_fixtures import MakeFrontier

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
    has_started: bool = True,
    **options: Any,
) -> FrontierWorker:
    """Return a worker that is not opened yet, and commits often."""
    worker = FrontierWorker(
        frontier,
        WorkerOptions(name=name, **{"visits": 4, "commit_secs": 0.05, **options}),
        WorkerHooks(
            flush_stores=flush_stores,
            wake=lambda: None,
            figures=dict,
            account_for=account_for,
        ),
        outage=RedisRetry(),
        take_seeds=no_seeds,
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


async def test_longer_delay_of_a_newcomer_is_kept_by_all(
    make_frontier: MakeFrontier,
) -> None:
    """If a worker with a longer delay joins, then all keep it before it asks a host."""
    quick = await make_frontier(delay_secs=0.1, lease_secs=1.0)
    slow = await make_frontier(delay_secs=0.7, lease_secs=1.0)
    workers = [new_worker(quick, "quick"), new_worker(slow, "slow")]
    await workers[0].open()
    await workers[1].open()
    await slow.add(candidates(slow, [f"https://{n}.example/" for n in range(99)]))
    await next_visit(workers[1])
    assert quick.delay_secs == 0.7
    for worker in workers:
        await worker.close()


async def test_links_after_the_end_are_followed(make_frontier: MakeFrontier) -> None:
    """If somebody offers a link when all was over, then it is not over."""
    frontier = await make_frontier()
    worker = new_worker(frontier)
    await worker.open()
    await until(lambda: worker.is_over)
    worker.links.offer(candidates(frontier, paths(1)))
    assert not worker.is_over
    visit = await next_visit(worker)
    make(visit)
    worker.finish(visit)
    await until(lambda: worker.is_over)
    assert (await frontier.counts()).done == 1
    await worker.close()


class TestCommit:
    """Children are queued, hosts released, stores flushed, visits acknowledged."""

    async def test_the_order(self, make_frontier: MakeFrontier, redis: Redis) -> None:
        """If a visit ends, then add, release, flush and ack come in this order."""
        frontier = await make_frontier()
        leased_at_flush: list[str] = []

        async def flush() -> None:
            state = await read_partition(redis, frontier._prefixes[0])
            leased_at_flush.extend(state.leased_urls())

        await frontier.add(candidates(frontier, paths(2)))
        worker = new_worker(frontier, flush_stores=flush)
        name_of = {digest: n for n, digest in frontier._scripts._digests.items()}
        seen: list[str] = []

        async def watch() -> None:
            async with redis.monitor() as monitor:
                async for command in monitor.listen():
                    words = command["command"].split(" ")
                    if words[0].upper() == "EVALSHA":
                        seen.append(name_of[words[1]])

        watcher = asyncio.create_task(watch())
        await asyncio.sleep(0.05)
        await worker.open()
        visit = await next_visit(worker)
        seen.clear()
        worker.links.offer(candidates(frontier, ["https://b.example/child"]))
        make(visit)
        worker.finish(visit)
        await until(lambda: "ack" in seen)
        order = [name for name in seen if name in ("add", "release", "ack")]
        assert order == ["add", "release", "ack"]
        assert set(paths(2)) <= set(leased_at_flush)
        await worker.close()
        watcher.cancel()
        await asyncio.gather(watcher, return_exceptions=True)
        assert (await frontier.counts()).done == 2
        await check_frontier(frontier)

    async def test_a_flush_that_fails_is_repeated(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a flush fails, then visits stay leased until one succeeds."""
        frontier = await make_frontier(batch=1)
        await frontier.add(candidates(frontier, paths(3)))
        n_flushes, is_broken = 0, True

        async def flush() -> None:
            nonlocal n_flushes
            n_flushes += 1
            if is_broken:
                raise StoreFault("disk full")

        worker = new_worker(frontier, flush_stores=flush)
        await worker.open()
        for _ in range(3):
            visit = await next_visit(worker)
            make(visit)
            worker.finish(visit)
        await until(lambda: n_flushes >= 3)
        counts = await frontier.counts()
        assert (counts.done, counts.leased) == (0, 3)
        assert not worker.is_over
        is_broken = False
        await until(lambda: worker.is_over)
        assert (await frontier.counts()).done == 3
        await worker.close()
        await check_frontier(frontier)

    async def test_leases_are_renewed_during_a_long_flush(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a flush takes longer than a lease, then no lease is lost by it."""
        frontier = await make_frontier(batch=1, lease_secs=0.8)
        await frontier.add(candidates(frontier, paths(1)))

        async def flush() -> None:
            await asyncio.sleep(1.2)

        worker = new_worker(frontier, flush_stores=flush)
        await worker.open()
        visit = await next_visit(worker)
        worker.finish(visit)
        await until(lambda: worker.is_over)
        assert (await frontier.counts()).done == 1
        (state,) = await check_frontier(frontier)
        assert state.hosts["a.example"]["ep"] == str(visit.epoch), "claimed once"
        await worker.close()

    async def test_the_ack_waits_for_the_lag(self, make_frontier: MakeFrontier) -> None:
        """If there is a lag, then a flushed visit is acknowledged after it."""
        frontier = await make_frontier()
        await frontier.add(candidates(frontier, paths(1)))
        flushed = asyncio.Event()

        async def flush() -> None:
            flushed.set()

        worker = new_worker(frontier, flush_stores=flush, ack_lag_secs=0.8)
        await worker.open()
        worker.finish(await next_visit(worker))
        await asyncio.wait_for(flushed.wait(), LONGEST_SECS)
        await asyncio.sleep(0.2)
        assert (await frontier.counts()).leased == 1
        await until(lambda: worker.is_over)
        assert (await frontier.counts()).done == 1
        await worker.close()

    async def test_a_released_host_is_visited_before_the_commit(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a commit takes long, then the host's next visit does not wait for it."""
        frontier = await make_frontier(batch=1)
        await frontier.add(candidates(frontier, paths(3)))
        may_end = asyncio.Event()

        async def flush() -> None:
            if not may_end.is_set():
                raise StoreFault("not yet")

        worker = new_worker(frontier, flush_stores=flush)
        await worker.open()
        urls = []
        for _ in range(3):
            visit = await next_visit(worker)
            urls += make(visit)
            worker.finish(visit)
        assert urls == paths(3)
        may_end.set()
        await until(lambda: worker.is_over)
        await worker.close()


class TestClose:
    """The end of a worker that is asked to stop."""

    async def test_what_was_not_begun_goes_back(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a worker stops, then what it did not finish is queued at once."""
        frontier = await make_frontier(batch=2, partitions=2)
        urls = [url for host in "abcd" for url in paths(2, f"{host}.example")]
        await frontier.add(candidates(frontier, urls))
        worker = new_worker(frontier)
        await worker.open()
        finished = await next_visit(worker)
        begun = await next_visit(worker)
        await until(lambda: worker.n_visits == 3)
        worker.links.offer(candidates(frontier, ["https://e.example/child"]))
        worker.finish(finished)
        await worker.close()
        counts = await frontier.counts()
        assert (counts.done, counts.queued, counts.leased) == (2, 7, 0)
        states = await check_frontier(frontier)
        queued = {url for state in states for url in state.queued_urls()}
        assert queued == {*urls, "https://e.example/child"} - set(make(finished))
        assert set(make(begun)) <= queued
        visits, _ = await frontier.claim([0, 1], most_keys=9)
        assert {record.lost for visit in visits for record in visit.records} == {0}
        assert await frontier.live_workers() == []

    async def test_what_is_not_stored_is_not_acknowledged(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If the last flush fails, then the visit is crawled again."""
        frontier = await make_frontier()
        await frontier.add(candidates(frontier, paths(2)))

        async def flush() -> None:
            raise StoreFault("disk full")

        worker = new_worker(frontier, flush_stores=flush)
        await worker.open()
        worker.finish(await next_visit(worker))
        await worker.close()
        counts = await frontier.counts()
        assert (counts.done, counts.leased) == (0, 2)
        await expire_leases(frontier)
        assert await frontier.reap() == (1, 2, 0)
        await check_frontier(frontier)

    async def test_a_worker_that_waits_for_seeds_stops_at_once(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a worker is idle until a late end, then it leaves when it is asked to."""
        worker = new_worker(await make_frontier(), idle_secs=60.0)
        await worker.open()
        await asyncio.sleep(0.5)
        await asyncio.wait_for(worker.close(), 30.0)
        assert not worker.is_over


class TestBounds:
    """What a worker does while Redis takes nothing."""

    async def test_a_full_buffer_stops_visits_and_producers(
        self, make_frontier: MakeFrontier, redis: Redis
    ) -> None:
        """If links cannot be sent, then visits and producers wait."""
        frontier = await make_frontier()
        await frontier.add(candidates(frontier, paths(1)))
        worker = new_worker(frontier, max_buffered=100)
        await worker.open()
        await until(lambda: worker.n_visits == 1)
        await redis.client_pause(1500, all=False)
        worker.links.offer(candidates(frontier, paths(101, "b.example")))
        waiting = asyncio.create_task(worker.links.room())
        await asyncio.sleep(0.25)
        assert worker.next_visit() is None
        assert worker.links.n_waiting == 101
        assert not waiting.done()
        await asyncio.wait_for(waiting, LONGEST_SECS)
        assert worker.links.n_waiting <= 50
        assert worker.next_visit() is not None
        await worker.close()
        await check_frontier(frontier)

    async def test_links_that_wait_for_memory_keep_the_crawl_open(
        self, make_frontier: MakeFrontier, redis: Redis
    ) -> None:
        """If links wait for memory, then the crawl is not over."""
        frontier = await make_frontier()
        worker = new_worker(frontier, has_started=False)
        await worker.open()
        await redis.config_set("maxmemory", 1)
        worker.links.offer(candidates(frontier, paths(1)))
        worker.has_started = True
        await asyncio.sleep(0.8)
        assert not worker.is_over
        await redis.config_set("maxmemory", 0)
        visit = await next_visit(worker)
        assert make(visit) == paths(1)
        worker.finish(visit)
        await until(lambda: worker.is_over)
        await worker.close()
        await check_frontier(frontier)

    async def test_an_idle_worker_goes_on_claiming_while_memory_is_full(
        self, make_frontier: MakeFrontier, redis: Redis
    ) -> None:
        """If memory fills up while all hosts rest, then they are visited in time."""
        frontier = await make_frontier(batch=1)
        await frontier.add(candidates(frontier, paths(2)))
        worker = new_worker(frontier)
        await worker.open()
        visit = await next_visit(worker)
        visit.not_before_secs = 0.8
        worker.finish(visit)
        await redis.config_set("maxmemory", 1)
        assert make(await next_visit(worker)) == paths(2)[1:]
        await redis.config_set("maxmemory", 0)
        await worker.close()

    async def test_leases_are_renewed_while_memory_is_full(
        self, make_frontier: MakeFrontier, redis: Redis
    ) -> None:
        """If memory is full for longer than a lease, then no visit is lost by it."""
        frontier = await make_frontier(lease_secs=1.5)
        await frontier.add(candidates(frontier, paths(1)))
        worker = new_worker(frontier)
        await worker.open()
        visit = await next_visit(worker)
        await redis.config_set("maxmemory", 1)
        await asyncio.sleep(2.0)
        assert await frontier.reap() == (0, 0, 0)
        await redis.config_set("maxmemory", 0)
        worker.finish(visit)
        await until(lambda: worker.is_over)
        assert worker.committer.lost_leases == 0
        assert (await frontier.counts()).done == 1
        await worker.close()

    async def test_a_repeat_is_told_at_once(self, make_frontier: MakeFrontier) -> None:
        """If a URI is marked as seen, then a worker knows whether it was new."""
        frontier = await make_frontier()
        worker = new_worker(frontier)
        (candidate,) = candidates(frontier, paths(1))
        mark = candidate._replace(item=b"k")
        assert await worker.links.mark_seen(mark)
        assert not await worker.links.mark_seen(mark)

    async def test_a_mark_whose_answer_is_lost_is_new(
        self, make_frontier: MakeFrontier, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """If Redis goes away before it says that a URI is new, then it is new."""
        frontier = await make_frontier()
        worker = new_worker(frontier)
        (candidate,) = candidates(frontier, paths(1))
        add, n_calls = frontier.add, 0

        async def add_and_break(marks: Sequence[Candidate]) -> AddedCounts:
            nonlocal n_calls
            n_calls += 1
            added = await add(marks)
            if n_calls == 1:
                raise RedisConnectionError("closed by server")
            return added

        monkeypatch.setattr(frontier, "add", add_and_break)
        assert await worker.links.mark_seen(candidate._replace(item=b"k"))
        assert n_calls == 2


class TestLostLeases:
    """A worker that was cut off for longer than a lease."""

    async def test_what_was_not_begun_does_not_begin(
        self, make_frontier: MakeFrontier, caplog: pytest.LogCaptureFixture
    ) -> None:
        """If leases are lost, then their visits are dropped or stop."""
        frontier = await make_frontier(batch=2, lease_secs=0.6, delay_secs=30.0)
        hosts = [f"{host}.example" for host in "abcd"]
        urls = [url for host in hosts for url in paths(2, host)]
        await frontier.add(candidates(frontier, urls))
        worker = new_worker(frontier, has_started=False)
        await worker.open()
        active = await next_visit(worker)
        assert active.pending
        await until(lambda: worker.n_visits == 4)
        n = 0
        while n < 4:  # the worker may renew between the two
            await expire_leases(frontier)
            n += (await frontier.reap())[0]
        await until(lambda: worker.n_visits == 1)
        assert active.pending == []
        assert active.is_lost
        assert "lost 4 leases" in caplog.text
        worker.finish(active)
        await until(lambda: worker.committer.lost_leases == 1)
        await worker.close()
        counts = await frontier.counts()
        assert (counts.queued, counts.leased, counts.done) == (8, 0, 0)
        await check_frontier(frontier)

    async def test_a_dead_workers_uris_are_taken_over(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a worker dies in a visit, then another one makes it in time."""
        frontier = await make_frontier(lease_secs=0.5)
        await frontier.add(candidates(frontier, paths(2)))
        dead, _ = await frontier.claim([0], most_keys=1)
        assert len(dead) == 1
        worker = new_worker(frontier)
        await worker.open()
        urls = []
        for _ in range(2):
            visit = await next_visit(worker)
            assert [record.lost for record in visit.records] == [1]
            urls += make(visit)
            worker.finish(visit)
        assert urls == paths(2)
        await until(lambda: worker.is_over)
        await worker.close()
        await check_frontier(frontier)


class Site:
    """A tree of pages on several hosts, and the workers that crawl it."""

    def __init__(self, frontier: Frontier, depth: int) -> None:
        self.frontier = frontier
        self.depth = depth
        self.visited: list[str] = []
        self.working = 0
        self.over_too_early = False

    def children(self, url: str) -> list[str]:
        """Return the links of a page: two more digits at its end."""
        digits = url.rpartition("/")[2]
        if len(digits) >= self.depth:
            return []
        return [f"https://h{int(digits, 2) % 9}.example/{digits}{d}" for d in "01"]

    def all_urls(self) -> list[str]:
        """Return every page, from the root on."""
        urls = ["https://h0.example/0"]
        for url in urls:
            urls += self.children(url)
        return urls

    async def crawl(self, worker: FrontierWorker) -> None:
        """Make visits until the worker says that the crawl is over."""
        async with asyncio.timeout(LONGEST_SECS):
            while not worker.is_over:
                visit = worker.next_visit()
                if visit is None:
                    await asyncio.sleep(0.003)
                    continue
                self.working += 1
                await asyncio.sleep(0.02)
                for url in make(visit):
                    self.visited.append(url)
                    worker.links.offer(candidates(self.frontier, self.children(url)))
                self.working -= 1
                worker.finish(visit)
        self.over_too_early |= self.working > 0


class TestEnd:
    """When a crawl is over."""

    async def test_not_before_the_seeds_are_in(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If the spider still hands in seeds, then an empty frontier is not the end."""
        frontier = await make_frontier()
        worker = new_worker(frontier, has_started=False)
        await worker.open()
        await asyncio.sleep(0.5)
        assert not worker.is_over
        worker.has_started = True
        await until(lambda: worker.is_over)
        await worker.close()

    async def test_nothing_waits_for_a_later_look(
        self, make_frontier: MakeFrontier, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """If seeds are handed in, then they are visited at once, and all is over."""
        claimer = "rdfcrawl.frontier.claimer"
        monkeypatch.setattr(f"{claimer}._BACK_OFF_SECS", (1e3, 1e3))
        for module in (claimer, "rdfcrawl.frontier.committer"):
            monkeypatch.setattr(f"{module}.LOOK_AGAIN_SECS", 1e3)
        frontier = await make_frontier()
        worker = new_worker(frontier, has_started=False)
        await worker.open()
        await asyncio.sleep(0.1)  # it has looked, and found nothing
        seeds = candidates(frontier, paths(1))
        await frontier.add(seeds)
        worker.links.added_at_once(seeds)
        visit = await next_visit(worker)
        worker.has_started = True
        worker.finish(visit)
        await until(lambda: worker.is_over)
        await worker.close()

    async def test_not_while_another_worker_visits(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If another worker visits, then this one waits for what it finds."""
        frontier = await make_frontier()
        await frontier.add(candidates(frontier, paths(1)))
        busy, idle = new_worker(frontier, "busy"), new_worker(frontier, "idle")
        await busy.open()
        visit = await next_visit(busy)
        await idle.open()
        await asyncio.sleep(0.6)
        assert not idle.is_over
        busy.links.offer(candidates(frontier, ["https://b.example/child"]))
        busy.finish(visit)
        async with asyncio.timeout(LONGEST_SECS):
            while True:
                for worker in (busy, idle):
                    if child := worker.next_visit():
                        worker.finish(child)
                if busy.is_over and idle.is_over:
                    break
                await asyncio.sleep(0.005)
        assert (await frontier.counts()).done == 2
        await busy.close()
        await idle.close()

    async def test_it_waits_for_the_idle_time(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If an idle time is set, then the crawl stays open, and takes what comes."""
        frontier = await make_frontier()
        worker = new_worker(frontier, idle_secs=0.8)
        await worker.open()
        await asyncio.sleep(0.5)
        assert not worker.is_over
        await frontier.add(candidates(frontier, paths(1)))
        worker.finish(await next_visit(worker))
        await until(lambda: worker.is_over)
        await worker.close()

    @pytest.mark.parametrize("n_workers", [1, 2, 3])
    async def test_workers_share_a_crawl_and_end_together(
        self, make_frontier: MakeFrontier, n_workers: int
    ) -> None:
        """If workers share a crawl, then each page is visited once to the end."""
        frontier = await make_frontier(partitions=4, batch=3)
        site = Site(frontier, depth=7)
        workers = [new_worker(frontier, f"w{i}") for i in range(n_workers)]
        await frontier.add(candidates(frontier, ["https://h0.example/0"]))
        for worker in workers:
            await worker.open()
        await asyncio.gather(*map(site.crawl, workers))
        assert sorted(site.visited) == sorted(site.all_urls())
        assert not site.over_too_early
        for worker in workers:
            await worker.close()
        counts = await frontier.counts()
        assert counts.done == counts.seen == len(site.visited)
        assert sum(worker.added.new for worker in workers) == counts.seen - 1
        await check_frontier(frontier)


class TestStartUrls:
    """Seeds that are pushed to a running crawl, as scrapy-redis has it."""

    @pytest.mark.parametrize("kind", ["list", "set", "zset"])
    async def test_they_are_taken(
        self,
        redis: Redis,
        redis_server: RedisServer,
        tmp_path: Path,
        kind: str,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        """If seeds are pushed while the crawl runs, then each is visited once."""
        settings = Settings()
        settings.setmodule("rdfcrawl.settings")
        settings.setdict({"REDIS_URL": redis_server.url, "CRAWL_DIR": str(tmp_path)})
        settings.setdict({"SCHEDULER_IDLE_BEFORE_CLOSE": 30, "DOWNLOAD_DELAY": 0})
        options = CrawlOptions.from_settings(settings, "c")
        session = await CrawlSession.join(
            options,
            CrawlArguments(),
            settings,
            WorkerHooks(
                flush_stores=nothing,
                wake=lambda: None,
                figures=dict,
                account_for=account_for,
            ),
        )
        session.worker.has_started = True
        await asyncio.sleep(0.3)
        entries = [
            "https://a.example/1",
            json.dumps({"url": "https://b.example/2", "meta": {"n": 1}}),
            "https://a.example/1#again",
            "nonsense",
            json.dumps({"url": "https://b.example/3"}),
        ]
        name = "c:start_urls"
        if kind == "list":
            await redis.rpush(name, *entries)
        elif kind == "set":
            await redis.sadd(name, *entries)
        else:
            await redis.zadd(name, {entry: i for i, entry in enumerate(entries)})
        urls: list[str] = []
        while len(urls) < 3:
            visit = await next_visit(session.worker)
            urls += make(visit)
            session.worker.finish(visit)
        assert sorted(urls) == [
            "https://a.example/1",
            "https://b.example/2",
            "https://b.example/3",
        ]
        assert "nonsense" in caplog.text
        await session.worker.close()
        assert await redis.exists(name) == 0
        await check_frontier(session.frontier)
        await session.close()


@pytest.fixture
def durable_server(redis_program: str) -> Iterator[RedisServer]:
    """Yield a server that keeps what it acknowledged, as the embedded one does.

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
    await asyncio.sleep(0.5)
    before = await frontier.counts()
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
    assert counts.done >= before.done > 0
    assert counts.seen == counts.done == len(traffic.visited)
    await check_frontier(frontier)
    taken = sorted(traffic.acknowledged)
    assert (await frontier.add(candidates(frontier, taken))).seen == len(taken)
    await traffic.worker.close()
    await redis.aclose()
