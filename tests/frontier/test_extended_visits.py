"""Visits that go on with links of their hosts to themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.records import Record
from rdfcrawl.core.visits import Visit
from tests.support.frontier_claims import add, claim, claim_one, urls_of
from tests.support.frontier_state import candidates, check_frontier
from tests.support.frontier_workers import make, new_worker, next_visit, paths, until

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from rdfcrawl.frontier.queue.frontier_client import Frontier
    from tests.support.redis_fixtures import MakeFrontier


async def _with_links(frontier: Frontier, n: int) -> tuple[Visit, list[str]]:
    """Return a visit of one URL whose host has further ones, and all of them."""
    first = await add(frontier, 1)
    visit = await claim_one(frontier)
    urls = [*first, *(f"https://a.example/later/{i}" for i in range(n))]
    await frontier.add(candidates(frontier, urls))
    return visit, urls


@pytest.mark.every_server
class TestExtend:
    """What a leased host gives to its visit."""

    @pytest.mark.parametrize("n", [1, 3, 9])
    async def test_links_join_the_batch(
        self, make_frontier: MakeFrontier, redis: Redis, n: int
    ) -> None:
        """If a visit goes on, it has what was queued, and may put any of that back.

        A full server is no obstacle.
        """
        frontier = await make_frontier(batch=5)
        visit, urls = await _with_links(frontier, n)
        told_twice = replace(visit, pending=[])
        await redis.config_set("maxmemory", 1)
        assert await frontier.extend([visit]) == [visit]
        assert await frontier.extend([told_twice]) == [told_twice]
        await redis.config_set("maxmemory", 0)
        assert told_twice.records == visit.records
        assert told_twice.pending == visit.pending[1:]
        assert urls_of(visit) == urls[:5]
        assert visit.pending == list(range(len(visit.records)))
        await check_frontier(frontier)
        visit.returned[1] = visit.records[1]
        assert await frontier.release([visit]) == 0
        assert await frontier.ack([visit]) == 0
        await check_frontier(frontier)
        rest = await claim_one(frontier)
        assert urls_of(rest) == [urls[1], *urls[5:]][:5]
        assert (await frontier.counts()).done == len(visit.records) - 1

    async def test_some_hosts_give_nothing(
        self, make_frontier: MakeFrontier, redis: Redis
    ) -> None:
        """If a host is paused, has a delay, or is leased again, it gives nothing."""
        frontier = await make_frontier()
        visit, _ = await _with_links(frontier, 1)
        name = f"{frontier._prefixes[0]}:h:a.example"
        for field in ("p", "d", "od"):
            await redis.hset(name, field, 1)
            assert await frontier.extend([visit]) == []
            await redis.hdel(name, field)
        assert await frontier.extend([replace(visit, epoch=1)]) == []
        assert await frontier.extend([visit]) == [visit]
        assert await frontier.extend([visit]) == []  # no more is queued

    async def test_server_may_lose_it(
        self, make_frontier: MakeFrontier, redis: Redis
    ) -> None:
        """If the server loses its last writes, then the added URI is in its queue."""
        frontier = await make_frontier()
        visit, urls = await _with_links(frontier, 1)
        kept = {name: await redis.dump(name) async for name in redis.scan_iter("*/0*")}
        assert await frontier.extend([visit]) == [visit]
        async for name in redis.scan_iter("*/0*"):
            await redis.delete(name)
        for name, value in kept.items():
            await redis.restore(name, 0, value or b"")
        await frontier.add(candidates(frontier, [f"{urls[1]}/next"]))
        assert await frontier.extend([visit]) == []
        visit.returned = dict(enumerate(visit.records))
        assert await frontier.release([visit]) == 0
        await check_frontier(frontier)
        assert await frontier.ack([visit]) == 0
        (again,) = await claim(frontier)
        assert urls_of(again) == [*urls, f"{urls[1]}/next"]


_RECORD = Record("https://a.example/")


@pytest.mark.parametrize(
    "changes",
    [
        {"is_answering": False},
        {"failures": 1},
        {"suspected": "https://a.example/"},
        {"refused": "https://a.example/"},
        {"returned": {0: _RECORD}},
        {"failed": [0]},
        {"outlinks": [_RECORD]},
        {"known": ["https://a.example/"]},
        {"is_of_crowd": True},
        {"is_scheduled": True},
        {"open_until": 1.0},
        {"records": (replace(_RECORD, change="1"),)},
        {"host_refused": True},
        {"is_lost": True},
        {"is_unrequested": True},
        {"claimed_delay_secs": 1.0},
        {"delay_secs": 1.0},
        {"not_before_secs": 1.0},
    ],
)
def test_other_visits_end(changes: dict[str, object]) -> None:
    """If anything but success is known of a visit, or it has a delay, it ends."""
    visit = Visit(
        key="a.example",
        partition=0,
        epoch=1,
        records=(_RECORD,),
        delay_secs=0.0,
        is_answering=True,
    )
    assert visit.may_go_on
    assert not replace(visit, **changes).may_go_on  # type: ignore[arg-type]


async def test_worker_that_stops_keeps_what_was_done(
    make_frontier: MakeFrontier,
) -> None:
    """If a worker stops amid a visit that went on, it puts back the new URIs alone."""
    frontier = await make_frontier()
    urls = paths(3)
    await frontier.add(candidates(frontier, urls[:1]))
    worker = new_worker(frontier, commit_secs=60.0)
    await worker.open()
    visit = await next_visit(worker)
    for is_last in (False, True):
        make(visit)
        visit.is_answering = True
        worker.links.offer(candidates(frontier, urls[1 + is_last :][:1]))
        worker.finish(visit)
        if not is_last:
            assert await next_visit(worker) is visit
    await until(lambda: bool(worker.ready))
    await worker.close()
    await check_frontier(frontier)
    counts = await frontier.counts()
    assert (counts.done, counts.queued) == (2, 1)


@pytest.mark.parametrize("is_drained", [True, False])
async def test_visit_ends(make_frontier: MakeFrontier, *, is_drained: bool) -> None:
    """If a worker is drained, or a visit has taken long, it does not go on."""
    frontier = await make_frontier()
    urls = paths(2)
    await frontier.add(candidates(frontier, urls[:1]))
    worker = new_worker(frontier, commit_secs=60.0)
    await worker.open()
    visit = await next_visit(worker)
    make(visit)
    visit.is_answering = True
    worker.is_drained = is_drained
    visit.began_at -= 0.0 if is_drained else 60.0
    worker.links.offer(candidates(frontier, urls[1:]))
    worker.finish(visit)
    await until(lambda: not worker.finished)
    assert len(visit.records) == 1
    await worker.close()


async def test_visit_goes_on(make_frontier: MakeFrontier) -> None:
    """If documents of a host without delay lead to each other, one visit has them."""
    frontier = await make_frontier(batch=3)
    urls = paths(5)
    await frontier.add(candidates(frontier, urls[:1]))
    worker = new_worker(frontier, commit_secs=60.0)
    await worker.open()
    found: list[Visit] = []
    for url in urls[1:]:
        visit = await next_visit(worker)
        found.append(visit)
        assert len(visit.pending) == 1
        make(visit)
        visit.is_answering = True
        worker.links.offer(candidates(frontier, [url, urls[0]]))
        worker.finish(visit)
    assert found[0] is found[1] is found[2] is not found[3]
    last = await next_visit(worker)
    assert last is found[3]
    make(last)
    last.not_before_secs = 60.0
    worker.links.offer(candidates(frontier, paths(1, "a.example/last")))
    worker.finish(last)
    await until(lambda: last not in worker.finished)
    assert not worker.ready
    assert len(last.records) == 2
    await worker.close()
    counts = await frontier.counts()
    assert (counts.done, counts.queued) == (5, 1)
