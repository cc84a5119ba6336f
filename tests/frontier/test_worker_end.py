"""When a crawl is over, for one worker and for several."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest
from scrapy.settings import Settings

from rdfcrawl.frontier.arguments.crawl import CrawlArguments
from rdfcrawl.frontier.queue.options import CrawlOptions
from rdfcrawl.frontier.session import CrawlSession
from rdfcrawl.frontier.worker.worker_state import WorkerHooks
from tests.support.frontier_state import (
    candidates,
    check_frontier,
)
from tests.support.frontier_workers import (
    LONGEST_SECS,
    account_for,
    make,
    new_worker,
    next_visit,
    nothing,
    paths,
    until,
)

if TYPE_CHECKING:
    from pathlib import Path

    from redis.asyncio import Redis

    from rdfcrawl.frontier.queue.frontier_client import Frontier
    from rdfcrawl.frontier.worker.worker import FrontierWorker
    from tests.support.redis_fixtures import MakeFrontier, RedisServer


class StoppedClock:
    """A clock that goes on when a test says so."""

    def __init__(self) -> None:
        self.secs = 0.0
        self._n_readings = 0

    def __call__(self) -> float:
        """Return the time."""
        self._n_readings += 1
        return self.secs

    async def read_again(self) -> None:
        """Wait until the pending tasks have begun and ended."""
        enough = self._n_readings + 3
        await until(lambda: self._n_readings >= enough)


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
        tasks = "rdfcrawl.frontier.worker.visit_tasks"
        monkeypatch.setattr(f"{tasks}._BACK_OFF_SECS", (1e3, 1e3))
        monkeypatch.setattr(f"{tasks}._LOOK_AGAIN_SECS", 1e3)
        frontier = await make_frontier()
        worker = new_worker(frontier, has_started=False)
        await worker.open()
        await asyncio.sleep(0.1)  # it has looked, and found nothing
        seeds = candidates(frontier, paths(1))
        await frontier.add(seeds)
        worker.links.note_added(seeds)
        visit = await next_visit(worker)
        worker.has_started = True
        worker.finish(visit)
        await until(lambda: worker.is_over)
        await worker.close()

    async def test_not_while_another_worker_visits(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If another worker visits, then this one waits for its links."""
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
        self, make_frontier: MakeFrontier, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """If an idle time is set, then the crawl stays open, and takes new seeds."""
        clock = StoppedClock()
        monkeypatch.setattr("rdfcrawl.frontier.worker.worker.monotonic", clock)
        frontier = await make_frontier()
        worker = new_worker(frontier, idle_secs=3600.0)
        await worker.open()
        await clock.read_again()
        clock.secs += 3599.0
        await clock.read_again()
        assert not worker.is_over
        await frontier.add(candidates(frontier, paths(1)))
        worker.finish(await next_visit(worker))
        await clock.read_again()
        assert not worker.is_over

        def is_over_later() -> bool:
            clock.secs += 3600.0
            return worker.is_over

        await until(is_over_later)
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
