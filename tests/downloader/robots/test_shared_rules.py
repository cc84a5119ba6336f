"""Rules of origins that all workers share, over a real Redis and loopback servers."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.core.errors import Reason
from rdfcrawl.downloader.http.exchange import HttpExchange
from rdfcrawl.downloader.robots.cache import RobotsCache, RobotsOptions
from rdfcrawl.downloader.robots.parser import read_records
from rdfcrawl.downloader.robots.policy import RobotsRules
from rdfcrawl.downloader.robots.storage import pack_rules, unpack_rules
from rdfcrawl.downloader.robots_txt import RobotsFetch
from rdfcrawl.downloader.spool import Spool
from rdfcrawl.frontier.queue.host_rules import KeepingOptions
from rdfcrawl.frontier.queue.shared_rules import KeptRobots
from rdfcrawl.frontier.redis.errors import RedisRetry
from rdfcrawl.uri.hosts import origin_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from rdfcrawl.downloader.options import FetchOptions
    from rdfcrawl.frontier.queue.frontier_client import Frontier
    from tests.conftest import RawServer, RawServers, Reply
    from tests.support.redis_fixtures import MakeFrontier

    MakeOptions = Callable[..., FetchOptions]

RULES = b"User-agent: *\nDisallow: /no\nCrawl-delay: 2\nSitemap: http://a.example/s\n"
ALL, SOME, NONE = "all", "some", "none"
Worker = tuple[RobotsCache, list[str]]


@asynccontextmanager
async def workers(
    frontier: Frontier, options: FetchOptions, n: int = 2, **changes: Any
) -> AsyncIterator[list[Worker]]:
    """Open the rules of workers that share a crawl, and the statistics of each."""
    keeping = {key: changes.pop(key) for key in tuple(changes) if key in KEEPING}
    async with AsyncExitStack() as stack:
        found = []
        for _ in range(n):
            spool = Spool(options.spool_dir, memory_limit_bytes=1 << 20)
            stack.enter_context(spool)
            exchange = await stack.enter_async_context(HttpExchange(options, spool))
            keeper = KeptRobots(frontier, RedisRetry(), KeepingOptions(**keeping))
            counts: list[str] = []
            cache = RobotsCache(
                RobotsFetch(exchange, spool, options),
                RobotsOptions(**changes),
                keeper=keeper,
                count=counts.append,
            )
            stack.push_async_callback(keeper.close)
            stack.push_async_callback(cache.close)
            found.append((cache, counts))
        yield found


KEEPING = frozenset(KeepingOptions.__slots__)


async def verdict(cache: RobotsCache, server: RawServer) -> str:
    """Return which URLs of an origin a worker considers allowed."""
    rules = await cache.rules(origin_of(server.url()))
    if not isinstance(rules, RobotsRules):
        assert rules[0].reason is Reason.ROBOTS_UNREACHABLE
        return NONE
    allowed = [rules.allows(server.url(path)) for path in ("/yes", "/no")]
    return {(True, True): ALL, (True, False): SOME}[allowed[0], allowed[1]]


# First response and its rules; second response, its rules, and the number of requests
# by two workers, the first of which has read the first response.
STATUSES = [
    ("200 OK", SOME, "404 No", SOME, 1),
    ("204 None", ALL, "200 OK", ALL, 1),
    ("301 Moved", SOME, "200 OK", SOME, 2),
    ("302 Found", SOME, "200 OK", SOME, 2),
    ("307 Found", SOME, "200 OK", SOME, 2),
    ("308 Moved", SOME, "200 OK", SOME, 2),
    ("304 Same", ALL, "200 OK", ALL, 1),
    ("400 Bad", ALL, "200 OK", ALL, 1),
    ("401 Who", ALL, "200 OK", ALL, 1),
    ("403 Forbidden", ALL, "200 OK", ALL, 1),
    ("404 Not Found", ALL, "503 Busy", ALL, 1),
    ("410 Gone", ALL, "200 OK", ALL, 1),
    ("451 Law", ALL, "200 OK", ALL, 1),
    ("429 Slow", NONE, "200 OK", NONE, 1),
    ("500 Oops", NONE, "200 OK", NONE, 1),
    ("502 Gate", NONE, "404 No", NONE, 1),
    ("503 Busy", NONE, "200 OK", NONE, 1),
    ("504 Late", NONE, "200 OK", NONE, 1),
    ("599 Odd", NONE, "200 OK", NONE, 1),
    ("", NONE, "200 OK", NONE, 1),
]


def answer_of(raw_server: RawServers, server: RawServer, status: str) -> Reply:
    """Return a response for robots.txt with a status; empty closes the connection."""
    if not status:
        return [None]
    if status[:3] in ("301", "302", "307", "308"):
        moved = raw_server.redirect(server.url("/rules"))
        return moved.replace(moved.split(b"\r\n", 1)[0], f"HTTP/1.1 {status}".encode())
    body = b"" if status[:3] in ("204", "304") else RULES
    return raw_server.response(body, "text/plain", status=status)


@pytest.mark.parametrize("row", STATUSES, ids=lambda row: row[0][:3] or "closed")
async def test_two_workers_hold_by_one_answer(
    row: tuple[str, str, str, str, int],
    raw_server: RawServers,
    fetch_options: MakeOptions,
    make_frontier: MakeFrontier,
) -> None:
    """If a worker has requested robots.txt, then another one uses the response."""
    first, allowed, second, still, n_asked = row
    server = await raw_server({})
    server.pages["/rules"] = raw_server.response(RULES, "text/plain")
    frontier = await make_frontier()
    async with workers(frontier, fetch_options()) as ((one, _), (two, counts)):
        server.pages["/robots.txt"] = answer_of(raw_server, server, first)
        assert await verdict(one, server) == allowed
        n_before = len(server.requests)
        server.pages["/robots.txt"] = answer_of(raw_server, server, second)
        assert [await verdict(two, server) for _ in range(2)] == [still] * 2
        assert counts == ([] if allowed == NONE else ["robots/shared"])
    assert len(server.requests) == n_before
    if first:  # a connection that breaks may be tried once more
        assert n_before == n_asked


async def test_workers_that_ask_at_once_make_one_request(
    raw_server: RawServers, fetch_options: MakeOptions, make_frontier: MakeFrontier
) -> None:
    """If workers want the same rules, then one requests and the others wait."""
    frontier = await make_frontier(lease_secs=0.3)  # shorter than the response takes
    reply: Reply = [0.6, raw_server.response(RULES, "text/plain")]
    server = await raw_server({"/robots.txt": reply})
    async with workers(frontier, fetch_options(), 4) as found:
        said = await asyncio.gather(*(verdict(cache, server) for cache, _ in found))
        assert said == [SOME] * 4
        counted = sorted(name for _, counts in found for name in counts)
    assert counted == ["robots/fetched", *["robots/shared"] * 3]
    assert server.targets == ["/robots.txt"]


async def test_worker_that_dies_while_it_asks_holds_nobody_up(
    raw_server: RawServers, fetch_options: MakeOptions, make_frontier: MakeFrontier
) -> None:
    """If the requesting worker disappears, then another one requests after a lease."""
    frontier = await make_frontier(lease_secs=0.2)
    server = await raw_server({})
    server.pages["/robots.txt"] = raw_server.response(RULES, "text/plain")
    dead = KeptRobots(frontier, RedisRetry(), KeepingOptions())
    assert (await dead.look(origin_of(server.url()))).is_due
    await dead.close()  # without a word
    async with workers(frontier, fetch_options(), 1) as ((cache, counts),):
        assert await verdict(cache, server) == SOME
    assert counts == ["robots/fetched"]


async def test_worker_alone_notes_no_request(make_frontier: MakeFrontier) -> None:
    """If a worker is alone, it says what a file has, and not that it asks for it."""
    frontier, origin = await make_frontier(), "https://a.example"
    alone = KeptRobots(frontier, RedisRetry(), KeepingOptions(), is_alone=lambda: True)
    other = KeptRobots(frontier, RedisRetry(), KeepingOptions())
    assert (await alone.look(origin)).is_due
    assert not [name async for name in frontier.redis.scan_iter("*:rf:*")]
    assert (await other.look(origin)).is_due  # it has joined just now
    assert [name async for name in frontier.redis.scan_iter("*:rf:*")]
    await alone.keep_rules(origin, b"rules", 60.0)
    await alone.close()
    assert (await other.look(origin)).rules == b"rules"
    await other.end(origin)
    assert not [name async for name in frontier.redis.scan_iter("*:rf:*")]
    await other.close()


async def test_last_good_copy_holds_while_there_is_no_newer(
    raw_server: RawServers, fetch_options: MakeOptions, make_frontier: MakeFrontier
) -> None:
    """If old rules cannot be renewed, then they hold, and tries become rarer."""
    frontier = await make_frontier()
    server = await raw_server({})
    server.pages["/robots.txt"] = raw_server.response(RULES, "text/plain")
    # Each worker has an empty memory, as after a restart.
    times = {"ttl_secs": 0.0, "first_secs": 0.3, "stale_secs": 30.0}

    async def ask(**changes: float) -> tuple[str, int]:
        before, given = len(server.requests), {**times, **changes}
        async with workers(frontier, fetch_options(), 1, **given) as found:
            said = await verdict(found[0][0], server)
        return said, len(server.requests) - before

    assert await ask() == (SOME, 1)
    server.pages["/robots.txt"] = raw_server.response(b"", status="503 Busy")
    assert await ask() == (SOME, 1)
    assert await ask() == (SOME, 0)
    await asyncio.sleep(0.33)
    assert await ask() == (SOME, 1)
    await asyncio.sleep(0.33)
    assert await ask() == (SOME, 0)  # the pause has doubled
    await asyncio.sleep(0.33)
    assert await ask() == (SOME, 1)
    # The copy is too old to be of use (30 days), and nothing else is known.
    assert await ask(stale_secs=0.001) == (NONE, 0)
    server.pages["/robots.txt"] = raw_server.response(b"", status="404 No")
    await asyncio.sleep(1.25)
    assert await ask(stale_secs=30.0) == (ALL, 1)


async def test_kept_rules_are_bounded(make_frontier: MakeFrontier) -> None:
    """If many origins have rules, then those looked for last are known."""
    frontier = await make_frontier(partitions=1)
    for limits in ({"most": 20}, {"most_bytes": 20 * 100}):
        keeper = KeptRobots(frontier, RedisRetry(), KeepingOptions(**limits))
        often = "https://often.example"
        for n in range(200):
            origin = f"https://{n}.example"
            assert (await keeper.look(origin)).is_due
            await keeper.keep_rules(origin, b"%050d" % n, 60.0)
            if n == 0:
                await keeper.look(often)
                await keeper.keep_rules(often, b"often", 60.0)
            assert (await keeper.look(often)).rules == b"often"
        for n in range(195, 200):
            assert (await keeper.look(f"https://{n}.example")).rules == b"%050d" % n
        assert (await keeper.look("https://5.example")).is_due
        keys = [key async for key in frontier.redis.scan_iter(match="*:robots*")]
        assert sum([await frontier.redis.hlen(key) for key in keys]) <= 24
        await frontier.redis.flushdb()
        await frontier.open()
        await keeper.close()


def texts() -> Iterator[bytes]:
    """Yield files whose rules are to be the same when they are unpacked."""
    yield RULES
    yield b""
    yield b"User-agent: *\nDisallow: /a%7e*$\nDisallow: /\xc3\xa9%2f\xff$\nAllow: /x$y"
    yield b"User-agent: *\nContent-Signal: search=no\nContent-Usage: /p/ train-ai=y"
    yield b"Sitemap: /s.xml\n" * 3 + b"".join(
        b"Sitemap: /%d\n" % n for n in range(1100)
    )


@pytest.mark.parametrize("text", list(texts()), ids=list("rewsl"))
def test_packed_rules_are_the_same(text: bytes) -> None:
    """If rules are packed, then they say the same when they are unpacked."""
    records = read_records(text, "rdfcrawl")
    rules = unpack_rules(pack_rules(records))
    assert rules is not None
    assert (rules.delay_secs, rules.sitemaps, rules.has_more_sitemaps) == (
        records.delay_secs,
        tuple(records.sitemaps),
        records.has_more_sitemaps,
    )
    base = "http://a.example"
    for path in ("/", "/no", "/a~/b", "/a~b", "/%C3%A9%2F%FF", "/x%24y", "/p/a"):
        allowed = RobotsRules.allows(rules, base + path)
        assert allowed == (path not in said_no(text))
        if rules.signals is not None:
            more = ("ai-train=yes",) if path.startswith("/p/") else ()
            assert rules.signals.of(base + path) == (*more, "search=no")


def said_no(text: bytes) -> set[str]:
    """Return which of the paths a text forbids."""
    if text is RULES:
        return {"/no"}
    return {"/a~/b", "/a~b", "/%C3%A9%2F%FF"} if b"7e" in text else set()


@pytest.mark.parametrize("data", [b"", b"{}", b"x" * 99], ids=len)
def test_what_is_no_rules_is_read_anew(data: bytes) -> None:
    """If the store contains foreign data, then they are ignored."""
    assert unpack_rules(data) is None
