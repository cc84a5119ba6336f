"""A visit to a source: requests of its records, and targets of their redirects."""

from __future__ import annotations

import asyncio
import gzip
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.records import Kind, Record
from rdfcrawl.core.tasks import SamplePage
from rdfcrawl.core.visits import Visit
from rdfcrawl.downloader.client import MAX_ERROR_BODY_BYTES, HttpRequest, RequestOptions
from rdfcrawl.downloader.http.exchange import HttpExchange
from rdfcrawl.downloader.redirects import moved, options_after
from rdfcrawl.downloader.robots.cache import RobotsCache, RobotsOptions
from rdfcrawl.downloader.robots.policy import RobotsResponse
from rdfcrawl.downloader.spool import Spool
from rdfcrawl.downloader.visit import VisitMaker
from rdfcrawl.uri import host_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from rdfcrawl.downloader.options import FetchOptions
    from rdfcrawl.frontier.request_turns import Take
    from tests.conftest import RawServers

    MakeOptions = Callable[..., FetchOptions]
    Questions = Callable[[Record], Awaitable[HttpRequest | None]]

SECRET = ("Authorization", "key")


@asynccontextmanager
async def visiting(
    options: FetchOptions, request_for: Questions, *, key: str = ""
) -> AsyncIterator[VisitMaker]:
    """Open a visitor that knows sources, and takes every URL for seen."""

    async def is_new(_url: str) -> bool:
        return False

    with Spool(options.spool_dir, memory_limit_bytes=1 << 20) as spool:
        async with HttpExchange(options, spool) as exchange:
            yield VisitMaker(
                exchange,
                spool,
                options,
                key_of=lambda url: key or host_of(url),
                is_new=is_new,
                request_for=request_for,
            )


async def run(
    options: FetchOptions, request_for: Questions, *records: Record, key: str = ""
) -> Visit:
    """Make one visit, and check that each record is in one place."""
    visit = Visit(
        key=key or host_of(records[0].url),
        partition=0,
        epoch=1,
        records=records,
        delay_secs=0.0,
        pending=list(range(len(records))),
    )
    async with visiting(options, request_for, key=key) as visitor:
        await visitor.visit(visit)
        done = [document.record for document in visit.documents]
        back = [records[index] for index in visit.returned]
        assert sorted(map(id, [*done, *back])) == sorted(map(id, records))
        for document in visit.documents:
            visitor.spool.release(document.response)
        assert visitor.spool.memory_bytes == 0
    return visit


def record_of(url: str, task: str = "0") -> Record:
    """Return a record of a source."""
    return Record(url, Kind.CKAN, task=task_of(task))


def task_of(name: str) -> SamplePage:
    """Return a task that has a name."""
    return SamplePage("", name)


def name_of(record: Record) -> str:
    """Return the name of a record's task."""
    assert isinstance(record.task, SamplePage)
    return record.task.uri


async def test_question_that_fails_costs_its_record_alone(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a source fails to make a request, then all other records are requested."""
    server = await raw_server({"*": raw_server.response(b"{}")})

    async def request_for(record: Record) -> HttpRequest | None:
        if name_of(record) == "bad":
            raise SourceFault(Reason.BAD_TERM, "no task")
        if name_of(record) == "bug":
            raise ValueError(name_of(record))
        return None

    url = server.url("/")
    tasks = ("bug", "1", "bad", "2")
    visit = await run(
        fetch_options(), request_for, *(record_of(url, task) for task in tasks)
    )
    found = {name_of(d.record): [f.reason for f in d.faults] for d in visit.documents}
    assert found == {"1": [], "bad": [Reason.BAD_TERM], "2": []}
    assert [(index, r.retries) for index, r in visit.returned.items()] == [(0, 1)]
    assert server.targets == ["/", "/"]


async def test_question_that_always_fails_is_a_fault_in_the_end(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a source has failed with a record often enough, then that is its document."""
    server = await raw_server({"*": raw_server.response(b"{}")})

    async def request_for(_record: Record) -> HttpRequest | None:
        raise ValueError

    record = Record(server.url("/"), Kind.CKAN, task=task_of("0"), retries=3)
    visit = await run(fetch_options(), request_for, record)
    assert [d.faults[0].reason for d in visit.documents] == [Reason.INTERNAL]


async def test_question_to_another_host_is_not_asked(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a source would ask another host than the record's, then that is a fault."""
    other = await raw_server({"*": raw_server.response(b"{}")}, host="127.0.0.2")

    async def request_for(_record: Record) -> HttpRequest | None:
        return HttpRequest(url=other.url("/"))

    visit = await run(fetch_options(), request_for, record_of("http://127.0.0.1/"))
    assert [d.faults[0].reason for d in visit.documents] == [Reason.CROSS_SITE]
    assert not other.requests


async def test_cancelled_question_loses_nothing(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a visit is cancelled while a source thinks, then all records go back."""
    server = await raw_server()

    async def request_for(_record: Record) -> HttpRequest | None:
        await asyncio.sleep(60)
        return None

    records = tuple(record_of(server.url("/"), str(n)) for n in range(3))
    visit = Visit(
        key="k",
        partition=0,
        epoch=1,
        records=records,
        delay_secs=0.0,
        pending=[0, 1, 2],
    )
    async with visiting(fetch_options(), request_for) as visitor:
        task = asyncio.create_task(visitor.visit(visit))
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert visit.returned == dict(enumerate(records))


async def test_post_becomes_a_get_or_stays_one(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a POST is redirected, then 303 makes it a GET and 307 leaves it unchanged."""
    server = await raw_server(
        {
            "/303": raw_server.redirect("/b"),
            "/307": raw_server.redirect("/b", "307 Temporary Redirect"),
            "/b": raw_server.response(b"{}"),
        }
    )

    async def request_for(record: Record) -> HttpRequest | None:
        headers = (("Content-Type", "application/sparql-query"),)
        return HttpRequest(url=record.url, headers=headers, data=b"ASK {}")

    records = [Record(server.url(path), Kind.SPARQL) for path in ("/303", "/307")]
    visit = await run(fetch_options(), request_for, *records)
    assert [document.status for document in visit.documents] == [200, 200]
    asked = [(r.target, r.method, "content-type" in r.headers) for r in server.requests]
    assert asked == [
        ("/303", "POST", True),
        ("/b", "GET", False),
        ("/307", "POST", True),
        ("/b", "POST", True),
    ]


async def test_source_whose_redirect_target_was_seen_is_asked_all_the_same(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a source redirects to a URL of an earlier run, it is requested again."""
    server = await raw_server(
        {"/a": raw_server.redirect("/b"), "/b": raw_server.response(b"{}")}
    )

    async def request_for(_record: Record) -> HttpRequest | None:
        return None

    changed = Record(server.url("/a"), change="2a")
    same = Record(server.url("/a"))
    visit = await run(
        fetch_options(), request_for, record_of(server.url("/a")), changed, same
    )
    assert [document.status for document in visit.documents] == [200, 200, 303]


async def test_credentials_stay_with_their_server(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If another host or port of the same key is redirected to, it gets no secret."""
    other = await raw_server({"*": raw_server.response(b"{}")}, host="127.0.0.2")
    port = await raw_server({"*": raw_server.response(b"{}")})
    server = await raw_server(
        {
            "/host": raw_server.redirect(other.url("/")),
            "/port": raw_server.redirect(port.url("/")),
            "/own": raw_server.redirect("/there"),
            "/there": raw_server.response(b"{}"),
        }
    )

    async def request_for(record: Record) -> HttpRequest | None:
        return HttpRequest(url=record.url, headers=(SECRET, ("If-None-Match", '"1"')))

    records = [record_of(server.url(path)) for path in ("/host", "/port", "/own")]
    visit = await run(fetch_options(), request_for, *records, key="k")
    assert [document.status for document in visit.documents] == [200, 200, 200]
    for elsewhere in (other, port):
        (request,) = elsewhere.requests
        assert "authorization" not in request.headers
        assert request.headers["if-none-match"] == '"1"'
    assert all(r.headers["authorization"] == "key" for r in server.requests)


@pytest.mark.parametrize(
    ("url", "target", "is_kept"),
    [
        ("http://a.example/x", "http://a.example/y", True),
        ("http://a.example/x", "https://a.example/x", True),
        ("https://a.example/x", "http://a.example/x", False),
        ("http://a.example:80/x", "https://a.example/x", False),
        ("http://a.example:8080/x", "https://a.example/x", False),
        ("http://a.example/x", "https://a.example:8443/x", False),
        ("http://a.example/x", "https://a.example.evil.example/x", False),
        ("http://[::1]/x", "https://[::1]/x", True),
        ("http://[::1]:1/x", "https://[::1]/x", False),
        ("http://a.example/x", "ftp://a.example/x", False),
    ],
)
def test_what_counts_as_the_same_server(
    url: str, target: str, *, is_kept: bool
) -> None:
    """If a redirect leaves scheme, host or port, then https alone has the secret."""
    ask = RequestOptions(
        accept="", max_bytes=1, spool_bytes=1, timeout_secs=1, headers=(SECRET,)
    )
    assert options_after(ask, 302, url, target).headers == (
        (SECRET,) if is_kept else ()
    )


@pytest.mark.parametrize(
    ("url", "asked", "target", "expected"),
    [
        ("http://a.example/", "api/3?x=1", "https://b.example/api/3?x=1",
         "https://b.example/"),
        ("http://a.example/data", "/api/3", "http://b.example/api/3",
         "http://b.example/"),
        ("http://a.example/sparql", "?query=x", "http://b.example/s?query=x",
         "http://b.example/s"),
        ("http://a.example/robots.txt", "", "http://b.example/robots.txt",
         "http://b.example/robots.txt"),
        ("http://a.example/", "api/3?x=1", "http://sso.example/login?to=a", None),
    ],
)  # fmt: skip
def test_source_moves_by_as_much_as_what_was_asked(
    url: str, asked: str, target: str, expected: str | None
) -> None:
    """If a page of a source is redirected elsewhere, then the source is there."""
    record = Record(url, Kind.CKAN, task=task_of("0 x"), retries=2)
    if expected is None:
        with pytest.raises(SourceFault) as caught:
            moved(record, [url + asked], target)
        assert caught.value.fault.reason is Reason.REDIRECT_BAD_TARGET
        return
    found = moved(record, [url + asked], target)
    assert (found.url, found.task, found.retries) == (expected, record.task, 0)
    assert found.chain == (url + asked,)


async def test_304_is_a_fault_unless_it_was_asked_for(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If nothing has changed, then that is no fault for a conditional request."""
    server = await raw_server(
        {"*": raw_server.response(status="304 Not Modified", media_type="")}
    )

    async def request_for(record: Record) -> HttpRequest | None:
        headers = (("if-none-match", '"1"'),) if name_of(record) == "again" else ()
        return HttpRequest(url=record.url, headers=headers)

    records = [record_of(server.url("/"), task) for task in ("again", "first")]
    again, first = (await run(fetch_options(), request_for, *records)).documents
    assert (again.status, again.faults) == (304, [])
    assert [fault.reason for fault in first.faults] == [Reason.REDIRECT_BAD_TARGET]


@pytest.mark.parametrize("coding", ["", "gzip", "nonsense"])
async def test_excuse_is_what_the_server_said(
    raw_server: RawServers, fetch_options: MakeOptions, coding: str
) -> None:
    """If an error has a body, then its beginning is kept, decoded."""
    text = b'{"success": false}' + b" " * 100_000
    body = gzip.compress(text) if coding == "gzip" else text
    headers = {"Content_Encoding": coding} if coding else {}
    reply = raw_server.response(body, status="404 Not Found", **headers)
    server = await raw_server({"*": reply})

    async def request_for(_record: Record) -> HttpRequest | None:
        return None

    visit = await run(fetch_options(), request_for, record_of(server.url("/")))
    assert visit.documents[0].response.error_body == text[:MAX_ERROR_BODY_BYTES]


async def test_rules_are_those_for_what_is_asked() -> None:
    """If a rule is for the requested URL of a record, then it is the record's."""

    async def fetch(_url: str, _take: Take) -> RobotsResponse:
        return RobotsResponse(status=200, body=b"User-agent: *\nDisallow: /api/")

    async def url_of(record: Record) -> str:
        return record.url + name_of(record)

    def is_exempt(record: Record) -> bool:
        return record.lost == 1

    cache = RobotsCache(fetch, RobotsOptions(), is_exempt=is_exempt, url_of=url_of)
    site = "http://a.example/"
    records = (
        Record(site, Kind.CKAN, task=task_of("api/3")),
        Record(site, Kind.CKAN, task=task_of("api/3"), lost=1),
        Record(site, Kind.CKAN, task=task_of("data")),
        Record(site, Kind.PAGE, task=task_of("api/3")),
    )
    visit = Visit(
        key="k",
        partition=0,
        epoch=1,
        records=records,
        delay_secs=0.0,
        pending=[0, 1, 2, 3],
    )
    await cache.apply(visit)
    await cache.close()
    assert visit.pending == [1, 2, 3]
    assert [d.record for d in visit.documents] == [records[0]]
