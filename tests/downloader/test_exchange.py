"""One request: its response, and its possible failures."""

from __future__ import annotations

import asyncio
import gc
import socket
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.records import Kind
from rdfcrawl.downloader.http.exchange import HttpExchange, parse_content_type
from rdfcrawl.downloader.http.protocol import ResponseProtocol
from rdfcrawl.downloader.spool import Spool
from tests.support.http_gets import get_one, opened

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from rdfcrawl.downloader.options import FetchOptions
    from tests.conftest import RawServers, Reply

    MakeOptions = Callable[..., FetchOptions]

TURTLE = b"<http://example.org/s> <http://example.org/p> 1 .\n"


async def test_answer_carries_what_provenance_needs(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a server sends validators and a charset, then the response has them."""
    reply = raw_server.response(
        TURTLE,
        'Text/Turtle; charset="UTF-8"',
        ETag='W/"a"',
        Last_Modified="Sat, 01 Jan 2022 00:00:00 GMT",
    )
    server = await raw_server({"/a": reply})
    answer = await get_one(server.url("/a"), fetch_options())
    assert (answer.status, answer.body, answer.fault) == (200, TURTLE, None)
    assert (answer.media_type, answer.charset) == ("text/turtle", "utf-8")
    assert answer.etag == 'W/"a"'
    assert answer.last_modified == "Sat, 01 Jan 2022 00:00:00 GMT"
    assert answer.n_bytes == len(TURTLE)


@pytest.mark.parametrize(
    "target",
    ["/", "/a?", "/a?b", "/a/../b//c", "/%7e%zz%C3%A9", "/a;b=c?d=e&f=%26", "/a+b?c+d"],
)
async def test_uri_is_requested_byte_for_byte(
    raw_server: RawServers, fetch_options: MakeOptions, target: str
) -> None:
    """If a record has a URI, then that very URI is requested, not a tidier one."""
    server = await raw_server({"*": raw_server.response(TURTLE)})
    answer = await get_one(server.url(target), fetch_options())
    assert answer.fault is None
    assert server.targets == [target]


@pytest.mark.parametrize("kind", [Kind.PAGE, Kind.DUMP], ids=lambda kind: kind.name)
async def test_request_names_crawler_and_types(
    raw_server: RawServers, fetch_options: MakeOptions, kind: Kind
) -> None:
    """If a URI is requested, then by explicit RDF types first and any type last."""
    server = await raw_server({"/": raw_server.response(TURTLE)})
    await get_one(server.url(), fetch_options(), kind)
    headers = server.requests[0].headers
    assert headers["user-agent"] == "rdfcrawl-test"
    ranges = [item.split(";")[0].strip() for item in headers["accept"].split(",")]
    assert ranges[0] == "application/n-quads"
    assert "text/turtle" in ranges
    assert ranges[-1] == "*/*"
    assert "cookie" not in headers
    assert "referer" not in headers


async def test_connection_is_kept(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If responses are read to their end, then all come over one connection."""
    pages: dict[str, Reply] = {
        "/a": raw_server.response(TURTLE),
        "/b": raw_server.response(b"gone" * 100, status="404 Not Found"),
        "/c": raw_server.redirect("/a"),
        "/d": raw_server.response(status="204 No Content"),
    }
    server = await raw_server(pages)
    options = fetch_options()
    async with opened(options) as exchange:
        for target in "abcda":
            await exchange.get(
                server.url(f"/{target}"), options.request_options(Kind.PAGE)
            )
    assert server.n_connections == 1
    assert len(server.requests) == 5


async def test_idle_connection_is_closed(fetch_options: MakeOptions) -> None:
    """If a connection is idle for longer than allowed, then the client closes it."""
    ended: asyncio.Queue[bytes] = asyncio.Queue()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        further = await reader.read()
        writer.close()
        ended.put_nowait(further)

    options = fetch_options(keep_alive_secs=0.02)
    async with (
        await asyncio.start_server(serve, "127.0.0.1", 0) as server,
        asyncio.timeout(20),
        opened(options) as exchange,
    ):
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        for _ in range(2):
            answer = await exchange.get(url, options.request_options(Kind.PAGE))
            assert answer.status == 200
            assert await ended.get() == b""


async def test_idle_connections_are_few(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If more connections are idle than allowed, then the one used first is closed."""
    page = {"/": raw_server.response(TURTLE)}
    first, second, third = [await raw_server(page) for _ in range(3)]
    options = fetch_options(idle_connections=2)
    async with opened(options) as exchange:
        for server in (first, second, first, third, first, second, third):
            await exchange.get(server.url(), options.request_options(Kind.PAGE))
    counts = [each.n_connections for each in (first, second, third)]
    assert counts == [1, 2, 2]


async def test_closed_connections_leave_memory(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a connection is closed, then its memory is free without a collection."""
    ends = {"/a": {}, "/b": {"Connection": "close"}}
    pages = {url: raw_server.response(TURTLE, **more) for url, more in ends.items()}
    pieces = [pages["/a"][:40], pages["/a"][40:]]
    server = await raw_server({**pages, "/c": pieces})
    options = fetch_options(idle_connections=0)
    gc.collect()
    gc.disable()
    try:
        async with opened(options) as exchange:
            for path in ("/a", "/b", "/c"):
                url = server.url(path)
                await exchange.get(url, options.request_options(Kind.PAGE))
            await asyncio.sleep(0)  # the transport ends in the next cycle
            left = [x for x in gc.get_objects() if isinstance(x, ResponseProtocol)]
    finally:
        gc.enable()
    assert server.n_connections == len(pages) + 1
    assert not left


async def test_unusual_url_is_requested_in_usual_form(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a URL has capitals, zeros and no path, then its request has the usual form."""
    server = await raw_server({"*": raw_server.response(TURTLE)})
    answer = await get_one(f"HTTP://LOCALHOST:000{server.port}?q#f", fetch_options())
    assert answer.fault is None
    assert server.targets == ["/?q"]
    assert server.requests[0].headers["host"] == f"localhost:{server.port}"


async def test_plain_and_odd_requests_say_the_same(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a request has its own headers, then the others are those of any request."""
    server = await raw_server({"*": raw_server.response(TURTLE)})
    options = fetch_options()
    ask = options.request_options(Kind.PAGE)
    odd = replace(ask, headers=(("If-None-Match", '"a"'),))
    async with opened(options) as exchange:
        for each in (ask, odd):
            await exchange.get(server.url("/a?b"), each)
    plain, other = (request.headers for request in server.requests)
    assert {**plain, "if-none-match": '"a"'} == dict(other)
    assert server.targets == ["/a?b", "/a?b"]
    assert server.n_connections == 1


async def test_interim_answers_are_passed_over(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If 1xx responses come first, then the one after them counts (RFC 9110 15.2)."""
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n"
    server = await raw_server({"/": [early, early, raw_server.response(TURTLE)]})
    answer = await get_one(server.url(), fetch_options())
    assert (answer.status, answer.body, answer.fault) == (200, TURTLE, None)
    assert answer.http_links == ""


CHUNK = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
CUT_CHUNK = CHUNK + b"9\r\nw"
SHORT = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello"
HEADERS = b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(2000))


@pytest.mark.parametrize(
    ("reply", "reason", "body"),
    [
        pytest.param([SHORT, None], Reason.TRUNCATED_BODY, b"hello", id="short"),
        pytest.param(
            [SHORT, 0.05, b"!", None], Reason.TRUNCATED_BODY, b"hello!", id="short-slow"
        ),
        pytest.param(
            [CUT_CHUNK, 0.05, None], Reason.TRUNCATED_BODY, b"hellow", id="cut-chunk"
        ),
        pytest.param(
            [SHORT, 0.05, "reset"], Reason.TRUNCATED_BODY, b"hello", id="reset"
        ),
        pytest.param(
            [CHUNK, 0.05, b"ZZZ\r\n!", 0.2, None],
            Reason.BAD_HTTP,
            b"hello",
            id="bad-chunk",
        ),
        pytest.param(
            [CHUNK + b"ZZZ\r\n!", 0.2, None],
            Reason.BAD_HTTP,
            b"hello",
            id="bad-at-once",
        ),
        pytest.param([None], Reason.BAD_HTTP, None, id="closed"),
        pytest.param(["reset"], Reason.BAD_HTTP, None, id="reset-at-once"),
        pytest.param([b"SSH-2.0-x\r\n", None], Reason.BAD_HTTP, None, id="no-http"),
        pytest.param([b"HTTP/1.1 200 OK\r\nX", None], Reason.BAD_HTTP, None, id="head"),
        pytest.param([HEADERS, 0.2, None], Reason.BAD_HTTP, None, id="headers"),
        pytest.param(
            [b"HTTP/1.1 200 OK\r\nX: " + b"y" * 300_000 + b"\r\n\r\n"],
            Reason.BAD_HTTP,
            None,
            id="long-header",
        ),
    ],
)
async def test_broken_answer_is_a_named_fault(
    raw_server: RawServers,
    fetch_options: MakeOptions,
    reply: Reply,
    reason: Reason,
    body: bytes | None,
) -> None:
    """If a response breaks off, then it has a fault and the received bytes."""
    server = await raw_server({"/": reply})
    answer = await get_one(server.url(), fetch_options())
    assert answer.fault is not None
    assert answer.fault.reason == reason
    assert not answer.is_host_fault
    assert (answer.body or None) == body
    assert answer.is_partial == (body is not None)
    assert len(server.requests) == 1


async def test_link_header_of_32_kib_is_read(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a `Link` header is as long as Linked Data servers send it, it is no fault."""
    server = await raw_server({"/": raw_server.response(TURTLE, Link="x" * 32_768)})
    answer = await get_one(server.url(), fetch_options())
    assert (answer.fault, answer.body) == (None, TURTLE)


async def test_refused_connection_is_the_hosts_fault(
    fetch_options: MakeOptions,
) -> None:
    """If nothing listens, then UNREACHABLE concerns the entire origin."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/"
        answer = await get_one(url, fetch_options())
    assert answer.fault is not None
    assert answer.fault.reason is Reason.UNREACHABLE
    assert answer.is_host_fault


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://no-such-host.invalid/", Reason.DNS),
        ("http://user:secret@127.0.0.1/", Reason.BAD_URI),
        ("http://127.0.0.1:99999/", Reason.BAD_URI),
        ("http://127.1/", Reason.BAD_URI),
        ("ftp://127.0.0.1/", Reason.BAD_URI),
        ("http:///path", Reason.BAD_URI),
        (f"http://{'a' * 80}.invalid/", Reason.BAD_URI),
    ],
)
async def test_uri_without_host_is_a_named_fault(
    fetch_options: MakeOptions, url: str, reason: Reason
) -> None:
    """If a URI leads to no host, then its fault says why and shows no password."""
    answer = await get_one(url, fetch_options())
    assert answer.fault is not None
    assert answer.fault.reason is reason
    assert answer.is_host_fault == (reason is Reason.DNS)
    assert "secret" not in answer.fault.detail


async def test_names_are_looked_up(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a host has a name, then its address is used, with the name as `Host`."""
    server = await raw_server({"/": raw_server.response(TURTLE)})
    answer = await get_one(f"http://localhost:{server.port}/", fetch_options())
    assert answer.body == TURTLE
    assert server.requests[0].headers["host"] == f"localhost:{server.port}"


async def test_server_without_tls_is_a_tls_fault(fetch_options: MakeOptions) -> None:
    """If a server does not speak TLS, then the fault is TLS and the origin's."""

    def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        answer = await get_one(f"https://127.0.0.1:{port}/", fetch_options())
    assert answer.fault is not None
    assert (answer.fault.reason, answer.is_host_fault) == (Reason.TLS, True)


@pytest.mark.parametrize("verify", [True, False])
async def test_certificate_is_verified_unless_told(
    raw_server: RawServers,
    fetch_options: MakeOptions,
    self_signed_tls: ssl.SSLContext,
    *,
    verify: bool,
) -> None:
    """If a certificate is self-signed, then it is a fault, unless none is checked."""
    server = await raw_server({"/": raw_server.response(TURTLE)}, tls=self_signed_tls)
    options = fetch_options(verify_certificates=verify)
    answer = await get_one(server.url(), options)
    reason = answer.fault and answer.fault.reason
    assert reason == (Reason.TLS if verify else None)
    assert answer.body == (None if verify else TURTLE)


@pytest.mark.parametrize(
    ("reply", "limits", "body"),
    [
        pytest.param([60.0], {"timeout_secs": 1.0}, None, id="silent"),
        pytest.param([SHORT, 60.0], {"timeout_secs": 1.0}, b"hello", id="stalled"),
        pytest.param(
            [SHORT, 5.0],
            {"min_rate_after_secs": 0.1, "min_bytes_per_sec": 1000},
            b"hello",
            id="slow-loris",
        ),
    ],
)
async def test_slow_answer_is_given_up(
    raw_server: RawServers,
    fetch_options: MakeOptions,
    reply: Reply,
    limits: dict[str, Any],
    body: bytes | None,
) -> None:
    """If a response takes too long or crawls, then it ends as a TIMEOUT."""
    server = await raw_server({"/": reply})
    began = asyncio.get_running_loop().time()
    answer = await get_one(server.url(), fetch_options(**limits))
    assert asyncio.get_running_loop().time() - began < 30.0
    assert answer.fault is not None
    is_silent = body is None
    assert (answer.fault.reason, answer.is_host_fault) == (Reason.TIMEOUT, is_silent)
    assert answer.body == body


async def test_connecting_has_its_own_limit(fetch_options: MakeOptions) -> None:
    """If a host does not accept, then the TIMEOUT concerns the entire origin."""
    with socket.socket() as full:  # a listener whose backlog is full drops SYNs
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(address)
        url = f"http://127.0.0.1:{address[1]}/"
        answer = await get_one(url, fetch_options(connect_secs=0.2))
        for filler in fillers:
            filler.close()
    assert answer.fault is not None
    assert (answer.fault.reason, answer.is_host_fault) == (Reason.TIMEOUT, True)


async def test_cancelled_get_is_cancelled(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If the caller is cancelled, then no fault hides it and no memory is kept."""
    server = await raw_server({"/": [SHORT, 60.0]})
    options = fetch_options()
    with Spool(options.spool_dir, memory_limit_bytes=1 << 20) as spool:
        async with HttpExchange(options, spool) as exchange:
            task = asyncio.create_task(
                exchange.get(server.url(), options.request_options(Kind.PAGE))
            )
            while spool.memory_bytes != len(b"hello"):  # noqa: ASYNC110 (no event)
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert spool.memory_bytes == 0


async def test_error_of_our_own_does_not_escape(
    raw_server: RawServers,
    fetch_options: MakeOptions,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """If something fails that should not, then it is logged and the visit goes on."""
    server = await raw_server({"/": raw_server.response(TURTLE)})
    options = fetch_options()
    async with opened(options) as exchange:
        broken = replace(options.request_options(Kind.PAGE), max_bytes="no number")  # type: ignore[arg-type]
        answer = await exchange.get(server.url(), broken)
    assert answer.fault is not None
    assert answer.fault.reason is Reason.INTERNAL
    assert "TypeError" in caplog.text


async def test_headers_are_clean_text(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a header is not UTF-8, then it is Latin-1 and never a lone surrogate."""
    reply = (
        b"HTTP/1.1 303 See\r\nContent-Length: 0\r\n"
        b"Location: /caf\xe9\r\nETag: \xc3\xa9\r\n\r\n"
    )
    server = await raw_server({"/": reply})
    answer = await get_one(server.url(), fetch_options())
    assert (answer.location, answer.etag) == ("/café", "é")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("text/turtle", ("text/turtle", "")),
        ("TEXT/HTML;charset=ISO-8859-1", ("text/html", "iso-8859-1")),
        ("text/html; q=1; charset='utf-8'", ("text/html", "utf-8")),
        (";charset", ("", "")),
        ("", ("", "")),
    ],
)
def test_content_type(value: str, expected: tuple[str, str]) -> None:
    """If a Content-Type is odd, then its valid parts are still read."""
    assert parse_content_type(value) == expected
