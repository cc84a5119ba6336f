"""Changes to a host by an operator, on the oldest and the newest server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.records import CrawlBudget
from rdfcrawl.monitor.operating.hosts import HostPhase, read_host
from rdfcrawl.monitor.operating.status import read_status
from rdfcrawl.monitor.operating.steering import HostSteering
from rdfcrawl.monitor.operating.tables import uri_line
from rdfcrawl.monitor.operating.uris import (
    UriLookup,
    UriPlace,
    discard_given_up,
    iter_given_up,
)
from tests.support.frontier_claims import add, claim, claim_one, restart, urls_of
from tests.support.frontier_state import candidates, check_frontier, expire_leases
from tests.support.operated_crawls import operated

if TYPE_CHECKING:
    from tests.support.redis_fixtures import MakeFrontier, RedisServer

HOST = "a.example"


async def test_paused_host_is_claimed_when_it_is_resumed(
    make_frontier: MakeFrontier, redis_server: RedisServer
) -> None:
    """If a host is paused, then no worker claims it until it is resumed."""
    frontier = await make_frontier()
    urls = await add(frontier, 3)
    async with await operated(redis_server) as crawl:
        steering = HostSteering(crawl)
        paused = await steering.pause(HOST)
        assert (paused.has_changed, paused.n_waiting) == (True, 3)
        assert not (await steering.pause(HOST)).has_changed
        await add(frontier, 2, "b.example")
        await frontier.add(candidates(frontier, [f"https://{HOST}/later"]))
        await check_frontier(frontier)
        assert {visit.key for visit in await claim(frontier)} == {"b.example"}
        found = await read_host(crawl, HOST)
        assert found is not None
        assert (found.summary.phase, found.due_ms) == (HostPhase.PAUSED, None)
        assert (await read_status(crawl)).total("n_paused") == 1
        assert (await frontier.owed.look(60)).n_others > 0
        assert (await steering.resume(HOST)).has_changed
        assert not (await steering.resume(HOST)).has_changed
    await check_frontier(frontier)
    assert urls_of(await claim_one(frontier)) == [*urls, f"https://{HOST}/later"]


@pytest.mark.parametrize("how", ["release", "refuse", "reap"])
async def test_pause_holds_when_the_visit_has_ended(
    make_frontier: MakeFrontier, redis_server: RedisServer, how: str
) -> None:
    """If a host is paused during a visit, then it stays paused after any end of it.

    Resumed, it is claimed; URIs that the visit gave back are first.
    """
    frontier = await make_frontier(batch=2)
    urls = await add(frontier, 4)
    visit = await claim_one(frontier)
    async with await operated(redis_server) as crawl:
        steering = HostSteering(crawl)
        assert (await steering.pause(HOST)).is_visited
        await check_frontier(frontier)
        if how == "reap":
            await expire_leases(frontier)
            await frontier.reap()
        else:
            visit.return_untried(1)
            visit.host_refused = how == "refuse"
            await frontier.release([visit])
            await frontier.ack([visit])
        await check_frontier(frontier)
        assert await claim(frontier) == []
        await steering.resume(HOST)
        await check_frontier(frontier)
    await restart(frontier)
    again = await claim(frontier)
    assert set(urls_of(again[0])) & set(urls[:2])


async def test_dropped_uris_stay_seen(
    make_frontier: MakeFrontier, redis_server: RedisServer
) -> None:
    """If the queue of a host is dropped, then its URIs are known, and new ones come."""
    frontier = await make_frontier(batch=2)
    urls = await add(frontier, 700)
    await add(frontier, 1, "alone.example")
    visit = next(each for each in await claim(frontier) if each.key == HOST)
    async with await operated(redis_server) as crawl:
        steering = HostSteering(crawl)
        dropped = await steering.drop(HOST)
        assert (dropped.n_dropped, dropped.is_visited) == (698, True)
        assert not (await steering.drop(HOST)).has_changed
        await check_frontier(frontier)
    await frontier.release([visit])
    await frontier.ack([visit])
    counts = await frontier.counts()
    assert (counts.known, counts.done, counts.queued) == (698, 2, 0)
    assert (await frontier.add(candidates(frontier, urls))).seen == 700
    assert (await frontier.add(candidates(frontier, [f"https://{HOST}/n"]))).new == 1
    await check_frontier(frontier)


async def test_drop_takes_a_single_uri_that_lies_with_its_host(
    make_frontier: MakeFrontier, redis_server: RedisServer
) -> None:
    """If a host has one URI, then to drop it leaves none."""
    frontier = await make_frontier(partitions=4)
    await add(frontier, 1)
    async with await operated(redis_server) as crawl:
        assert (await HostSteering(crawl).drop(HOST)).n_dropped == 1
    await check_frontier(frontier)
    assert (await frontier.counts()).is_over


async def test_delay_is_never_below_that_of_the_host(
    make_frontier: MakeFrontier, redis_server: RedisServer
) -> None:
    """If an operator sets a delay, then the longer one holds, and its own is kept."""
    frontier = await make_frontier(batch=1)
    await add(frontier, 9)
    async with await operated(redis_server) as crawl:
        steering = HostSteering(crawl)

        async def visit_with(rules_secs: float) -> tuple[float, str, int]:
            await restart(frontier)
            visit = await claim_one(frontier)
            began_with = visit.delay_secs
            visit.delay_secs = max(visit.delay_secs, rules_secs)
            await frontier.release([visit])
            await frontier.ack([visit])
            found = await read_host(crawl, HOST)
            assert found is not None
            return began_with, found.summary.delay_from, found.summary.delay_ms

        assert await visit_with(0) == (0, "setting", 0)
        await steering.set_delay(HOST, 4.0)
        assert await visit_with(2) == (4.0, "operator", 4000)
        assert await visit_with(7) == (4.0, "host", 7000)
        await steering.set_delay(HOST, 0.5)
        assert await visit_with(7) == (7.0, "host", 7000)
        await steering.set_delay(HOST, None)
        assert await visit_with(7) == (7.0, "host", 7000)


async def test_delay_of_an_operator_goes_when_it_is_taken_back(
    make_frontier: MakeFrontier, redis_server: RedisServer
) -> None:
    """If a delay is taken back during a visit, then it does not stay with the host."""
    frontier = await make_frontier(batch=1)
    await add(frontier, 2)
    async with await operated(redis_server) as crawl:
        await HostSteering(crawl).set_delay(HOST, 4.0)
        visit = await claim_one(frontier)
        await HostSteering(crawl).set_delay(HOST, None)
        await frontier.release([visit])
        found = await read_host(crawl, HOST)
        assert found is not None
        assert found.summary.delay_ms == 0


async def test_budget_of_a_host_goes_before_that_of_its_spider(
    make_frontier: MakeFrontier, redis_server: RedisServer
) -> None:
    """If a host has its own budget, then that many of its URIs are accepted."""
    frontier = await make_frontier(budget=CrawlBudget(of_host=2))
    urls = [f"https://{HOST}/{n}" for n in range(9)]
    assert (await frontier.add(candidates(frontier, urls[:4]))).over_host == 2
    async with await operated(redis_server) as crawl:
        steering = HostSteering(crawl)
        await steering.set_budget(HOST, 5)
        found = await read_host(crawl, HOST)
        assert found is not None
        assert found.summary.budget == 5
        added = await frontier.add(candidates(frontier, urls[4:]))
        assert (added.new, added.over_host) == (3, 2)
        await steering.set_budget(HOST, 0)
        assert (await frontier.add(candidates(frontier, urls))).new == 4
        await steering.set_budget(HOST, None)
    assert (await frontier.add(candidates(frontier, [f"https://{HOST}/x"]))).new == 0


async def test_unknown_hosts_are_refused(
    make_frontier: MakeFrontier, redis_server: RedisServer
) -> None:
    """If a host is not in the frontier, then a line names it, and nothing is made."""
    frontier = await make_frontier(partitions=3)
    async with await operated(redis_server) as crawl:
        steering = HostSteering(crawl)
        for change in (steering.pause, steering.resume, steering.drop):
            with pytest.raises(
                ConfigError, match=r"host b\.example: not in the frontier"
            ):
                await change("b.example")
        assert await read_host(crawl, "b.example") is None
    assert not [name async for name in frontier.redis.scan_iter("*:h:*")]


async def test_hosts_that_are_away_are_found(
    make_frontier: MakeFrontier, redis_server: RedisServer
) -> None:
    """If a giant's hosts are away, then each is paused where it is."""
    frontier = await make_frontier(partitions=4, domain_hosts=2)
    urls = [f"https://h{n}.giant.example/" for n in range(12)]
    assert (await frontier.add(candidates(frontier, urls))).new == 12
    async with await operated(redis_server) as crawl:
        for n in range(12):
            change = await HostSteering(crawl).pause(f"h{n}.giant.example")
            assert change.n_waiting == 1
    await check_frontier(frontier)
    assert await claim(frontier) == []


async def test_dropped_dead_uris_are_known(
    make_frontier: MakeFrontier, redis_server: RedisServer
) -> None:
    """If URIs that workers died of are dropped, then they count as only seen."""
    frontier = await make_frontier()
    (url,) = await add(frontier, 1)
    for _ in range(5):
        await restart(frontier)
        visit = await claim_one(frontier)
        await frontier.begin(visit, "read")
        await expire_leases(frontier)
        await frontier.reap()
        if (await frontier.counts()).dead:
            break
    async with await operated(redis_server) as crawl:
        assert [each.url async for each in iter_given_up(crawl, "dead")] == [url]
        assert (await UriLookup(crawl).find(url)).place is UriPlace.DEAD
        assert await discard_given_up(crawl, "dead") == 1
        assert [each async for each in iter_given_up(crawl, "dead")] == []
    counts = await check_frontier(frontier)
    assert counts[0].counters["known"] == 1


async def test_uris_in_flight_and_over_budget_are_found(
    make_frontier: MakeFrontier, redis_server: RedisServer
) -> None:
    """If a URI is in flight, over a budget, or waits with its host, it is found."""
    frontier = await make_frontier(budget=CrawlBudget(of_host=1))
    urls = [f"https://{HOST}/1", f"https://{HOST}/2", "https://b.example/"]
    await frontier.add(candidates(frontier, urls[:2]))
    visit = await claim_one(frontier)
    await frontier.add(candidates(frontier, urls[2:]))
    async with await operated(redis_server) as crawl:
        found = [await UriLookup(crawl).find(url) for url in urls]
    assert [each.place for each in found] == ["in flight", "over budget", "queued"]
    assert found[0].epoch == visit.epoch
    assert (found[2].band, found[2].n_before) == (2, 0)


async def test_uri_far_back_in_a_queue_is_not_searched_for(
    make_frontier: MakeFrontier, redis_server: RedisServer
) -> None:
    """If a URI is behind as many as are looked at, then that is said of the URI."""
    frontier = await make_frontier()
    urls = await add(frontier, 30)
    async with await operated(redis_server) as crawl:
        lookup = UriLookup(crawl, most=10)
        found = [await lookup.find(urls[number]) for number in (0, 9, 29)]
        assert [each.place for each in found[:2]] == ["queued", "queued"]
        assert (found[2].place, found[2].n_before) == ("done or far behind", 10)
        assert uri_line(found[2]).endswith(", not among the first 10 of its host")
        whole = await UriLookup(crawl).find(urls[29])
        assert (whole.place, whole.n_before) == ("queued", 29)
        never = await lookup.find(f"https://{HOST}/never")
        assert never.place is UriPlace.UNKNOWN
