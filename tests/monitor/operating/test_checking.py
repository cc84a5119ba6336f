"""`check` finds damage made by hand, and `--repair` repairs it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast

import pytest

from rdfcrawl.core.records import CrawlBudget, Record
from rdfcrawl.frontier.queue.candidate import bucket_of
from rdfcrawl.frontier.queue.options import EpochOptions
from rdfcrawl.frontier.worker.link_ingest import LINK_BAND
from rdfcrawl.monitor.operating.checking import FrontierCheck
from rdfcrawl.monitor.operating.repairing import FrontierRepair
from rdfcrawl.monitor.operating.steering import HostSteering
from rdfcrawl.uri import partition_of
from tests.support.frontier_claims import claim, urls_of
from tests.support.frontier_state import (
    candidates,
    check_frontier,
    expire_leases,
    new_ingest,
)
from tests.support.operated_crawls import operated

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from rdfcrawl.frontier.queue.frontier_client import Frontier
    from rdfcrawl.monitor.operating.crawl import OperatedCrawl
    from tests.support.redis_fixtures import MakeFrontier, RedisServer

N = 3  # partitions
HOST, ALONE, PAUSED, LEASED = "a.example", "alone.example", "p.example", "l.example"
CROWD = [f"h{n}.giant.example" for n in range(22)]
Damage = Callable[["Redis"], Awaitable[Any]]


def of(host: str) -> str:
    """Return the prefix of a host's partition."""
    return f"rc:{{c/{partition_of(host, N)}}}"


def urls_in(host: str, n: int) -> list[str]:
    """Return URLs of a host."""
    return [f"https://{host}/{i}" for i in range(n)]


async def fill(frontier: Frontier, crawl: OperatedCrawl) -> set[str]:
    """Make a frontier with URIs in all states; return the URIs that are not done."""
    await frontier.add(candidates(frontier, urls_in(LEASED, 6)))
    await frontier.add(candidates(frontier, urls_in("done.example", 4)))
    done = [each for each in await claim(frontier) if each.key == "done.example"]
    await frontier.release(done)
    await frontier.ack(done)
    for host, n in {HOST: 5, ALONE: 1, PAUSED: 3}.items():
        await frontier.add(candidates(frontier, urls_in(host, n)))
    await frontier.add(candidates(frontier, [f"https://{x}/" for x in CROWD]))
    await HostSteering(crawl).pause(PAUSED)
    assert await FrontierCheck(crawl).run() == []
    await check_frontier(frontier)
    left = {HOST: 5, ALONE: 1, PAUSED: 3, LEASED: 6}
    urls = {url for host, n in left.items() for url in urls_in(host, n)}
    return urls | {f"https://{x}/" for x in CROWD}


async def drain(frontier: Frontier, crawl: OperatedCrawl) -> list[str]:
    """Crawl all that is there; return it."""
    await HostSteering(crawl).resume(PAUSED)
    await expire_leases(frontier)
    found: list[str] = []
    await frontier.reap()
    for _ in range(200):
        visits = await claim(frontier)
        found += [url for visit in visits for url in urls_of(visit)]
        await frontier.release(visits)
        await frontier.ack(visits)
        if (await frontier.counts()).is_over:
            return found
        for prefix in frontier._prefixes:
            for name in ("ready", *(f"w:{x}" for x in ("giant.example",))):
                async for member, _ in frontier.redis.zscan_iter(f"{prefix}:{name}"):
                    await frontier.redis.zadd(f"{prefix}:{name}", {member: 1})
    raise AssertionError(await frontier.counts())


async def _leased(redis: Redis) -> tuple[str, str]:
    name = f"{of(LEASED)}:lease"
    found = cast("list[bytes]", await redis.zrange(name, 0, -1))
    members = [member.decode() for member in found]
    epoch, _, key = next(m for m in members if m.endswith(LEASED)).partition(":")
    return epoch, key


async def lose_lease(redis: Redis) -> None:
    """Take a lease away, and leave its batch."""
    epoch, key = await _leased(redis)
    await redis.zrem(f"{of(key)}:lease", f"{epoch}:{key}")


async def copy_to_other_partition(redis: Redis) -> None:
    """Give a host a state and a URI in a second partition."""
    other = f"rc:{{c/{(partition_of(HOST, N) + 1) % N}}}"
    await redis.hset(f"{other}:h:{HOST}", mapping={"n": 1, "a": 1})
    await redis.rpush(f"{other}:q:{HOST}:2", b"\x00\x01/moved")
    await redis.zadd(f"{other}:ready", {HOST: 1})
    for name in ("q", "hosts"):
        await redis.hincrby(f"{other}:cnt", name, 1)


async def forget_domains(redis: Redis) -> None:
    """Make a domain count fewer hosts than it has."""
    async for name in redis.scan_iter(f"{of('giant.example')}:d:*"):
        if await redis.hexists(name, "giant.example"):
            await redis.hset(name, "giant.example", 1)


def counter(name: str, by: int) -> Damage:
    """Return a step that falsifies a counter."""
    return lambda redis: redis.hincrby(f"{of(HOST)}:cnt", name, by)


DAMAGES: dict[str, tuple[str, Damage]] = {
    "q": ("counter", counter("q", 3)),
    "q below zero": ("counter", lambda r: r.hset(f"{of(HOST)}:cnt", "q", -22)),
    "l": ("counter", counter("l", -1)),
    "dead": ("counter", counter("dead", 1)),
    "done": ("counter", counter("done", -2)),
    "known": ("counter", counter("known", 7)),
    "seen": ("counter", counter("seen", 1)),
    "w": ("counter", counter("w", 1)),
    "cw": ("counter", lambda r: r.hincrby(f"{of('giant.example')}:cnt", "cw", 1)),
    "hosts": ("hosts_counter", counter("hosts", -1)),
    "n too small": ("queue_length", lambda r: r.hset(f"{of(HOST)}:h:{HOST}", "n", 2)),
    "n too large": ("queue_length", lambda r: r.hset(f"{of(HOST)}:h:{HOST}", "n", 9)),
    "n missing": ("queue_length", lambda r: r.hdel(f"{of(HOST)}:h:{HOST}", "n")),
    "pushed by hand": (
        "queue_length",
        lambda r: r.rpush(f"{of(HOST)}:q:{HOST}:2", b"\x00\x01/pushed"),
    ),
    "state lost": ("queue_without_state", lambda r: r.delete(f"{of(HOST)}:h:{HOST}")),
    "not ready": ("work_not_ready", lambda r: r.zrem(f"{of(HOST)}:ready", HOST)),
    "ready and idle": (
        "ready_without_work",
        lambda r: r.zadd(f"{of('done.example')}:ready", {"done.example": 1}),
    ),
    "ready and unknown": (
        "ready_without_work",
        lambda r: r.zadd(f"{of(HOST)}:ready", {"nobody.example": 1}),
    ),
    "ready and leased": (
        "ready_without_work",
        lambda r: r.zadd(f"{of(LEASED)}:ready", {LEASED: 1}),
    ),
    "ready and paused": (
        "ready_without_work",
        lambda r: r.zadd(f"{of(PAUSED)}:ready", {PAUSED: 1}),
    ),
    "ready outside its crowd": (
        "ready_without_work",
        lambda r: r.zadd(f"{of(CROWD[-1])}:ready", {CROWD[-1]: 1}),
    ),
    "locked": (
        "lock_without_lease",
        lambda r: r.hset(f"{of(HOST)}:h:{HOST}", "lk", "12345"),
    ),
    "paused without a lock": (
        "paused_and_not_locked",
        lambda r: r.hdel(f"{of(PAUSED)}:h:{PAUSED}", "lk"),
    ),
    "paused and not listed": (
        "paused_and_not_listed",
        lambda r: r.srem(f"{of(PAUSED)}:paused", PAUSED),
    ),
    "listed and not paused": (
        "paused_and_not_listed",
        lambda r: r.sadd(f"{of(HOST)}:paused", HOST),
    ),
    "refusing and idle": (
        "refusing_without_work",
        lambda r: r.zadd(f"{of('done.example')}:down", {"done.example": 1}),
    ),
    "crowd without a place": (
        "crowd_place",
        lambda r: r.zrem(f"{of('giant.example')}:ready", "@giant.example"),
    ),
    "place without a crowd": (
        "crowd_place",
        lambda r: r.zadd(f"{of(HOST)}:ready", {"@nobody.example": 1}),
    ),
    "in another crowd": (
        "wrong_crowd",
        lambda r: r.zadd(f"{of('giant.example')}:w:giant.example", {HOST: 1}),
    ),
    "lease without batch": (
        "lease_without_batch",
        lambda r: r.zadd(f"{of(HOST)}:lease", {f"777:{HOST}": 9e12}),
    ),
    "batch without lease": ("batch_without_lease", lose_lease),
    "domain counts too few": ("domain_count", forget_domains),
    "over its budget": (
        "over_of_host",
        lambda r: r.hset(f"{of(HOST)}:h:{HOST}", "o", 3),
    ),
    "domain over its budget": (
        "over_of_domain",
        lambda r: r.hset(f"{of(HOST)}:d:{bucket_of(HOST)}", f"{HOST} o", 3),
    ),
    "two partitions": ("two_partitions", copy_to_other_partition),
}


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(("kind", "damage"), DAMAGES.values(), ids=DAMAGES)
async def test_damage_is_found_and_mended(
    make_frontier: MakeFrontier, redis_server: RedisServer, kind: str, damage: Damage
) -> None:
    """If something is damaged by hand, then a line reports it, and no URI is lost."""
    frontier = await make_frontier(partitions=N, batch=50)
    async with await operated(redis_server) as crawl:
        urls = await fill(frontier, crawl)
        await damage(frontier.redis)
        found = await FrontierCheck(crawl).run()
        assert kind in {each.kind for each in found}, found
        assert all(each.line().isprintable() for each in found)
        await FrontierRepair(crawl).run(found)
        assert await FrontierCheck(crawl).run() == []
        await check_frontier(frontier)
        crawled = await drain(frontier, crawl)
        assert urls <= set(crawled)
        assert len(crawled) == len(set(crawled))
        assert await FrontierCheck(crawl).run() == []


async def test_host_that_refused_is_sound_while_it_is_visited(
    make_frontier: MakeFrontier, redis_server: RedisServer
) -> None:
    """If a visit holds all URIs of a host that refused, then that is no damage."""
    frontier = await make_frontier(partitions=N)
    await frontier.add(candidates(frontier, urls_in(HOST, 2)))
    for _ in range(2):
        (visit,) = await claim(frontier)
        async with await operated(redis_server) as crawl:
            assert await FrontierCheck(crawl).run() == []
        visit.host_refused = True
        visit.returned = dict(enumerate(visit.records))
        await frontier.release([visit])
        await frontier.ack([visit])


async def test_unknown_keys_are_left(
    make_frontier: MakeFrontier, redis_server: RedisServer
) -> None:
    """If a key is not of the data model, then it is reported, and stays."""
    frontier = await make_frontier(partitions=N)
    name = f"{of(HOST)}:what:ever"
    await frontier.redis.set(name, "x")
    async with await operated(redis_server) as crawl:
        (found,) = await FrontierCheck(crawl).run()
        assert (found.kind, found.name) == ("unknown_key", name)
        await FrontierRepair(crawl).run([found])
        assert await FrontierCheck(crawl).run() == [found]
    assert await frontier.redis.get(name) == b"x"


async def test_uris_queued_by_hand_are_marked_as_seen(
    make_frontier: MakeFrontier, redis_server: RedisServer
) -> None:
    """If more is queued than was ever seen, then a repair marks it, and it is once."""
    frontier = await make_frontier()
    await frontier.add(candidates(frontier, urls_in(HOST, 2)))
    await frontier.redis.rpush(f"rc:{{c/0}}:q:{HOST}:2", b"\x00\x01/pushed")
    async with await operated(redis_server) as crawl:
        await FrontierRepair(crawl).run(await FrontierCheck(crawl).run())
        assert await FrontierCheck(crawl).run() == []
    await check_frontier(frontier)
    again = candidates(frontier, [f"https://{HOST}/pushed"])
    assert (await frontier.add(again)).seen == 1
    assert (await frontier.counts()).queued == 3


async def test_counters_of_uris_that_wait_for_an_epoch_are_compared(
    make_frontier: MakeFrontier, redis_server: RedisServer
) -> None:
    """If names that wait for an epoch are lost, then they are found, and mended."""
    frontier = await make_frontier(epochs=EpochOptions(quota=5))
    ingest = new_ingest(frontier)
    ingest.use_epochs()
    waiting = [ingest.candidate(Record(url), LINK_BAND) for url in urls_in(HOST, 9)]
    assert (await frontier.add(waiting)).new == 9
    assert (await frontier.counts()).waiting == 9
    prefix = "rc:{c/0}"
    async with await operated(redis_server) as crawl:
        assert await FrontierCheck(crawl).run() == []
        await frontier.redis.zpopmin(f"{prefix}:ed:{HOST}", 2)
        await frontier.redis.zadd(f"{prefix}:es:{HOST}", {"123": 1})
        await frontier.redis.hincrby(f"{prefix}:cnt", "w", 4)
        found = await FrontierCheck(crawl).run()
        assert {each.kind for each in found} == {
            *("waits_by_no_source", "source_without_uri", "counter"),
        }
        await FrontierRepair(crawl).run(found)
        assert await FrontierCheck(crawl).run() == []
        dropped = await HostSteering(crawl).drop(HOST)
        assert dropped.n_dropped == 9
        assert await FrontierCheck(crawl).run() == []
    await check_frontier(frontier)


@pytest.mark.parametrize("budget", [CrawlBudget(of_host=3), CrawlBudget(of_domain=3)])
async def test_uris_over_a_budget_are_counted(
    make_frontier: MakeFrontier, redis_server: RedisServer, budget: CrawlBudget
) -> None:
    """If URIs over a budget are lost while a worker runs, then `check` repairs it."""
    frontier = await make_frontier(partitions=N, budget=budget)
    hosts = [f"h{n}.over.example" for n in range(3)]
    for host in hosts:
        await frontier.add(candidates(frontier, urls_in(host, 9)))
    await frontier.beat("w1", {})
    over = f"{of(hosts[0])}:over"
    async with await operated(redis_server) as crawl:
        assert await FrontierCheck(crawl).run() == []
        fields = cast("list[bytes]", await frontier.redis.hkeys(over))
        own = [each for each in fields if each.startswith(hosts[0].encode())]
        assert len(own) == 6
        n_counted = len(own) if budget.of_host else len(fields)
        await frontier.redis.hdel(over, *own[:4])
        (found,) = await FrontierCheck(crawl).run()
        assert found.kind == f"over_of_{'host' if budget.of_host else 'domain'}"
        assert (found.found, found.expected) == (str(n_counted), str(n_counted - 4))
        await FrontierRepair(crawl).run([found])
        assert await FrontierCheck(crawl).run() == []
    await check_frontier(frontier)


async def test_grants_are_compared_with_the_quota(
    make_frontier: MakeFrontier, redis_server: RedisServer
) -> None:
    """If more was granted than the quota is, or than is counted, then it is found.

    Granted URIs are in queues, first URIs and flights; those carried from a lowered
    quota
    are not too many.
    """
    frontier = await make_frontier(batch=2, epochs=EpochOptions(quota=5))
    ingest = new_ingest(frontier)
    ingest.use_epochs()
    hosts = [f"h{n}.example.org" for n in range(3)]
    urls = [url for host in hosts for url in urls_in(host, 3)]
    await frontier.add([ingest.candidate(Record(url), LINK_BAND) for url in urls])
    await frontier.epochs.look([0])
    await frontier.epochs.look([0])
    visits = await claim(frontier, most_keys=1)
    await check_frontier(frontier)
    state = "rc:{c/0}:e:example.org"
    n = int(await frontier.redis.hget(state, "o") or 0)
    assert n > 1
    async with await operated(redis_server) as crawl:
        assert await FrontierCheck(crawl).run() == []
        await frontier.redis.hincrby(state, "o", 2)
        await frontier.redis.hset(state, "gf", 5 - n + 3)
        found = await FrontierCheck(crawl).run()
        told = {each.kind: (each.name, each.found, each.expected) for each in found}
        assert told == {
            "granted": ("example.org", str(n + 2), str(n)),
            "over_quota": ("example.org", "3", ""),
        }
        await FrontierRepair(crawl).run(found)
        assert await FrontierCheck(crawl).run() == []
        await check_frontier(frontier)
        lowered: Any = {"gs": 0, "gd": 0, "gf": 0, "c": 5, "q": 3}
        await frontier.redis.hset(state, mapping=lowered)
        assert await FrontierCheck(crawl).run() == []
    assert visits
