"""One worker's share of a crawl: commits and their times."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import StoreFault
from tests.support.frontier_state import (
    candidates,
    check_frontier,
    expire_leases,
    read_partition,
    sorted_set,
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
    import pytest
    from redis.asyncio import Redis

    from rdfcrawl.frontier.queue.frontier_client import Frontier
    from rdfcrawl.frontier.worker.worker import FrontierWorker
    from tests.support.redis_fixtures import MakeFrontier


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
    await workers[0].leases.confirm()  # as it does before any request
    assert quick.delays.secs == 0.7
    for worker in workers:
        await worker.close()


async def test_worker_that_was_silent_confirms_the_delay(
    make_frontier: MakeFrontier,
) -> None:
    """If a worker was not heard of for long, it learns the delay before it asks."""
    quick = await make_frontier(delay_secs=0.1)
    slow = await make_frontier(delay_secs=0.7)
    worker = new_worker(quick, "quick")
    await worker.leases.beat()
    await slow.beat("slow", {})
    await worker.leases.confirm()
    assert quick.delays.secs == 0.1  # `slow` waits for it
    worker.heard_until = 0.0
    await worker.leases.confirm()
    assert quick.delays.secs == 0.7
    worker.stopping.set()


async def test_links_after_the_end_are_followed(make_frontier: MakeFrontier) -> None:
    """If a link is offered when all was over, then it is not over."""
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


async def lagging_worker(frontier: Frontier) -> tuple[FrontierWorker, float]:
    """Return a worker that has just stored a visit, and when; its ack lag is 0.8 s."""
    flushed = asyncio.Event()

    async def flush() -> None:
        flushed.set()

    worker = new_worker(frontier, flush_stores=flush, ack_lag_secs=0.8)
    await worker.open()
    worker.finish(await next_visit(worker))
    began = monotonic()
    await asyncio.wait_for(flushed.wait(), LONGEST_SECS)
    return worker, began


async def age_leases(frontier: Frontier, secs: float) -> None:
    """Let time pass for the leases of a partition; wait until they are renewed."""
    (prefix,), redis = frontier._prefixes, frontier.redis
    name = f"{prefix}:lease"
    ((member, until_ms),) = (await sorted_set(redis, name)).items()
    await redis.zincrby(name, -1000 * secs, member)
    async with asyncio.timeout(LONGEST_SECS):
        while (await sorted_set(redis, name))[member] < until_ms:  # noqa: ASYNC110
            await asyncio.sleep(0.005)


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
        name_of = {digest: n for n, digest in frontier.scripts._digests.items()}
        seen: list[str] = []

        watches = asyncio.Event()

        async def watch() -> None:
            async with redis.monitor() as monitor:
                watches.set()
                async for command in monitor.listen():
                    words = command["command"].split(" ")
                    if words[0].upper() == "EVALSHA":
                        seen.append(name_of[words[1]])

        watcher = asyncio.create_task(watch())
        await watches.wait()
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
        self, make_frontier: MakeFrontier, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """If a flush takes longer than a lease, then no lease is lost by it."""
        monkeypatch.setattr("rdfcrawl.frontier.worker.worker.BEAT_SECS", 0.05)
        frontier = await make_frontier(batch=1, lease_secs=300.0)
        await frontier.add(candidates(frontier, paths(1)))
        n_back: list[int] = []

        async def flush() -> None:
            for _ in range(0 if n_back else 2):
                await age_leases(frontier, secs=200.0)
                n_back.extend((await frontier.reap())[:2])

        worker = new_worker(frontier, flush_stores=flush)
        await worker.open()
        visit = await next_visit(worker)
        worker.finish(visit)
        await until(lambda: worker.is_over)
        assert (await frontier.counts()).done == 1
        (state,) = await check_frontier(frontier)
        assert state.hosts["a.example"]["ep"] == str(visit.epoch), "claimed once"
        assert n_back == [0, 0] * 2
        await worker.close()

    async def test_the_ack_waits_for_the_lag(self, make_frontier: MakeFrontier) -> None:
        """If there is a lag, then a flushed visit is acknowledged after it."""
        frontier = await make_frontier()
        await frontier.add(candidates(frontier, paths(1)))
        worker, began = await lagging_worker(frontier)
        await asyncio.sleep(0.2)
        n_leased = (await frontier.counts()).leased
        assert n_leased == 1 or monotonic() - began >= 0.8
        await until(lambda: worker.is_over)
        assert (await frontier.counts()).done == 1
        await worker.close()

    async def test_a_worker_that_ends_waits_for_the_lag(
        self, make_frontier: MakeFrontier
    ) -> None:
        """If a worker ends within the lag, then its stored URIs are done after it."""
        frontier = await make_frontier()
        await frontier.add(candidates(frontier, paths(2)))
        worker, began = await lagging_worker(frontier)
        await worker.close()
        assert monotonic() - began >= 0.8
        assert (await frontier.counts()).done == 2

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
        """If a worker stops, then its unfinished URIs are queued now."""
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
        """If the last flush fails, then the URIs of the visit are queued again."""
        frontier = await make_frontier()
        await frontier.add(candidates(frontier, paths(2)))

        async def flush() -> None:
            raise StoreFault("disk full")

        worker = new_worker(frontier, flush_stores=flush)
        await worker.open()
        worker.finish(await next_visit(worker))
        await worker.close()
        counts = await frontier.counts()
        assert (counts.done, counts.leased, counts.queued) == (0, 0, 2)
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


async def test_worker_that_leaves_keeps_the_refusals_of_hosts(
    make_frontier: MakeFrontier,
) -> None:
    """If a worker ends before it visits a host again, the host still owes its URIs."""
    frontier = await make_frontier()
    await frontier.add(candidates(frontier, paths(3)))
    worker = new_worker(frontier)
    await worker.open()
    visit = await next_visit(worker)
    visit.returned = dict(enumerate(visit.records))
    visit.host_refused = True
    worker.finish(visit)
    again = await next_visit(worker)
    assert again.failures == 1
    await worker.close()
    assert worker.n_owed == 3
    assert (await frontier.owed.list(1)).n_uris == 3
