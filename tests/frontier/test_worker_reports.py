"""Reports of workers stay, and are counted once, after their end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from rdfcrawl.frontier.queue.worker_reports import ENDED, GONE_AFTER_SECS, MAX_REPORTS
from rdfcrawl.frontier.request_turns import steady_time
from tests.support.frontier_workers import new_worker

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from rdfcrawl.frontier.queue.frontier_client import Frontier
    from tests.support.redis_fixtures import MakeFrontier

SEEN: Final = "document/seen"


async def total(frontier: Frontier) -> float:
    """Return how many documents all workers have seen."""
    return sum(each.get(SEEN, 0) for each in (await frontier.figures()).values())


async def make_old(frontier: Frontier, worker: str) -> None:
    """Have a worker silent for longer than a day."""
    at = (await frontier.redis.time())[0] - GONE_AFTER_SECS - 1
    await frontier.redis.zadd(frontier.key("workers"), {worker: at})


async def test_reports_are_as_many_as_workers_of_a_day(
    make_frontier: MakeFrontier, redis: Redis
) -> None:
    """If workers leave or die for months, then their reports are one, with all sums."""
    frontier = await make_frontier()
    for n in range(MAX_REPORTS):
        await frontier.beat(f"w{n}", {SEEN: 10**15 + n, "started": 1.0})
        if n % 2:
            await frontier.leave(f"w{n}")
            continue
        await make_old(frontier, f"w{n}")
    await frontier.beat("lately", {SEEN: 1})
    # As an older version has left it: off the list, with its report.
    await redis.hset(frontier.key("figures"), "left", json.dumps({SEEN: 2}))
    total_before = MAX_REPORTS * 10**15 + sum(range(MAX_REPORTS))
    await frontier.reports.bury()
    figures = await frontier.figures()
    assert set(figures) == {ENDED, "lately"}
    assert figures[ENDED] == {SEEN: total_before + 2}
    assert await redis.zrange(frontier.key("workers"), 0, -1) == [b"lately"]


async def test_worker_that_comes_back_is_counted_once(
    make_frontier: MakeFrontier,
) -> None:
    """If a worker counted as gone goes on, then it reports its figures since then."""
    frontier = await make_frontier()
    seen = {SEEN: 5.0}
    worker = new_worker(frontier, "late", figures=lambda: dict(seen))
    for n_days in (1, 2):
        await worker.leases.beat()
        await make_old(frontier, "late")
        for n in range(MAX_REPORTS):
            await frontier.redis.hset(frontier.key("figures"), f"left{n}", "{}")
        await frontier.reports.bury()
        assert set(await frontier.figures()) == {ENDED}
        worker.heard_until = steady_time() - GONE_AFTER_SECS
        seen[SEEN] += 2
        await worker.leases.beat()
        assert await total(frontier) == 5 + 2 * n_days
    await worker.leases.report_end()
    await worker.leases.report_end()  # as the answer to the first one was lost
    assert await total(frontier) == 9
    assert await frontier.live_workers() == []


async def test_report_that_is_none_of_ours_is_passed_over(
    make_frontier: MakeFrontier, redis: Redis
) -> None:
    """If a report is damaged, then the others are still returned."""
    frontier = await make_frontier()
    await frontier.beat("w", {SEEN: 3})
    bad = {"x": "{", "y": "[1]", "z": json.dumps({SEEN: "many"})}
    for name, text in bad.items():
        await redis.hset(frontier.key("figures"), name, text)
    assert await total(frontier) == 3
