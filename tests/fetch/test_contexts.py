"""Contexts of JSON-LD over real loopback servers, shared through a real Redis."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.extraction.messages import ReadingJob
from rdfcrawl.extraction.sandbox import Sandbox
from rdfcrawl.fetch.contexts.cache import (
    MAX_SHARED,
    ContextEntry,
    MemoryContexts,
    SharedContexts,
)
from rdfcrawl.fetch.contexts.download import ContextDownloader, lifetime_secs
from rdfcrawl.fetch.contexts.options import ContextHosts, ContextOptions
from rdfcrawl.fetch.contexts.store import ContextStore
from rdfcrawl.fetch.http.exchange import HttpExchange
from rdfcrawl.fetch.robots_txt import RobotsFetch
from rdfcrawl.fetch.spool import Spool
from rdfcrawl.guard.gate import ConnectionGate
from rdfcrawl.guard.policy import Guard, parse_networks
from rdfcrawl.rdf.jsonld.sources import MAX_CONTEXT_BYTES
from rdfcrawl.robots.cache import RobotsCache, RobotsOptions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from rdfcrawl.fetch.options import FetchOptions
    from rdfcrawl.rdf.jsonld.sources import ContextDocument
    from tests.conftest import RawRequest, RawServers, Reply
    from tests.support.redis_fixtures import RedisServer

    MakeOptions = Callable[..., FetchOptions]

CONTEXT = b'{"@context": {"name": "http://schema.org/name"}}'
LD = "application/ld+json"
ELSEWHERE = "http://elsewhere.example/page"
# Servers on 127.0.0.1 stand for the public web, all else of loopback is private.
PUBLIC = Guard(parse_networks(["127.0.0.1"]))
PRIVATE = "127.0.0.2"
FAST = ContextOptions(delay_secs=0.0, load_secs=60.0, timeout_secs=30.0)
STALE = replace(FAST, fresh_secs=-1.0)


class Worker:
    """A store, and what it counted."""

    def __init__(self, store: ContextStore, counts: Counter[str]) -> None:
        self.store = store
        self.counts = counts

    async def load(self, url: str, of: str = ELSEWHERE) -> ContextDocument:
        """Return a context."""
        return await self.store.load(url, document_url=of)

    async def refusal(self, url: str, of: str = ELSEWHERE) -> str:
        """Return why a context cannot be had."""
        with pytest.raises(SourceFault) as raised:
            await self.load(url, of)
        assert raised.value.fault.reason is Reason.REMOTE_CONTEXT
        return raised.value.fault.detail


@asynccontextmanager
async def worker(
    fetch: FetchOptions,
    options: ContextOptions = FAST,
    *,
    redis: Redis | None = None,
    has_robots: bool = False,
    hosts: ContextHosts | None = None,
) -> AsyncIterator[Worker]:
    """Open a store as a worker has it, and check that no body is left."""
    fetch = replace(fetch, guard=PUBLIC)
    counts: Counter[str] = Counter()

    def count(what: str) -> None:
        counts[what] += 1

    shared = None
    if redis is not None:
        shared = SharedContexts(redis, "rc:{{c}}:{}".format, count=count)
    with Spool(fetch.spool_dir, memory_limit_bytes=1 << 22) as spool:
        async with HttpExchange(
            fetch, spool, gate=ConnectionGate(fetch.guard)
        ) as exchange:
            robots = None
            if has_robots:
                get = RobotsFetch(exchange, spool, fetch)
                robots = RobotsCache(get, RobotsOptions())
            download = ContextDownloader(
                exchange=exchange,
                robots=robots,
                spool=spool,
                fetch=fetch,
                options=options,
                hosts=hosts or ContextHosts(),
            )
            store = ContextStore(download, options, shared=shared, count=count)
            yield Worker(store, counts)
            await store.close()
        assert spool.memory_bytes == 0
        assert not list(spool.folder.iterdir())


# -- what is fetched -----------------------------------------------------------------


async def test_context_is_fetched_once(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a context was loaded, then it is at hand, and nobody asks for it again."""
    server = await raw_server({"/c": raw_server.response(CONTEXT, LD)})
    url = server.url("/c")
    async with worker(fetch_options()) as one:
        assert one.store.peek(url) is None
        first = await one.load(url)
        again = await one.load(url, "http://another.example/")
        assert first == again == one.store.peek(url + "#x")
        assert (first.url, first.content) == (url, CONTEXT)
        assert one.counts == {"fetched": 1, "memory": 2}
    assert server.targets == ["/c"]
    assert server.requests[0].headers["accept"].startswith(LD)
    assert server.requests[0].headers["user-agent"] == "rdfcrawl-test"


async def test_loads_at_the_same_time_are_one(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If many documents want a context at once, then it is asked for once."""
    reply: Reply = [0.05, raw_server.response(CONTEXT, LD)]
    server = await raw_server({"/c": reply})
    async with worker(fetch_options()) as one:
        loads = [one.load(server.url("/c"), f"http://e.org/{n}") for n in range(20)]
        found = await asyncio.gather(*loads)
    assert {each.content for each in found} == {CONTEXT}
    assert server.targets == ["/c"]


async def test_one_who_gives_up_does_not_take_it_from_the_others(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If one of two waiting loads is cancelled, then the other gets the context."""
    reply: Reply = [0.05, raw_server.response(CONTEXT, LD)]
    server = await raw_server({"/c": reply})
    async with worker(fetch_options()) as one:
        first = asyncio.create_task(one.load(server.url("/c")))
        second = asyncio.create_task(one.load(server.url("/c")))
        await asyncio.sleep(0.01)
        first.cancel()
        assert (await second).content == CONTEXT


TAKEN: list[Any] = [
    pytest.param(CONTEXT, "application/json", CONTEXT, id="json"),
    pytest.param(CONTEXT, "application/x+json", CONTEXT, id="suffix"),
    pytest.param(CONTEXT, f"{LD}; charset=utf-8", CONTEXT, id="charset"),
    pytest.param(CONTEXT, "text/plain", CONTEXT, id="plain"),
    pytest.param(CONTEXT, "", CONTEXT, id="untyped"),
    pytest.param(b"\xef\xbb\xbf" + CONTEXT, LD, CONTEXT, id="byte-order-mark"),
    pytest.param(b"\n " + CONTEXT, LD, b"\n " + CONTEXT, id="space"),
]


@pytest.mark.parametrize(("body", "media_type", "content"), TAKEN)
async def test_json_is_taken(
    raw_server: RawServers,
    fetch_options: MakeOptions,
    body: bytes,
    media_type: str,
    content: bytes,
) -> None:
    """If an answer is a JSON object, then it is the context, whatever its type."""
    server = await raw_server({"/c": raw_server.response(body, media_type)})
    async with worker(fetch_options()) as one:
        assert (await one.load(server.url("/c"))).content == content


async def test_redirects_are_followed(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a context is elsewhere, then its URL is the last one."""
    server = await raw_server(
        {
            "/c": raw_server.redirect("/d", "302 Found"),
            "/d": raw_server.redirect("e?x#y", "301 Moved"),
            "/e?x": raw_server.response(CONTEXT, LD),
        }
    )
    async with worker(fetch_options()) as one:
        assert (await one.load(server.url("/c"))).url == server.url("/e?x")


@pytest.mark.parametrize("media_type", ["text/html", "text/turtle"])
async def test_alternate_of_a_page_is_followed(
    raw_server: RawServers, fetch_options: MakeOptions, media_type: str
) -> None:
    """If a page says where it is as JSON-LD, then that is the context (API 9.4)."""
    link = f'<ctx.jsonld>; rel="alternate"; type="{LD}"'
    server = await raw_server(
        {
            "/v/": raw_server.response(b"<html>", media_type, Link=link),
            "/v/ctx.jsonld": raw_server.response(CONTEXT, LD),
        }
    )
    async with worker(fetch_options()) as one:
        found = await one.load(server.url("/v/"))
    assert (found.url, found.content) == (server.url("/v/ctx.jsonld"), CONTEXT)


async def test_alternate_of_json_is_not_followed(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If an answer is JSON, then it is the context although there is an alternate."""
    link = f'<other>; rel="alternate"; type="{LD}"'
    reply = raw_server.response(CONTEXT, "application/json", Link=link)
    server = await raw_server({"/c": reply})
    async with worker(fetch_options()) as one:
        assert (await one.load(server.url("/c"))).content == CONTEXT
    assert server.targets == ["/c"]


# -- what is refused -----------------------------------------------------------------


def moved(location: str) -> bytes:
    """Return a redirect."""
    head = f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
    return head.encode()


def endless(request: RawRequest) -> bytes:
    """Redirect to a URL that was not asked for yet."""
    return moved(f"{request.target}x")


BIG = b'{"@context": {}, "x": "' + b"x" * MAX_CONTEXT_BYTES + b'"}'
HTML = b"<!DOCTYPE html><html><head><title>schema</title>"


def response(body: bytes, media_type: str = LD, status: str = "200 OK") -> bytes:
    """Return a response."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


REFUSED: list[Any] = [
    pytest.param(response(b"no", status="404 No"), "not_found", id="404"),
    pytest.param(response(b"no", status="410 No"), "gone", id="410"),
    pytest.param(response(b"no", status="403 No"), "client_error", id="403"),
    pytest.param(response(b"no", status="500 No"), "server_error", id="500"),
    pytest.param(response(b"no", status="503 No"), "host_busy", id="503"),
    pytest.param(response(b"", status="304 Same"), "redirect_bad_target", id="304"),
    pytest.param(response(BIG), "too_large", id="huge"),
    pytest.param(response(HTML, "text/html"), "unsupported_format", id="html"),
    pytest.param(response(HTML), "unsupported_format", id="html-named-json"),
    pytest.param(response(b""), "unsupported_format", id="empty"),
    pytest.param(response(b"[1]"), "unsupported_format", id="array"),
    pytest.param(response(b'{"\xff": 1}'), "bad_charset", id="no-utf-8"),
    pytest.param(moved("/c"), "redirect_loop", id="loop"),
    pytest.param(endless, "redirect_limit", id="endless"),
    pytest.param(moved("file:///etc/x"), "bad_target", id="to-file"),
    pytest.param(moved("ftp://e.org/c"), "bad_uri", id="to-ftp"),
    pytest.param(moved(""), "redirect_bad_target", id="to-nowhere"),
    pytest.param([b"HTTP/1.1 200 OK\r\n", 60.0], "timeout", id="slow-head"),
    pytest.param([response(b"{}" * 9)[:-9], 60.0], "timeout", id="slow-body"),
    pytest.param(["reset"], "bad_http", id="reset"),
]


@pytest.mark.parametrize(("reply", "reason"), REFUSED)
async def test_bad_context_is_refused(
    raw_server: RawServers, fetch_options: MakeOptions, reply: Reply, reason: str
) -> None:
    """If there is no context, then the fault says why, and it is not asked again."""
    server = await raw_server({"*": reply})
    options = replace(FAST, timeout_secs=1.0)
    async with worker(fetch_options(), options) as one:
        detail = await one.refusal(server.url("/c"))
        assert reason in detail
        assert server.url("/c") in detail
        n_asked = len(server.requests)
        with pytest.raises(SourceFault):
            one.store.peek(server.url("/c"))
        assert detail == await one.refusal(server.url("/c"))
        assert one.counts == {"failed": 1, "memory": 2}
    assert len(server.requests) == n_asked


async def test_load_has_a_limit_of_time(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If each hop is slow, then the load ends all the same."""
    server = await raw_server({"*": lambda request: [0.2, endless(request)]})
    options = replace(FAST, load_secs=0.3)
    async with worker(fetch_options(), options) as one:
        assert "timeout" in await one.refusal(server.url("/c"))


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://example.org/c",
        "data:application/json,{}",
        "relative",
        "http://[",
        "urn:x:y",
        "",
    ],
)
async def test_url_off_the_web_is_refused(fetch_options: MakeOptions, url: str) -> None:
    """If a context is not on the Web, then nothing is asked."""
    async with worker(fetch_options()) as one:
        await one.refusal(url)
        with pytest.raises(SourceFault):
            one.store.peek(url)


async def test_passing_fault_is_tried_twice(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a connection breaks, then the context is asked for once more."""

    def reply(request: RawRequest) -> Any:
        return [None] if request.nth == 1 else response(CONTEXT)

    server = await raw_server({"/c": reply})
    async with worker(fetch_options()) as one:
        assert (await one.load(server.url("/c"))).content == CONTEXT
    assert server.targets == ["/c", "/c"]


async def test_document_has_a_budget(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a document names very many contexts, then not all of them are asked for."""
    server = await raw_server({"*": response(CONTEXT)})
    async with worker(fetch_options(), replace(FAST, most_per_document=2)) as one:
        await one.load(server.url("/1"))
        await one.load(server.url("/2"))
        assert "over 2 contexts" in await one.refusal(server.url("/3"))
        await one.load(server.url("/3"), "http://another.example/")
        await one.load(server.url("/3"))
    assert server.targets == ["/1", "/2", "/3"]


# -- the guard -----------------------------------------------------------------------


async def test_private_context_is_refused(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a document of the web names a private context, then nobody is asked."""
    server = await raw_server({"*": response(CONTEXT)}, host=PRIVATE)
    async with worker(fetch_options(), has_robots=True) as one:
        assert "guard_blocked" in await one.refusal(server.url("/c"))
    assert server.n_connections == 0


@pytest.mark.parametrize(
    "host", [PRIVATE, "127.2", "2130706434", "0177.0.0.2", "[::1]", "[::ffff:7f00:1]"]
)
@pytest.mark.parametrize("how", ["redirect", "alternate"])
async def test_way_to_a_private_context_is_refused(
    raw_server: RawServers, fetch_options: MakeOptions, host: str, how: str
) -> None:
    """If a public context leads to a private address, then it is not followed."""
    private = await raw_server({"*": response(CONTEXT)}, host=PRIVATE)
    target = f"http://{host}:{private.port}/c"
    link = f'<{target}>; rel="alternate"; type="{LD}"'
    pages = {
        "redirect": moved(target),
        "alternate": raw_server.response(HTML, "text/html", Link=link),
    }
    public = await raw_server({"/c": pages[how]})
    async with worker(fetch_options()) as one:
        assert "guard_blocked" in await one.refusal(public.url("/c"))
    assert private.n_connections == 0


async def test_robots_of_a_public_host_do_not_lead_to_a_private_one(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If robots.txt redirects to a private address, then nobody is asked there."""
    private = await raw_server({"*": response(b"")}, host=PRIVATE)
    public = await raw_server(
        {"/robots.txt": moved(private.url("/")), "/c": response(CONTEXT)}
    )
    async with worker(fetch_options(), has_robots=True) as one:
        assert "robots_unreachable" in await one.refusal(public.url("/c"))
    assert private.n_connections == 0


async def test_private_context_is_refused_to_its_own_origin(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a document was public and its host turns private, then nobody is asked."""
    private = await raw_server({"/c": response(CONTEXT)}, host=PRIVATE)
    async with worker(fetch_options()) as one:
        url, page = private.url("/c"), private.url("/page")
        assert "guard_blocked" in await one.refusal(url, page)
    assert private.n_connections == 0


async def test_private_context_behind_a_public_one_is_for_nobody(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a public context leads to a private site, then not even that gets it so.

    What is kept is kept by the public URL, by which all documents ask.
    """
    private = await raw_server({"/c": response(CONTEXT)}, host=PRIVATE)
    public = await raw_server({"/c": moved(private.url("/c"))})
    async with worker(fetch_options()) as one:
        own = private.url("/page")
        assert "guard_blocked" in await one.refusal(public.url("/c"), own)
        assert "guard_blocked" in await one.refusal(public.url("/c"))
    assert private.n_connections == 0


async def test_public_context_of_the_own_origin_is_for_all(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a site's own context is public, then one fetch serves everybody."""
    server = await raw_server({"/c": response(CONTEXT)})
    async with worker(fetch_options()) as one:
        await one.load(server.url("/c"), server.url("/page"))
        await one.load(server.url("/c"))
    assert server.targets == ["/c"]


# -- manners -------------------------------------------------------------------------


async def test_robots_are_obeyed(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If robots.txt disallows a context, then it is not asked for."""
    text = b"User-agent: *\nDisallow: /private"
    server = await raw_server(
        {"/robots.txt": response(text, "text/plain"), "*": response(CONTEXT)}
    )
    async with worker(fetch_options(), has_robots=True) as one:
        assert "robots_disallowed" in await one.refusal(server.url("/private/c"))
        await one.load(server.url("/c"))
    assert server.targets == ["/robots.txt", "/c"]


@pytest.mark.parametrize(
    ("robots", "reason"),
    [
        (response(b"", status="503 Busy"), "robots_unreachable"),
        (response(b"User-agent: *\nCrawl-delay: 999"), "crawl_delay_too_long"),
    ],
)
async def test_host_that_wants_to_be_left_alone_is(
    raw_server: RawServers, fetch_options: MakeOptions, robots: bytes, reason: str
) -> None:
    """If robots.txt cannot be had or asks for too much, then there is no context."""
    server = await raw_server({"/robots.txt": robots, "*": response(CONTEXT)})
    async with worker(fetch_options(), has_robots=True) as one:
        assert reason in await one.refusal(server.url("/c"))
    assert server.targets == ["/robots.txt"]


async def test_requests_to_a_host_keep_the_delay(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If several contexts lie on one host, then the delay is between the requests."""
    server = await raw_server({"*": response(CONTEXT)})
    options = replace(FAST, delay_secs=0.1)
    async with worker(fetch_options(), options, has_robots=True) as one:
        await asyncio.gather(*(one.load(server.url(f"/{n}")) for n in range(3)))
    times = [request.at for request in server.requests]
    assert len(times) == 4
    assert min(b - a for a, b in itertools.pairwise(times)) >= 0.05


# -- freshness -----------------------------------------------------------------------


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
    """If a stale context has not changed (304), then it is used as it was."""

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
        server.pages["/c"] = response(b"{}")
        assert (await one.load(server.url("/c"))).content == b"{}"


@pytest.mark.parametrize(
    "reply", [response(b"", status="500 X"), ["reset"]], ids=["500", "reset"]
)
async def test_stale_context_is_used_if_nobody_answers(
    raw_server: RawServers, fetch_options: MakeOptions, reply: Reply
) -> None:
    """If a context cannot be asked for at the moment, then the old one is used."""
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
    """If a context was taken away, then the old one is not used any more."""
    server = await raw_server({"/c": response(CONTEXT)})
    async with worker(fetch_options(), STALE) as one:
        await one.load(server.url("/c"))
        server.pages["/c"] = response(b"", status="404 No")
        assert "not_found" in await one.refusal(server.url("/c"))


async def test_fault_is_forgotten_after_a_while(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a context was not there, then it is asked for again later."""
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
    memory = MemoryContexts(max_bytes=10_000)
    for n in range(20):
        memory.put(str(n), entry_of(b"x" * 1000))
        memory.get("0")
    assert memory.get("0")
    assert memory.get("19")
    assert memory.get("1") is None
    memory.put("huge", entry_of(b"x" * 20_000))
    assert memory.get("huge") is None
    memory.put("0", entry_of(b"y"))
    found = memory.get("0")
    assert found is not None
    assert found.content == b"y"


# -- Redis ---------------------------------------------------------------------------


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
    """If two workers want a context at once, then one of them asks for both."""
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
    """If a worker finds a stale context in Redis, then it asks with its validators."""

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
    """If Redis does not answer, then each worker fetches for itself."""
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


# -- the way into the sandbox --------------------------------------------------------


async def test_sandboxed_document_gets_its_context(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a document in a child names a context, then the parent fetches it."""
    server = await raw_server({"/c": response(CONTEXT)})
    page = "http://example.org/page"
    body = f'{{"@context": "{server.url("/c")}", "name": "N"}}'.encode()
    async with worker(fetch_options()) as one:

        async def load(url: str, *, document_url: str) -> ContextDocument:
            return await one.store.load(url, document_url=document_url)

        async with Sandbox(load_context=load) as sandbox:
            job = ReadingJob(url=page, graph=page, media_type=LD)
            reading = await sandbox.read(body, job)
            quads = b"".join([chunk async for chunk in reading])
    assert reading.outcome.faults == []
    assert b'<http://schema.org/name> "N" <http://example.org/page>' in quads


async def test_sandboxed_document_hears_of_a_refusal(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a document in a child names a private context, then that is its fault."""
    server = await raw_server({"/c": response(CONTEXT)}, host=PRIVATE)
    body = f'{{"@context": "{server.url("/c")}", "name": "N"}}'.encode()
    async with worker(fetch_options()) as one:

        async def load(url: str, *, document_url: str) -> ContextDocument:
            return await one.store.load(url, document_url=document_url)

        async with Sandbox(load_context=load) as sandbox:
            job = ReadingJob(url=ELSEWHERE, graph=None, media_type=LD)
            reading = await sandbox.read(body, job)
            assert [chunk async for chunk in reading] == []
    (fault,) = reading.outcome.faults
    assert fault.reason is Reason.REMOTE_CONTEXT
    assert "guard_blocked" in fault.detail
    assert server.n_connections == 0


async def test_peek_asks_nobody(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a context is not in memory, then looking for it makes no request."""
    server = await raw_server({"/c": response(CONTEXT)})
    async with worker(fetch_options()) as one:
        assert one.store.peek(server.url("/c")) is None
    assert server.n_connections == 0
