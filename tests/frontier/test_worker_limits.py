"""Full buffers and full memory of Redis, as a worker meets them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from redis.exceptions import ConnectionError as RedisConnectionError

from rdfcrawl.frontier.queue.candidate import poll_plan
from rdfcrawl.frontier.request_turns import steady_time
from tests.support.frontier_state import (
    candidates,
    check_frontier,
)
from tests.support.frontier_workers import (
    LONGEST_SECS,
    make,
    new_worker,
    next_visit,
    paths,
    until,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest
    from redis.asyncio import Redis

    from rdfcrawl.frontier.queue.candidate import AddedCounts, Candidate
    from tests.support.redis_fixtures import MakeFrontier


class TestBounds:
    """A worker while Redis refuses writes."""

    async def test_a_full_buffer_stops_visits_and_producers(
        self, make_frontier: MakeFrontier, redis: Redis
    ) -> None:
        """If links cannot be sent, then visits and producers wait."""
        frontier = await make_frontier()
        await frontier.add(candidates(frontier, paths(1)))
        worker = new_worker(frontier, max_buffered=100)
        await worker.open()
        await until(lambda: worker.n_visits == 1)
        await redis.client_pause(600_000, all=False)
        worker.links.offer(candidates(frontier, paths(101, "b.example")))
        waiting = asyncio.create_task(worker.links.room())
        await asyncio.sleep(0.25)
        assert worker.next_visit() is None
        assert worker.links.n_waiting == 101
        assert not waiting.done()
        await redis.client_unpause()
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
        await until(lambda: worker.leases_until > steady_time() + 0.9)
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


async def test_what_another_spider_is_to_do_comes_to_its_worker(
    make_frontier: MakeFrontier,
) -> None:
    """If a worker puts back requests of another spider, then others get it soon."""
    frontier = await make_frontier(partitions=16)
    names = ["m-1-a", "m-2-b"]
    workers = [new_worker(frontier, name) for name in names]
    (url,) = paths(1)
    (partition,) = {each.partition for each in candidates(frontier, [url])}
    live = tuple(names)
    workers.sort(key=lambda x: partition in poll_plan(x.options.name, live, 16).home)
    own, other = workers  # at home there is the one that cannot do it
    for worker in workers:
        worker.has_other_spiders = True
        await worker.open()
    await until(lambda: all(len(worker.live) == 2 for worker in workers))
    await frontier.add(candidates(frontier, [url]))
    n_given_back = 0
    async with asyncio.timeout(LONGEST_SECS):
        while not own.ready:
            if other.ready and (left := other.next_visit()):
                left.give_back()
                left.not_before_secs = 0.5
                other.finish(left)
                n_given_back += 1
            await asyncio.sleep(0.005)
    assert n_given_back < 20  # each time, both are as likely to be the first
    visit = await next_visit(own)
    assert make(visit) == [url]
    own.finish(visit)
    for worker in workers:
        await worker.close()
