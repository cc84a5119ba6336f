"""Append-only files that a crash has cut within the commands of a script."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from redis.exceptions import RedisError

from rdfcrawl.frontier.redis.server_state import ServerState, rewrite_torn_logs
from rdfcrawl.monitor.operating.checking import FrontierCheck
from tests.support.frontier_state import candidates
from tests.support.operated_crawls import operated
from tests.support.redis_fixtures import RedisServer, frontier_on
from tests.support.small_disk import small_disk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redis.asyncio import Redis

pytestmark = pytest.mark.every_server

HOST = "https://a.example"
_MULTI, _ITEM = b"MULTI\r\n", b"\r\n$"


@pytest.fixture
def logged_server(
    redis_program: str, server_directory: Path, tmp_path: Path
) -> Iterator[RedisServer]:
    """Yield a server that keeps an append-only file, in a folder of its own."""
    options = ("--appendonly", "yes", "--dir", str(tmp_path))
    server = RedisServer(redis_program, server_directory, options)
    server.start()
    yield server
    server.end(signal.SIGKILL)


async def log_of(client: Redis) -> Path:
    """Return the file that the server appends to."""
    (place,) = (await client.config_get("dir")).values()
    found = [x for x in Path(str(place)).rglob("*.aof") if ".base." not in x.name]
    return max(found, key=lambda path: path.stat().st_mtime)


async def add(client: Redis, *paths: str) -> None:
    """Queue URIs of one host, in one script."""
    version = tuple(map(int, (await client.info())["redis_version"].split(".")))
    frontier = frontier_on(client, version)
    await frontier.open()
    await frontier.add(candidates(frontier, [f"{HOST}/{x}" for x in paths]))


async def cut_in_last_script(server: RedisServer, client: Redis) -> None:
    """Kill a server, and leave of its last script one command and half of another."""
    path = await log_of(client)
    async with asyncio.timeout(60):
        while not path.read_bytes().endswith(b"EXEC\r\n"):  # noqa: ASYNC110  (a file)
            await asyncio.sleep(0.05)
    server.end(signal.SIGKILL)
    text = path.read_bytes()
    first = text.index(b"*", text.rindex(_MULTI))
    second = text.index(b"\r\n*", first)
    os.truncate(path, text.index(_ITEM, second + 8) + 4)


async def until_rewritten(client: Redis) -> None:
    """Wait until the file is rewritten."""
    async with asyncio.timeout(60):
        while not await is_rewritten(client):  # noqa: ASYNC110  (a child)
            await asyncio.sleep(0.05)


async def is_rewritten(client: Redis) -> bool:
    """Return whether the file was rewritten since the server was started."""
    facts = await client.info("persistence")
    is_over = not facts["aof_rewrite_in_progress"]
    return bool(is_over and facts["aof_last_rewrite_time_sec"] >= 0)


@pytest.mark.service
async def test_half_a_script_is_never_run(logged_server: RedisServer) -> None:
    """If a crash leaves half of a script in the log, then no start ever runs the half.

    The first start skips it; commands appended later must not run with it.
    """
    server = logged_server
    async with server.client() as client:
        await add(client, *map(str, range(20)))
        await add(client, *map(str, range(20, 30)))
        await cut_in_last_script(server, client)
    server.start()
    async with server.client() as client:
        await rewrite_torn_logs(client)
        await until_rewritten(client)
        await add(client, "later1", "later2")
    server.end(signal.SIGTERM)
    server.start()
    async with await operated(server) as crawl:
        assert await FrontierCheck(crawl).run() == []
        counts = await crawl.frontier.counts()
        assert (counts.queued, counts.seen) == (22, 22)


@pytest.mark.service
async def test_log_is_written_anew_once(logged_server: RedisServer) -> None:
    """If nothing was loaded, or the log is new, then no log is rewritten."""
    server = logged_server
    async with server.client() as client:
        await rewrite_torn_logs(client)
        assert not await is_rewritten(client)
        await add(client, *map(str, range(20)))
    server.end(signal.SIGTERM)
    server.start()
    async with server.client() as client:
        await rewrite_torn_logs(client)
        await until_rewritten(client)
        before = await log_of(client)
        await rewrite_torn_logs(client)
        assert await is_rewritten(client)
        assert await log_of(client) == before


@pytest.mark.service
async def test_disk_that_was_full_leaves_a_whole_log(
    redis_program: str, server_directory: Path, tmp_path: Path
) -> None:
    """If the disk of Redis was full, then workers rewrite the log.

    A partly written command is not removed correctly after a rewrite.
    """
    with small_disk(tmp_path) as disk:
        options = ("--appendonly", "yes", "--dir", str(disk.path))
        server = RedisServer(redis_program, server_directory, options)
        server.start()
        async with server.client() as client:
            state = ServerState(server.url)
            await client.set("large", b"x" * 10_000)
            await client.bgrewriteaof()
            await until_rewritten(client)
            await client.set("small", b"x" * 2_000)
            disk.fill(0)
            with pytest.raises(RedisError, match="No space left"):
                await write_until_refused(client)
            await state.look(client)
            assert not state.has_torn_log
            disk.empty()
            async with asyncio.timeout(60):
                while not state.has_torn_log:
                    await state.look(client)
            await rewrite_torn_logs(client, again=True)
            await until_rewritten(client)
            n_keys = await client.dbsize()
        server.end(signal.SIGKILL)
        server.start()
        async with server.client() as client:
            assert await client.dbsize() == n_keys
        server.end(signal.SIGKILL)


async def write_until_refused(client: Redis) -> None:
    """Write until Redis says why it takes no more."""
    async with asyncio.timeout(60):
        for number in itertools.count():
            await client.set(f"more{number}", b"x" * 10_000)


@pytest.mark.service
async def test_server_that_refuses_is_borne(logged_server: RedisServer) -> None:
    """If a user may not rewrite the log, then the crawl goes on."""
    server = logged_server
    async with server.client() as client:
        await add(client, *map(str, range(20)))
    server.end(signal.SIGTERM)
    server.start()
    async with server.client() as client:
        send: Any = client.execute_command
        words = ("crawler", "on", ">secret", "~*", "+@all", "-bgrewriteaof")
        await send("ACL", "SETUSER", *words)
        await send("AUTH", "crawler", "secret")
        await rewrite_torn_logs(client)
        assert not await is_rewritten(client)
