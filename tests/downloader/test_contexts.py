"""Contexts of JSON-LD: which are fetched or refused, and their way to parsers."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.environment import MAX_CONTEXT_BYTES
from rdfcrawl.rdf.extraction.messages import ReadingJob
from rdfcrawl.rdf.extraction.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfcrawl.downloader.options import FetchOptions
    from rdfcrawl.rdf.environment import ContextDocument
    from tests.conftest import RawRequest, RawServers, Reply

    MakeOptions = Callable[..., FetchOptions]
from tests.support.context_workers import (
    CONTEXT,
    ELSEWHERE,
    FAST,
    HTML,
    LD,
    PRIVATE,
    endless,
    moved,
    response,
    worker,
)


async def test_context_is_fetched_once(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a context was loaded, then it is in memory, and not requested again."""
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
    """If many documents want a context in parallel, then it is requested once."""
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
    """If a response is a JSON object, then it is the context with any media type."""
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
    """If a response is JSON, then it is the context although there is an alternate."""
    link = f'<other>; rel="alternate"; type="{LD}"'
    reply = raw_server.response(CONTEXT, "application/json", Link=link)
    server = await raw_server({"/c": reply})
    async with worker(fetch_options()) as one:
        assert (await one.load(server.url("/c"))).content == CONTEXT
    assert server.targets == ["/c"]


BIG = b'{"@context": {}, "x": "' + b"x" * MAX_CONTEXT_BYTES + b'"}'
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
    """If there is no context, then the fault says why, and no request follows."""
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
    """If a context is not on the Web, then no request is made."""
    async with worker(fetch_options()) as one:
        await one.refusal(url)
        with pytest.raises(SourceFault):
            one.store.peek(url)


async def test_passing_fault_is_tried_twice(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a connection breaks, then the context is requested once more."""

    def reply(request: RawRequest) -> Any:
        return [None] if request.nth == 1 else response(CONTEXT)

    server = await raw_server({"/c": reply})
    async with worker(fetch_options()) as one:
        assert (await one.load(server.url("/c"))).content == CONTEXT
    assert server.targets == ["/c", "/c"]


async def test_document_has_a_budget(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a document names very many contexts, then not all of them are requested."""
    server = await raw_server({"*": response(CONTEXT)})
    async with worker(fetch_options(), replace(FAST, most_per_document=2)) as one:
        await one.load(server.url("/1"))
        await one.load(server.url("/2"))
        assert "over 2 contexts" in await one.refusal(server.url("/3"))
        await one.load(server.url("/3"), "http://another.example/")
        await one.load(server.url("/3"))
    assert server.targets == ["/1", "/2", "/3"]


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
            quads = b"".join([chunk.lines async for chunk in reading])
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
            assert [chunk.lines async for chunk in reading] == []
    fault, lost = reading.outcome.faults
    assert fault.reason is Reason.REMOTE_CONTEXT
    assert "guard_blocked" in fault.detail
    assert (lost.reason, lost.count) == (Reason.BAD_TERM, 1)
    assert server.n_connections == 0


async def test_peek_asks_nobody(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a context is not in memory, then looking for it makes no request."""
    server = await raw_server({"/c": response(CONTEXT)})
    async with worker(fetch_options()) as one:
        assert one.store.peek(server.url("/c")) is None
    assert server.n_connections == 0
