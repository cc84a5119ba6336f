"""robots.txt applied to visits, over a real loopback server."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.core.errors import Fault, Reason
from rdfcrawl.core.records import Kind, Record
from rdfcrawl.core.visits import Visit
from rdfcrawl.downloader.http.exchange import HttpExchange
from rdfcrawl.downloader.robots.cache import RobotsCache, RobotsOptions
from rdfcrawl.downloader.robots.policy import RobotsResponse, parse_robots
from rdfcrawl.downloader.robots_txt import RobotsFetch
from rdfcrawl.downloader.spool import Spool
from rdfcrawl.uri.hosts import origin_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from rdfcrawl.downloader.options import FetchOptions
    from rdfcrawl.frontier.request_turns import Take
    from tests.conftest import RawServers, Reply

    MakeOptions = Callable[..., FetchOptions]


@asynccontextmanager
async def cached(
    fetch_options: FetchOptions,
    *,
    url_of: Callable[[Record], Awaitable[str]] | None = None,
    **changes: Any,
) -> AsyncIterator[RobotsCache]:
    """Open a cache on a real exchange, and check that no body is left."""
    with Spool(fetch_options.spool_dir, memory_limit_bytes=1 << 20) as spool:
        async with HttpExchange(fetch_options, spool) as exchange:
            fetch = RobotsFetch(exchange, spool, fetch_options)
            cache = RobotsCache(fetch, RobotsOptions(**changes), url_of=url_of)
            yield cache
            await cache.close()
        assert spool.memory_bytes == 0


def visit_of(*records: Record | str, failures: int = 0) -> Visit:
    """Return a visit with all of `records` pending and no delay."""
    batch = tuple(Record(r) if isinstance(r, str) else r for r in records)
    return Visit(
        key="k",
        partition=0,
        epoch=1,
        records=batch,
        delay_secs=0.0,
        failures=failures,
        pending=list(range(len(batch))),
    )


def check_invariant(visit: Visit) -> None:
    """Each record is pending, the one of a document, or the index of one put back."""
    done = [document.record for document in visit.documents]
    left = [visit.records[index] for index in [*visit.pending, *visit.returned]]
    assert sorted(map(id, [*done, *left])) == sorted(map(id, visit.records))


async def test_disallowed_records_are_struck_out(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a record is disallowed, then it is a document with that fault, unasked."""
    text = b"User-agent: *\nDisallow: /private"
    server = await raw_server({"/robots.txt": raw_server.response(text, "text/plain")})
    visit = visit_of(*(server.url(path) for path in ("/a", "/private/b", "/c")))
    async with cached(fetch_options()) as cache:
        await cache.apply(visit)
    check_invariant(visit)
    assert visit.pending == [0, 2]
    assert [d.record.url for d in visit.documents] == [server.url("/private/b")]
    assert visit.documents[0].status == 0
    assert visit.documents[0].faults[0].reason is Reason.ROBOTS_DISALLOWED
    assert server.targets == ["/robots.txt"]
    assert server.requests[0].headers["accept"].startswith("text/plain")


@pytest.mark.parametrize(
    "status", ["403 Forbidden", "404 Not Found", "410 Gone"], ids=lambda s: s[:3]
)
async def test_unavailable_robots_allows_all(
    raw_server: RawServers, fetch_options: MakeOptions, status: str
) -> None:
    """If robots.txt is 4xx, then all is allowed and the body is not read."""
    text = b"User-agent: *\nDisallow: /"
    reply = raw_server.response(text, "text/plain", status=status)
    server = await raw_server({"/robots.txt": reply})
    visit = visit_of(server.url("/a"))
    async with cached(fetch_options()) as cache:
        await cache.apply(visit)
    assert visit.pending == [0]


UNREACHABLE: list[Any] = [
    pytest.param("500 Oops", Reason.ROBOTS_UNREACHABLE, id="500"),
    pytest.param("503 Busy", Reason.ROBOTS_UNREACHABLE, id="503"),
    pytest.param("429 Slow", Reason.ROBOTS_UNREACHABLE, id="429"),
    pytest.param("", Reason.BAD_HTTP, id="closed"),
]


@pytest.mark.parametrize(("status", "last_reason"), UNREACHABLE)
@pytest.mark.parametrize("failures", [0, 1, 2])
async def test_unreachable_robots_puts_the_host_off(
    raw_server: RawServers,
    fetch_options: MakeOptions,
    status: str,
    last_reason: Reason,
    failures: int,
) -> None:
    """If robots.txt is unavailable, then nothing is requested, and all is given up."""
    reply: Reply = raw_server.response(status=status) if status else [None]
    server = await raw_server({"/robots.txt": reply})
    visit = visit_of(server.url("/a"), server.url("/b"), failures=failures)
    async with cached(fetch_options(), put_off_secs=10.0) as cache:
        await cache.apply(visit)
    check_invariant(visit)
    assert not status or server.targets == ["/robots.txt"]
    assert visit.pending == []
    assert visit.host_refused
    if failures < 2:
        assert visit.returned == dict(enumerate(visit.records))
        said = f"status {status[:3]}" if status else "the server closed the connection"
        assert {each.refusal for each in visit.returned.values()} == {
            f"robots_unreachable: {said}"
        }
        assert visit.not_before_secs == 10.0 * 2**failures
    else:
        for document in visit.documents:
            assert document.faults[0].reason is Reason.ROBOTS_UNREACHABLE
            assert document.faults[-1].reason is last_reason
        assert len(visit.documents) == 2
        assert visit.not_before_secs == 0.0


async def test_retry_after_of_robots_is_obeyed(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a busy host says for how long, then it is left alone so long."""
    reply = raw_server.response(status="503 Busy", Retry_After="1234")
    server = await raw_server({"/robots.txt": reply})
    visit = visit_of(server.url("/a"))
    async with cached(fetch_options()) as cache:
        await cache.apply(visit)
    assert visit.not_before_secs == 1234.0


async def test_one_unreachable_origin_does_not_put_off_the_rest(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If one origin of a key has no readable robots.txt, then the others go on."""
    bad = await raw_server({"/robots.txt": raw_server.response(status="500 X")})
    good = await raw_server()
    visit = visit_of(
        bad.url("/a"), good.url("/b"), Record(bad.url("/c"), retries=3), failures=2
    )
    async with cached(fetch_options()) as cache:
        await cache.apply(visit)
    check_invariant(visit)
    assert visit.pending == [1]
    assert {i: record.retries for i, record in visit.returned.items()} == {0: 1}
    assert visit.documents[0].faults[0].reason is Reason.ROBOTS_UNREACHABLE
    assert not visit.host_refused


@pytest.mark.parametrize(("n_hops", "allowed"), [(5, False), (6, True)])
async def test_redirects_of_robots_are_followed(
    raw_server: RawServers, fetch_options: MakeOptions, n_hops: int, *, allowed: bool
) -> None:
    """If robots.txt redirects at most five times, then that text counts (2.3.1.2)."""
    other = await raw_server(host="127.0.0.2")
    text = raw_server.response(b"User-agent: *\nDisallow: /", "text/plain")
    pages: dict[str, Reply] = {"/robots.txt": raw_server.redirect(other.url("/1"))}
    server = await raw_server(pages)
    for hop in range(1, n_hops):
        other.pages[f"/{hop}"] = raw_server.redirect(f"/{hop + 1}")
    other.pages[f"/{n_hops}"] = text
    visit = visit_of(server.url("/a"))
    async with cached(fetch_options()) as cache:
        await cache.apply(visit)
    assert visit.pending == ([0] if allowed else [])


@pytest.mark.parametrize(
    ("text", "own_secs", "delay_secs", "reason"),
    [
        ("2", 1.0, 2.0, None),
        ("0.5", 1.0, 1.0, None),
        ("60", 1.0, 60.0, None),
        ("61", 1.0, 1.0, Reason.CRAWL_DELAY_TOO_LONG),
    ],
)
async def test_crawl_delay(
    text: str,
    own_secs: float,
    delay_secs: float,
    reason: Reason | None,
) -> None:
    """If `Crawl-delay` is longer than the delay it counts; if too long, none is."""

    async def fetch(_: str, _take: Take) -> RobotsResponse:
        body = f"User-agent: *\nCrawl-delay: {text}".encode()
        return RobotsResponse(status=200, body=body)

    cache = RobotsCache(fetch, RobotsOptions())
    visit = visit_of("http://h.example/a")
    visit.delay_secs = own_secs
    assert await cache.apply(visit) == visit.delay_secs == delay_secs
    assert [d.faults[0].reason for d in visit.documents] == ([reason] if reason else [])
    check_invariant(visit)


@pytest.mark.parametrize("location", ["", "sftp://h.example/", "http://["])
async def test_robots_that_redirects_nowhere_is_unavailable(
    raw_server: RawServers, fetch_options: MakeOptions, location: str
) -> None:
    """If robots.txt redirects to a URL that is not crawled, then there are no rules."""
    server = await raw_server({"/robots.txt": raw_server.redirect(location)})
    visit = visit_of(server.url("/a"))
    async with cached(fetch_options()) as cache:
        await cache.apply(visit)
    assert visit.pending == [0]
    assert server.targets == ["/robots.txt"]


async def test_origins_have_rules_of_their_own(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If two origins share a host, then the rules of one are not the other's."""
    text = b"User-agent: *\nDisallow: /"
    strict = await raw_server({"/robots.txt": raw_server.response(text, "text/plain")})
    lenient = await raw_server()
    visit = visit_of(strict.url("/a"), lenient.url("/a"))
    async with cached(fetch_options()) as cache:
        await cache.apply(visit)
    assert visit.pending == [1]


async def test_robots_is_fetched_once(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If many ask at once and again, then robots.txt is fetched one time."""
    reply: Reply = [0.05, raw_server.response(b"", "text/plain")]
    server = await raw_server({"/robots.txt": reply})
    async with cached(fetch_options()) as cache:
        visits = [visit_of(server.url(f"/{n}")) for n in range(8)]
        tasks = [asyncio.create_task(cache.apply(visit)) for visit in visits]
        await asyncio.sleep(0.01)
        tasks[0].cancel()  # the first caller must not take it from the others
        results = await asyncio.gather(*tasks, return_exceptions=True)
        await cache.apply(visits[0])
    assert isinstance(results[0], asyncio.CancelledError)
    assert results[1:] == [0.0] * 7
    assert server.targets == ["/robots.txt"]


async def test_rules_expire_but_outlive_an_outage(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If old rules cannot be renewed, then they still hold (RFC 9309 2.4)."""
    text = b"User-agent: *\nDisallow: /a"
    server = await raw_server({"/robots.txt": raw_server.response(text, "text/plain")})
    async with cached(fetch_options(), ttl_secs=1e-9, stale_secs=60.0) as cache:
        assert await cache.rules(origin_of(server.url()))
        server.pages["/robots.txt"] = raw_server.response(status="503 Busy")
        for _ in range(3):
            visit = visit_of(server.url("/a"), server.url("/b"))
            await cache.apply(visit)
            assert visit.pending == [1]
    assert len(server.requests) == 2


async def test_what_is_asked_for_is_judged(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a source is requested at another port, then by the rules of that port."""
    text = raw_server.response(b"User-agent: *\nDisallow: /api", "text/plain")
    server = await raw_server({})
    port = await raw_server({"/robots.txt": text})
    source = Record(server.url("/"), Kind.SPARQL)
    visit = visit_of(source, server.url("/api/page"))

    async def url_of(_: Record) -> str:
        return port.url("/api/query")

    async with cached(fetch_options(), url_of=url_of) as cache:
        await cache.apply(visit)
    check_invariant(visit)
    assert visit.pending == [1]
    assert visit.documents[0].faults == [Fault(Reason.ROBOTS_DISALLOWED)]


async def test_cache_is_bounded() -> None:
    """If many origins have rules, then the latest used are kept within limits."""
    asked: list[str] = []

    async def fetch(url: str, _take: Take) -> RobotsResponse:
        asked.append(url)
        return RobotsResponse(status=200, body=b"User-agent: *\nDisallow: /x")

    size = parse_robots(b"User-agent: *\nDisallow: /x").n_bytes
    for options in (RobotsOptions(max_origins=2), RobotsOptions(max_bytes=2 * size)):
        asked.clear()
        cache = RobotsCache(fetch, options)
        for name in "abacab":
            await cache.rules(f"http://{name}.example")
        assert [url[7] for url in asked] == ["a", "b", "c", "b"]


async def test_text_beyond_the_limit_is_no_fault(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If robots.txt is endless, then its first 500 KiB are the rules."""
    text = b"User-agent: *\nDisallow: /private\n" + b"# comment\n" * 60_000
    server = await raw_server({"/robots.txt": raw_server.response(text, "text/plain")})
    visit = visit_of(server.url("/private"), server.url("/b"))
    async with cached(fetch_options()) as cache:
        await cache.apply(visit)
    assert visit.pending == [1]
