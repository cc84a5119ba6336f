"""The HTTP endpoint of pings, and the crawl behind it that is not there."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from scrapy.settings import Settings

from rdfcrawl.core import small_server as servers
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.frontier.queue.inbox import PingLimits
from rdfcrawl.monitor.pings import server as desks
from rdfcrawl.monitor.pings.server import PingIntake, PingServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.support.redis_fixtures import MakeFrontier, RedisServer

ASK = b"GET /ping?sitemap=https://a.example/s.xml HTTP/1.0\r\n\r\n"


@asynccontextmanager
async def serving(url: str, folder: Path) -> AsyncIterator[int]:
    """Serve pings for the crawl `c`; yield the port."""
    settings = Settings({"REDIS_URL": url, "CRAWL_ID": "c", "CRAWL_DIR": str(folder)})
    intake = await PingIntake.open(settings)
    server = PingServer(intake, PingLimits())
    try:
        yield await server.open("127.0.0.1", 0)
    finally:
        await server.close()
        await intake.close()


async def ask(port: int, request: bytes = ASK) -> bytes:
    """Return the response to a request; empty if there is none."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    response = await reader.read()
    writer.close()
    return response


async def test_without_a_crawl_or_redis_nothing_is_accepted(
    make_frontier: MakeFrontier,
    redis_server: RedisServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If the crawl or its Redis is away, then the answer is 503, and when to retry.

    When they are there again, so is the endpoint.
    """
    monkeypatch.setattr(desks, "_ANSWER_SECS", 0.3)
    frontier = await make_frontier(crawl_id="c")
    async with serving(redis_server.url, tmp_path) as port:
        assert b" 202 " in await ask(port)
        await frontier.clear()
        gone = await ask(port)
        await frontier.open()
        assert b" 202 " in await ask(port)
        os.kill(redis_server.pid, signal.SIGSTOP)
        stuck = await ask(port)
        os.kill(redis_server.pid, signal.SIGCONT)
        assert b" 202 " in await ask(port)
    assert all(b" 503 " in x and b"Retry-After: 60" in x for x in (gone, stuck))
    assert gone.endswith(b"there is no crawl\n")


async def test_connections_are_few_and_end(
    make_frontier: MakeFrontier,
    redis_server: RedisServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If connections are slow, or very many, then they end without an answer."""
    monkeypatch.setattr(servers, "_CONNECTION_SECS", 0.3)
    monkeypatch.setattr(servers, "_MAX_CONNECTIONS", 3)
    await make_frontier(crawl_id="c")
    slow = b"POST /ping HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n"
    async with serving(redis_server.url, tmp_path) as port:
        begun = [asyncio.create_task(ask(port, x)) for x in (b"", b"GET /p", slow)]
        await asyncio.sleep(0.1)
        assert await ask(port) == b""
        for answer in await asyncio.gather(*begun):
            assert b" 202 " not in answer
        assert b" 202 " in await ask(port)


async def test_forms_are_bounded(
    make_frontier: MakeFrontier, redis_server: RedisServer, tmp_path: Path
) -> None:
    """If a form has more octets than may be, then it is refused as too large."""
    await make_frontier(crawl_id="c")
    async with serving(redis_server.url, tmp_path) as port:
        for n_bytes, status in ((2**14, b" 400 "), (2**14 + 1, b" 413 ")):
            head = f"POST /ping HTTP/1.0\r\nContent-Length: {n_bytes}\r\n"
            head += "Content-Type: application/x-www-form-urlencoded\r\n\r\n"
            body = b"sitemap=".ljust(n_bytes, b"x")
            answer = await ask(port, head.encode() + body)
            assert status in answer.partition(b"\r\n")[0]


async def test_connection_ends_if_its_client_reads_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If a client reads nothing of its answer, then its connection ends."""
    for name in ("_BEGIN_SECS", "_UNREAD_MS"):
        limit = getattr(servers, name) / 100
        monkeypatch.setattr(servers, name, int(limit) or limit)

    async def answer(_: web.BaseRequest) -> web.Response:
        return web.Response(body=bytes(2**24))

    handlers = web.Server(answer)
    connected = servers.BoundedConnections(handlers, 9, None)
    loop = asyncio.get_running_loop()
    errors: list[object] = []
    loop.set_exception_handler(lambda _, context: errors.append(context))
    server = await loop.create_server(connected, "127.0.0.1", 0)
    address = server.sockets[0].getsockname()
    _, writer = await asyncio.open_connection(*address)
    writer.close()  # it is gone when its time to begin is over
    with socket.create_connection(address) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        async with asyncio.timeout(15):
            while not handlers.requests_count or handlers.connections:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
    server.close()
    await handlers.shutdown()
    assert errors == []


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "say -s CRAWL_ID=NAME; there is none here"),
        ({"CRAWL_ID": "x"}, "no crawl of this name has begun"),
        ({"REDIS_URL": "unix:///nowhere", "CRAWL_ID": "x"}, "REDIS_URL"),
    ],
)
async def test_crawl_that_cannot_be_found_is_one_line(
    settings: dict[str, Any], told: str, tmp_path: Path
) -> None:
    """If no crawl is meant, or its Redis is not there, then one line says so."""
    with pytest.raises(ConfigError, match=told) as error:
        await PingIntake.open(Settings({"CRAWL_DIR": str(tmp_path), **settings}))
    assert "\n" not in str(error.value)
