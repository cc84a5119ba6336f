"""Turns on the clock of a host, as Redis gives them."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.frontier.queue.host_clocks import TurnEntry
from tests.support.frontier_state import candidates

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from rdfcrawl.frontier.queue.frontier_client import Frontier
    from tests.support.redis_fixtures import MakeFrontier

KEY = "a.example"
GIVEN, WAIT, LOST, RESTS = 1, 0, -1, -2


async def take(
    frontier: Frontier,
    token: str,
    *,
    delay_secs: float = 1.0,
    hold_secs: float = 60.0,
    epoch: int | None = None,
) -> tuple[int, float]:
    """Request a turn; return its code, and the seconds."""
    entry = TurnEntry(token, KEY, delay_secs, epoch, hold_secs)
    ((what, ms),) = await frontier.turns.take([entry])
    return what, ms / 1000


async def send(
    frontier: Frontier,
    token: str,
    *,
    ago_secs: float = 0.0,
    delay_secs: float = 1.0,
    epoch: int | None = None,
) -> None:
    """Say that the request of a turn was sent."""
    sent_at = monotonic() - ago_secs
    await frontier.turns.take(
        [TurnEntry(token, KEY, delay_secs, epoch, sent_at=sent_at)]
    )


async def test_turn_is_held_until_the_request_was_sent(
    make_frontier: MakeFrontier,
) -> None:
    """If one has a turn, then the next counts its delay from when it was sent."""
    frontier = await make_frontier()
    assert await take(frontier, "a") == (GIVEN, 0)
    assert await take(frontier, "a") == (GIVEN, 0)  # the answer was lost
    what, secs = await take(frontier, "b")
    assert (what, 0.9 < secs <= 1) == (WAIT, True)
    await send(frontier, "b")  # is not b's
    assert (await take(frontier, "b"))[0] == WAIT
    await send(frontier, "a", ago_secs=0.4)
    what, secs = await take(frontier, "b")
    assert (what, 0.4 < secs <= 1) == (GIVEN, True)


async def test_longest_delay_holds(make_frontier: MakeFrontier) -> None:
    """If those who ask know of different delays, then the longest one counts."""
    frontier = await make_frontier()
    for first, second in ((5.0, 1.0), (1.0, 5.0)):
        await take(frontier, "a", delay_secs=first)
        await send(frontier, "a", delay_secs=first)
        what, secs = await take(frontier, "b", delay_secs=second)
        assert (what, 4.5 < secs <= 5) == (GIVEN, True)
        await frontier.redis.flushall()


async def test_turn_that_is_given_back_costs_nothing(
    make_frontier: MakeFrontier,
) -> None:
    """If a request is not sent after all, then the next one need not wait."""
    frontier = await make_frontier()
    await take(frontier, "a")
    await frontier.turns.take([TurnEntry("a", KEY, 1.0)])
    assert await take(frontier, "b") == (GIVEN, 0)


async def test_turn_of_the_dead_is_free_in_time(make_frontier: MakeFrontier) -> None:
    """If the end of a turn is not reported, then it counts as used when it began."""
    frontier = await make_frontier()
    await take(frontier, "a", delay_secs=300.0, hold_secs=100.0)
    assert (await take(frontier, "b", delay_secs=300.0))[0] == WAIT
    for name in ("st", "till"):  # as they are after that time
        await frontier.redis.hincrby(f"rc:{{c/0}}:t:{KEY}", name, -100_000)
    what, secs = await take(frontier, "b", delay_secs=300.0)
    assert (what, 100 < secs <= 200) == (GIVEN, True)


async def test_visit_has_turns_as_long_as_its_lease(
    make_frontier: MakeFrontier,
) -> None:
    """If the lease of a visit is lost, then it has no turn for a free host."""
    frontier = await make_frontier(lease_secs=0.05)
    await frontier.add(candidates(frontier, [f"https://{KEY}/1"]))
    (visit,), _ = await frontier.claim([0], most_keys=1)
    assert await take(frontier, "a", epoch=visit.epoch) == (GIVEN, 0)
    await send(frontier, "a")
    await asyncio.sleep(0.1)
    await frontier.reap()
    assert (await take(frontier, "b", epoch=visit.epoch))[0] == LOST
    assert (await take(frontier, "c"))[0] == GIVEN


async def test_longest_delay_of_the_living_holds(make_frontier: MakeFrontier) -> None:
    """If workers have different delays, then the longest holds while it is there."""
    slow = await make_frontier(delay_secs=2.0)
    quick = await make_frontier(delay_secs=0.5)
    await slow.beat("slow", {})
    await quick.beat("quick", {})
    assert (quick.delays.shortest_secs, quick.delays.secs) == (0.5, 2.0)
    await quick.add(candidates(quick, [f"https://{KEY}/1", f"https://{KEY}/2"]))
    (visit,), _ = await quick.claim([0], most_keys=1)
    assert visit.delay_secs == 2.0
    await slow.leave("slow")
    await quick.beat("quick", {})
    assert quick.delays.secs == 0.5
    await quick.release([visit])
    assert await quick.redis.hget(f"rc:{{c/0}}:h:{KEY}", "d") is None


async def test_newcomer_knows_who_keeps_its_delay(make_frontier: MakeFrontier) -> None:
    """If others do not keep a delay yet, or no longer, then its worker notices."""
    quick = await make_frontier(delay_secs=0.5)
    slow = [await make_frontier(delay_secs=2.0) for _ in range(2)]
    await quick.beat("quick", {})
    await slow[0].beat("slow", {})
    assert not await slow[0].delays.are_kept("slow")
    await quick.beat("quick", {})
    assert await slow[0].delays.are_kept("slow")
    await slow[0].leave("slow")
    await quick.beat("quick", {})
    await slow[1].beat("other", {})
    assert not await slow[1].delays.are_kept("other")
    await quick.delays.look()
    assert quick.delays.secs == 2.0


@pytest.mark.parametrize("limit", ["1", "100mb"])
async def test_turns_are_given_by_a_full_server(
    make_frontier: MakeFrontier, redis: Redis, limit: str
) -> None:
    """If Redis is full, then hosts have their clocks all the same, for a while."""
    frontier = await make_frontier()
    await redis.config_set("maxmemory", limit)
    await take(frontier, "a")
    await send(frontier, "a")
    assert (await take(frontier, "b"))[0] == GIVEN
    assert 0 < await redis.pttl(f"rc:{{c/0}}:t:{KEY}") < 300_000


async def test_host_that_rests_is_asked_by_no_other(
    make_frontier: MakeFrontier,
) -> None:
    """If a host has refused, then who has no lease waits, but not for long."""
    frontier = await make_frontier()
    await frontier.add(candidates(frontier, [f"https://{KEY}/1"]))
    for rest_secs, expected in ((5.0, GIVEN), (100.0, RESTS)):
        (visit,), _ = await frontier.claim([0], most_keys=1)
        assert await take(frontier, "a") == (GIVEN, 0)  # it may be well by now
        await frontier.turns.take([TurnEntry("a", KEY, 1.0)])
        visit.returned[0] = visit.records[0]
        visit.host_refused, visit.not_before_secs = True, rest_secs
        await frontier.release([visit])
        what, secs = await take(frontier, "b")
        assert (what, rest_secs - 1 < secs <= rest_secs) == (expected, True)
        await frontier.turns.take([TurnEntry("b", KEY, 1.0)])
        await frontier.redis.zadd("rc:{c/0}:ready", {KEY: 0})


async def test_others_do_not_shorten_the_delay_of_a_visit(
    make_frontier: MakeFrontier,
) -> None:
    """If a visit has learnt of a longer delay, then it holds for all who ask."""
    frontier = await make_frontier(delay_secs=0.5)
    await frontier.add(candidates(frontier, [f"https://{KEY}/1"]))
    ((visit,), _) = await frontier.claim(range(frontier.partitions), most_keys=1)
    assert (await take(frontier, "a", epoch=visit.epoch))[0] == GIVEN
    await send(frontier, "a", delay_secs=10.0, epoch=visit.epoch)
    what, secs = await take(frontier, "b", delay_secs=0.5)
    assert (what, 9 < secs <= 10) == (GIVEN, True)
    await send(frontier, "b", delay_secs=0.5)
    what, secs = await take(frontier, "c", delay_secs=0.5)
    assert (what, 9 < secs <= 10) == (GIVEN, True)
    # The visit itself may recover from a longer delay.
    await send(frontier, "c", delay_secs=0.5, epoch=visit.epoch)
    what, secs = await take(frontier, "d", delay_secs=0.5)
    assert (what, secs <= 0.5) == (GIVEN, True)
    # The same request may be reported once more, with its result.
    await send(frontier, "d", delay_secs=0.5, epoch=visit.epoch)
    await send(frontier, "d", delay_secs=5.0, epoch=visit.epoch, ago_secs=0.005)
    what, secs = await take(frontier, "e", delay_secs=0.5)
    assert (what, 4 < secs <= 5) == (GIVEN, True)
