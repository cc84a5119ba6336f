"""Contexts that are kept: how long, and for whom."""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from rdfcrawl.core.shared_tasks import SizedMemory
from rdfcrawl.downloader.contexts.cache import (
    MAX_SHARED,
    ContextEntry,
    SharedContexts,
)
from rdfcrawl.downloader.contexts.download import ContextOptions, lifetime_secs
from rdfcrawl.rdf.environment import MAX_CONTEXT_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfcrawl.downloader.options import FetchOptions
    from tests.conftest import RawRequest, RawServers, Reply
    from tests.support.redis_fixtures import RedisServer

    MakeOptions = Callable[..., FetchOptions]
from tests.support.context_workers import (
    CONTEXT,
    FAST,
    HTML,
    LD,
    STALE,
    moved,
    response,
    worker,
)


@pytest.mark.parametrize(
    ("cache_control", "secs"),
    [
        ("", 86_400.0),
        ("public", 86_400.0),
        ("max-age=7200", 7200.0),
        ('Public, Max-Age="7200"', 7200.0),
        ("max-age=0", 600.0),
        ("no-cache", 600.0),
        ("max-age=7200, no-store", 600.0),
        ("max-age=9999999999", 604_800.0),
        ("s-max-age=3, xmax-age=4", 86_400.0),
        ("max-age=soon", 86_400.0),
    ],
)
def test_lifetime_is_what_the_server_says(cache_control: str, secs: float) -> None:
    """If `Cache-Control` has a lifetime, then it counts, within bounds."""
    assert lifetime_secs(cache_control, ContextOptions()) == secs


VALIDATORS: list[Any] = [
    pytest.param({"ETag": '"a"'}, "if-none-match", '"a"', id="etag"),
    pytest.param(
        {"Last_Modified": "Sat, 01 Jan 2022 00:00:00 GMT"},
        "if-modified-since",
        "Sat, 01 Jan 2022 00:00:00 GMT",
        id="date",
    ),
]


@pytest.mark.parametrize(("headers", "name", "value"), VALIDATORS)
async def test_stale_context_is_asked_for_with_its_validators(
    raw_server: RawServers,
    fetch_options: MakeOptions,
    headers: dict[str, str],
    name: str,
    value: str,
) -> None:
    """If a stale context has not changed (304), then it is used unchanged."""

    def reply(request: RawRequest) -> bytes:
        if request.headers.get(name) == value:
            return b"HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=7200\r\n\r\n"
        return raw_server.response(CONTEXT, LD, **headers)

    server = await raw_server({"/c": raw_server.redirect("/d"), "/d": reply})
    async with worker(fetch_options(), STALE) as one:
        first = await one.load(server.url("/c"))
        assert await one.load(server.url("/c")) == first
        assert one.store.peek(server.url("/c")) == first
        assert one.counts == {"fetched": 1, "not_modified": 1, "memory": 1}
    assert server.targets == ["/c", "/d"] * 2
    assert name not in server.requests[2].headers


async def test_changed_context_replaces_the_stale_one(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a stale context has changed, then the new one is used."""
    server = await raw_server({"/c": raw_server.response(CONTEXT, LD, ETag='"a"')})
    async with worker(fetch_options(), STALE) as one:
        await one.load(server.url("/c"))
        server.pages["/c"] = response(b'{"@context": {}}')
        assert (await one.load(server.url("/c"))).content == b'{"@context": {}}'


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(response(b"", status="500 X"), id="500"),
        pytest.param(["reset"], id="reset"),
        pytest.param(response(b"", status="403 No"), id="403"),
        pytest.param(moved("/c"), id="loop"),
        pytest.param(response(HTML, "text/html"), id="page"),
        pytest.param(response(b'{"error": 1}'), id="error"),
        pytest.param(response(CONTEXT[:-2]), id="cut"),
        pytest.param(response(CONTEXT + b" " * MAX_CONTEXT_BYTES), id="large"),
    ],
)
async def test_stale_context_is_used_if_there_is_no_other(
    raw_server: RawServers, fetch_options: MakeOptions, reply: Reply
) -> None:
    """If a context is unavailable or none, but not gone, then the old one is used."""
    server = await raw_server({"/c": response(CONTEXT)})
    async with worker(fetch_options(), STALE) as one:
        await one.load(server.url("/c"))
        server.pages["/c"] = reply
        assert (await one.load(server.url("/c"))).content == CONTEXT
        assert one.counts == {"fetched": 1, "stale": 1}
        server.pages["/c"] = response(b"", status="404 No")
        assert (await one.load(server.url("/c"))).content == CONTEXT


async def test_stale_context_that_is_gone_is_not_used(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a context was removed, then the old one is no longer used."""
    server = await raw_server({"/c": response(CONTEXT)})
    async with worker(fetch_options(), STALE) as one:
        await one.load(server.url("/c"))
        server.pages["/c"] = response(b"", status="404 No")
        assert "not_found" in await one.refusal(server.url("/c"))


async def test_fault_is_forgotten_after_a_while(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a context was missing, then it is requested again later."""
    server = await raw_server({})
    async with worker(fetch_options(), replace(FAST, fault_secs=-1.0)) as one:
        assert "not_found" in await one.refusal(server.url("/c"))
        server.pages["/c"] = response(CONTEXT)
        assert (await one.load(server.url("/c"))).content == CONTEXT


def entry_of(content: bytes, **changes: Any) -> ContextEntry:
    """Return an entry that is fresh."""
    until = time.time() + 60
    fields = {"fresh_until": until, "stale_until": until + 60, **changes}
    return ContextEntry(url="http://e.org/c", content=content, **fields)


def test_memory_is_bounded() -> None:
    """If contexts are more than memory may hold, then those used last stay."""
    memory = SizedMemory[str, ContextEntry](sys.maxsize, max_bytes=10_000)
    for n in range(20):
        memory.keep(str(n), entry_of(b"x" * 1000), 60.0)
        memory.fresh("0")
    assert memory.fresh("0")
    assert memory.fresh("19")
    assert memory.last("1") is None
    memory.keep("huge", entry_of(b"x" * 20_000), 60.0)
    assert memory.last("huge") is None
    memory.keep("0", entry_of(b"y"), 60.0)
    found = memory.fresh("0")
    assert found is not None
    assert found.content == b"y"


async def test_workers_share_what_one_fetched(
    raw_server: RawServers, fetch_options: MakeOptions, redis: Redis
) -> None:
    """If one worker fetched a context, then the next one finds it in Redis."""
    server = await raw_server({"/c": response(CONTEXT)})
    async with worker(fetch_options(), redis=redis) as one:
        first = await one.load(server.url("/c"))
    async with worker(fetch_options(), redis=redis) as two:
        assert await two.load(server.url("/c")) == first
        assert two.store.peek(server.url("/c")) == first
        assert two.counts == {"shared": 1, "memory": 1}
    assert server.targets == ["/c"]


async def test_workers_share_faults(
    raw_server: RawServers, fetch_options: MakeOptions, redis: Redis
) -> None:
    """If one worker found no context, then the next one does not ask."""
    server = await raw_server({})
    async with worker(fetch_options(), redis=redis) as one:
        detail = await one.refusal(server.url("/c"))
    async with worker(fetch_options(), redis=redis) as two:
        assert await two.refusal(server.url("/c")) == detail
    assert server.targets == ["/c"]


async def test_workers_at_the_same_time_ask_once(
    raw_server: RawServers, fetch_options: MakeOptions, redis: Redis
) -> None:
    """If two workers want a context in parallel, then one requests it for both."""
    reply: Reply = [0.3, response(CONTEXT)]
    server = await raw_server({"/c": reply})
    async with (
        worker(fetch_options(), redis=redis) as one,
        worker(fetch_options(), redis=redis) as two,
    ):
        found = await asyncio.gather(
            one.load(server.url("/c")), two.load(server.url("/c"))
        )
        assert one.counts + two.counts == {"fetched": 1, "shared": 1}
    assert {each.content for each in found} == {CONTEXT}
    assert server.targets == ["/c"]


async def test_validators_are_shared(
    raw_server: RawServers, fetch_options: MakeOptions, redis: Redis
) -> None:
    """If a worker finds a stale context in Redis, then it sends its validators."""

    def reply(request: RawRequest) -> bytes:
        if request.headers.get("if-none-match") == '"a"':
            return b"HTTP/1.1 304 Not Modified\r\n\r\n"
        return raw_server.response(CONTEXT, LD, ETag='"a"')

    server = await raw_server({"/c": reply})
    async with worker(fetch_options(), STALE, redis=redis) as one:
        await one.load(server.url("/c"))
    async with worker(fetch_options(), redis=redis) as two:
        assert (await two.load(server.url("/c"))).content == CONTEXT
        assert two.counts == {"not_modified": 1}
    async with worker(fetch_options(), redis=redis) as three:
        assert (await three.load(server.url("/c"))).content == CONTEXT
        assert three.counts == {"shared": 1}


@pytest.mark.parametrize("directive", ["no-store", "private"])
async def test_unshareable_context_stays_with_its_worker(
    raw_server: RawServers, fetch_options: MakeOptions, redis: Redis, directive: str
) -> None:
    """If a server forbids shared caches, then Redis does not hold its context."""
    reply = raw_server.response(CONTEXT, LD, Cache_Control=directive)
    server = await raw_server({"/c": reply})
    async with worker(fetch_options(), redis=redis) as one:
        await one.load(server.url("/c"))
        await one.load(server.url("/c"))
    assert server.targets == ["/c"]
    assert await redis.keys("*") == []


async def test_keys_are_the_crawls_own_and_expire(
    raw_server: RawServers, fetch_options: MakeOptions, redis: Redis
) -> None:
    """If contexts are in Redis, then under the crawl's hash tag and for a time."""
    server = await raw_server({"/c": response(CONTEXT)})
    async with worker(fetch_options(), redis=redis) as one:
        await one.load(server.url("/c"))
    keys: list[Any] = sorted(await redis.keys("*"))
    assert all(key.startswith(b"rc:{c}:context") for key in keys)
    assert keys[-1] == b"rc:{c}:contexts"
    assert len(keys) == 2
    assert 0 < await redis.ttl(keys[0]) <= FAST.fresh_secs + FAST.stale_secs


async def test_redis_holds_so_many_contexts(redis: Redis) -> None:
    """If contexts are more than Redis is to hold, then the oldest ones go."""
    shared = SharedContexts(redis, "rc:{{c}}:{}".format, count=lambda _: None)
    for n in range(MAX_SHARED + 5):
        await shared.put(f"http://e.org/{n}", entry_of(b"{}"))
    assert await redis.zcard("rc:{c}:contexts") == MAX_SHARED
    assert await redis.dbsize() == MAX_SHARED + 1
    assert await shared.get("http://e.org/4") is None
    assert await shared.get("http://e.org/5")


async def test_large_context_is_not_shared(redis: Redis) -> None:
    """If a context stays large when compressed, then it is not put into Redis."""
    shared = SharedContexts(redis, "rc:{{c}}:{}".format, count=lambda _: None)
    noise = str([hash(str(n)) for n in range(20_000)]).encode()
    await shared.put("http://e.org/", entry_of(noise))
    assert await redis.dbsize() == 0


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"nonsense",
        entry_of(CONTEXT).to_bytes()[:-3],
        entry_of(b"x" * (MAX_CONTEXT_BYTES + 100_000)).to_bytes(),
        ContextEntry(fresh_until=0, stale_until=0).to_bytes()[::-1],
    ],
    ids=["empty", "nonsense", "cut", "bomb", "reversed"],
)
async def test_what_others_wrote_into_redis_is_passed_over(packed: bytes) -> None:
    """If an entry is not one of ours, then there is none."""
    assert ContextEntry.from_bytes(packed) is None


def test_entry_survives_redis() -> None:
    """If an entry is packed, then the same one is unpacked."""
    entry = entry_of(b'{"a":\n"b"}', etag='"x"', is_private=True)
    assert ContextEntry.from_bytes(entry.to_bytes()) == entry


async def test_crawl_goes_on_without_redis(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If Redis does not respond, then each worker fetches for itself."""
    server = await raw_server({"/c": response(CONTEXT)})
    options = replace(FAST, delay_secs=0.01)
    async with (
        Redis(
            unix_socket_path="/nonexistent/redis.sock", retry=Retry(NoBackoff(), 0)
        ) as dead,
        worker(fetch_options(), options, redis=dead) as one,
    ):
        assert (await one.load(server.url("/c"))).content == CONTEXT
        assert one.counts["fetched"] == 1
        assert one.counts["unshared"] > 0


async def test_claim_of_a_dead_worker_ends(
    raw_server: RawServers, fetch_options: MakeOptions, redis_server: RedisServer
) -> None:
    """If the worker that fetches dies, then its claim runs out and another fetches."""
    server = await raw_server({"/c": response(CONTEXT)})
    async with redis_server.client() as client:
        shared = SharedContexts(client, "rc:{{c}}:{}".format, count=print)
        assert await shared.claim(server.url("/c")) is None
        (lock,) = await client.keys("*:claim")
        assert 0 < await client.pttl(lock) <= 60_000
        await client.pexpire(lock, 150)
        async with worker(fetch_options(), redis=client) as one:
            assert (await one.load(server.url("/c"))).content == CONTEXT
