"""Files of FTP servers: their responses, and transfers that end early."""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.records import Kind
from rdfcrawl.downloader.crawler_clients import SchemeExchange
from rdfcrawl.downloader.http.exchange import HttpExchange
from rdfcrawl.uri import requestable
from rdfcrawl.uri.hosts import origin_of
from tests.support.ftp_servers import OddFtp, RealFtp

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rdfcrawl.downloader.options import FetchOptions

    MakeOptions = Callable[..., FetchOptions]
from tests.support.ftp_requests import LARGE, TURTLE, get, get_one, opened


async def test_file_comes_as_it_is(files: Path, fetch_options: MakeOptions) -> None:
    """If a file is requested, then its bytes come, with validators of HTTP."""
    content = b"\r\n\n\xff" + LARGE
    (files / "a.nt").write_bytes(content)
    os.utime(files / "a.nt", (1704164645, 1704164645))
    with RealFtp(files) as server:
        answer = await get_one(server.url("a.nt"), fetch_options())
    assert (answer.status, answer.fault) == (200, None)
    assert answer.body == content
    assert answer.n_bytes == len(content)
    assert answer.last_modified == "Tue, 02 Jan 2024 03:04:05 GMT"
    assert answer.etag.startswith('W/"')


async def test_connection_is_kept(files: Path, fetch_options: MakeOptions) -> None:
    """If several files are requested, then over one connection with one login."""
    (files / "a.nt").write_bytes(TURTLE)
    (files / "d").mkdir()
    with RealFtp(files) as server:
        async with opened(fetch_options()) as exchange:
            for path in ("a.nt", "none", "", "d", "d/", "a.nt"):
                await get(exchange, server.url(path))
        assert server.n_connections == 1
        assert server.count("USER") == 1


async def test_idle_connection_is_closed(
    files: Path, fetch_options: MakeOptions
) -> None:
    """If a connection is not used for a while, then it is closed with a farewell."""
    with RealFtp(files) as server:
        async with opened(fetch_options(keep_alive_secs=0.05)) as exchange:
            await get(exchange, server.url())
            for _ in range(100):
                await asyncio.sleep(0.02)
                if server.count("QUIT"):
                    break
            assert server.count("QUIT") == 1


async def test_closed_connection_is_made_anew(fetch_options: MakeOptions) -> None:
    """If the server closes an idle connection, then the next request makes one."""
    with OddFtp(files={"/a": TURTLE}) as server:
        async with opened(fetch_options()) as exchange:
            for _ in range(2):
                assert (await get(exchange, server.url("a"))).body == TURTLE
                server.hang_up()
                await asyncio.sleep(0.05)
        assert server.count("USER") == 2


async def test_unchanged_file_is_not_sent(
    files: Path, fetch_options: MakeOptions
) -> None:
    """If a file is requested with its validators, then the response is 304."""
    (files / "a.nt").write_bytes(TURTLE)
    with RealFtp(files) as server:
        async with opened(fetch_options()) as exchange:
            first = await get(exchange, server.url("a.nt"))
            for header in (
                ("If-None-Match", first.etag),
                ("If-Modified-Since", first.last_modified),
            ):
                again = await get(exchange, server.url("a.nt"), headers=(header,))
                assert (again.status, again.body) == (304, None)
        assert server.count("RETR") == 1


@pytest.mark.parametrize(
    "url",
    [
        "ftp://h/a%0D%0ADELE%20b", "ftp://h/a%0a", "ftp://h/%00", "ftp://h/%1bx",
        "ftp://h/a%2F..%2Fb", "ftp://h:99999/", "ftp://h/x%7F", "http://h/", "ftp://",
    ],
)  # fmt: skip
async def test_bad_urls_are_refused(fetch_options: MakeOptions, url: str) -> None:
    """If a path could contain a command, then no connection is made."""
    answer = await get_one(url, fetch_options())
    assert answer.fault is not None
    assert answer.fault.reason is Reason.BAD_URI


@pytest.mark.parametrize("resets", [False, True], ids=["ends", "resets"])
async def test_cut_transfer_goes_on(fetch_options: MakeOptions, resets: bool) -> None:
    """If the connection breaks twice, the file is complete, and no byte comes twice."""
    cuts = [300_000, 500_000]
    with OddFtp(files={"/a": LARGE}, cuts=cuts, resets=resets) as server:
        answer = await get_one(server.url("a"), fetch_options(retry_times=2))
        assert (answer.status, answer.fault) == (200, None)
        assert answer.body == LARGE
        assert server.count("RETR") == 3
        assert server.count("REST") == 2


@pytest.mark.parametrize("cut", [1, 4095, 4096, 4097])
async def test_cut_near_the_begin_goes_on(fetch_options: MakeOptions, cut: int) -> None:
    """If little was read before a break, then too the rest is joined to it exactly."""
    with OddFtp(files={"/a": LARGE}, cuts=[cut, cut]) as server:
        answer = await get_one(server.url("a"), fetch_options())
        assert (answer.fault, answer.body == LARGE) == (None, True)


async def test_too_many_cuts_leave_a_part(fetch_options: MakeOptions) -> None:
    """If the connection breaks too often, the received bytes are kept as a part."""
    with OddFtp(files={"/a": LARGE}, cuts=[100_000] * 9) as server:
        answer = await get_one(server.url("a"), fetch_options(retry_times=2))
        assert answer.fault is not None
        assert answer.fault.reason is Reason.TRUNCATED_BODY
        assert answer.is_partial
        assert answer.body is not None
        assert len(answer.body) > 200_000
        assert LARGE.startswith(answer.body)
        assert server.count("RETR") == 3


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        pytest.param({"odd": {"REST": "502 No"}}, "cannot go on", id="refused"),
        pytest.param({"odd": {"REST": "200 Sure"}}, "cannot go on", id="not-350"),
        pytest.param(
            {"odd": {"SIZE": "502 No", "MDTM": "502 No"}}, "end", id="no-facts"
        ),
    ],
)
async def test_where_it_cannot_go_on_a_part_is_kept(
    fetch_options: MakeOptions, changes: dict[str, Any], why: str
) -> None:
    """If the server cannot continue, the received bytes are kept as a part."""
    del why
    with OddFtp(files={"/a": LARGE}, cuts=[300_000], **changes) as server:
        answer = await get_one(server.url("a"), fetch_options())
        assert answer.fault is not None
        assert answer.fault.reason is Reason.TRUNCATED_BODY
        assert answer.is_partial
        assert answer.body == LARGE[:300_000]


@pytest.mark.parametrize("changed", ["size", "time", "bytes"])
async def test_changed_file_is_not_joined(
    fetch_options: MakeOptions, changed: str
) -> None:
    """If the file changes between two connections, they are not joined."""
    n_asked = 0

    def size(_: str) -> str:
        nonlocal n_asked
        n_asked += 1
        if n_asked > 1:
            if changed == "time":
                server.modified = "20250102030405"
            elif changed == "bytes":
                server.files["/a"] = LARGE[::-1]
            else:
                return "213 7"
        return f"213 {len(LARGE)}"

    with OddFtp(files={"/a": LARGE}, cuts=[300_000], odd={"SIZE": size}) as server:
        answer = await get_one(server.url("a"), fetch_options())
        assert answer.fault is not None
        assert answer.fault.reason is Reason.TRUNCATED_BODY
        assert answer.body == LARGE[:300_000]


async def test_lost_last_reply_is_no_fault(fetch_options: MakeOptions) -> None:
    """If the reply after the data is lost, then the size proves that it is complete."""
    with OddFtp(files={"/a": LARGE}, is_silent_after_data=True) as server:
        answer = await get_one(server.url("a"), fetch_options(connect_secs=1.0))
        assert (answer.fault, answer.body == LARGE) == (None, True)


async def test_too_large_file_is_cut(fetch_options: MakeOptions) -> None:
    """If a file is longer than it may be, then it is kept up to there."""
    with OddFtp(files={"/a": LARGE}) as server:
        asks = {"max_bytes": 1000}
        answer = await get_one(server.url("a"), fetch_options(), asks)
        assert answer.fault is not None
        assert answer.fault.reason is Reason.TOO_LARGE
        assert (answer.body, answer.is_partial) == (LARGE[:1000], True)


async def test_stopped_server_times_out(fetch_options: MakeOptions) -> None:
    """If a server stops in the middle, the time for all of it is kept."""
    with OddFtp(files={"/a": TURTLE}, odd={"RETR": b"150 Wait\r\n"}) as server:
        options = fetch_options(timeout_secs=0.5, connect_secs=0.5)
        answer = await get_one(server.url("a"), options)
        assert answer.fault is not None
        assert answer.fault.reason is Reason.TIMEOUT
        answer = await get_one(server.url("a"), options)


async def test_slow_server_is_given_up(fetch_options: MakeOptions) -> None:
    """If a transfer crawls, then it is given up, and the received part is kept."""
    import socket
    import threading

    with OddFtp(files={"/a": LARGE}) as server:
        listener = socket.create_server((server.host, 0))
        port = listener.getsockname()[1]

        def drip() -> None:
            data, _ = listener.accept()
            with data:
                try:
                    while True:
                        data.sendall(b"x")
                        time.sleep(0.02)
                except OSError:
                    return

        thread = threading.Thread(target=drip)
        thread.start()
        server.odd |= {
            "PASV": f"227 (127,0,0,1,{port >> 8},{port & 255})",
            "RETR": b"150 Wait\r\n",
        }
        options = fetch_options(min_bytes_per_sec=10_000, min_rate_after_secs=0.3)
        answer = await get_one(server.url("a"), options)
        thread.join(120)
        listener.close()
        assert answer.fault is not None
        assert answer.fault.reason is Reason.TIMEOUT
        assert "too slow" in answer.fault.detail
        assert answer.is_partial
        assert answer.body
        assert set(answer.body) == set(b"x")


async def test_cancelled_request_leaves_nothing(fetch_options: MakeOptions) -> None:
    """If a visit is cancelled in the middle, no body and no connection is left."""
    with OddFtp(files={"/a": TURTLE}, odd={"RETR": b"150 Wait\r\n"}) as server:
        async with opened(fetch_options()) as exchange:
            task = asyncio.ensure_future(get(exchange, server.url("a")))
            for _ in range(500):
                await asyncio.sleep(0.01)
                if server.count("RETR"):
                    break
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert exchange.spool.memory_bytes == 0
            assert not exchange.pool._used


async def test_nothing_is_sent_to_a_server(fetch_options: MakeOptions) -> None:
    """If there is something to post, then FTP is not the way."""
    with OddFtp(files={"/a": TURTLE}) as server:
        asks = {"data": b"query=x"}
        answer = await get_one(server.url("a"), fetch_options(), asks)
        assert (answer.status, server.commands) == (405, [])


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("FTP://Example.org:21/a%7e", "ftp://example.org/a%7e"),
        ("FTPS://Example.org:990/a", "ftps://example.org/a"),
        ("ftps://example.org:443", "ftps://example.org:443/"),
        ("ftps://example.org:80/x/../y#f", "ftps://example.org:80/y"),
        ("ftps://me:pw@b%C3%BCcher.example:21/", "ftps://xn--bcher-kva.example:21/"),
        ("ftps://[::1]/a b", "ftps://[::1]/a%20b"),
    ],
)
def test_urls_of_ftp_are_requestable(text: str, url: str) -> None:
    """If a link is one of FTP, then it is parsed as one of HTTP is."""
    assert requestable(text) == url
    assert requestable(url) == url


@pytest.mark.parametrize("scheme", ["http", "https", "ftp", "ftps"])
def test_origin_ends_before_the_path(scheme: str) -> None:
    """If a host has one letter, then too its origin has no path."""
    assert origin_of(f"{scheme}://a/b/c") == f"{scheme}://a"


async def test_each_scheme_has_its_exchange(files: Path, fetch_options: Any) -> None:
    """If an exchange has ways for schemes, then each URL goes by its own."""
    (files / "a").write_bytes(TURTLE)
    options = fetch_options()
    with RealFtp(files) as server:
        async with opened(options) as ftp, HttpExchange(options, ftp.spool) as web:
            exchange = SchemeExchange(web, ftp)
            ask = options.request_options(Kind.PAGE)
            answer = await exchange.get(server.url("a"), ask)
            assert answer.status == 200
            ftp.spool.release(answer)
            answer = await exchange.get("file:///etc/passwd", ask)
            assert answer.fault is not None
            assert answer.fault.reason is Reason.BAD_URI
