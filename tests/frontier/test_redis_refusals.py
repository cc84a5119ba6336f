"""Redis that refuses, or is none: one line says why, and no password."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from contextlib import ExitStack, asynccontextmanager, closing
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from redis import Redis
from scrapy.settings import BaseSettings

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.frontier.connection import FrontierConnection
from rdfcrawl.frontier.queue.options import CrawlOptions
from rdfcrawl.frontier.redis.address import describe
from rdfcrawl.frontier.redis.client import async_client
from rdfcrawl.frontier.redis.embedded import find_server
from tests.support.crawl_webs import TreeWeb
from tests.support.ftp_servers import write_certificate
from tests.support.redis_cluster import (
    ClusterNode,
    free_ports,
    running_cluster,
    wait_until,
)
from tests.support.redis_fixtures import RedisServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

SECRET = "se-cret"
N_CLIENTS = 3


@pytest.fixture
def server(server_directory: Path) -> Iterator[RedisServer]:
    """Yield an unused server."""
    server = RedisServer(find_server(), server_directory)
    server.start()
    yield server
    server.end()


async def connect(url: str, **more: Any) -> None:
    """Connect to a frontier as crawls do."""
    settings = BaseSettings({"REDIS_URL": url, **more})
    options = CrawlOptions.from_settings(settings, "c")
    connection = await FrontierConnection.connect(options, settings)
    try:
        with connection.explaining():
            await connection.frontier.open()
    finally:
        await connection.close()


async def refusal(url: str, **more: Any) -> str:
    """Return the line that says why a Redis cannot be used."""
    with pytest.raises(ConfigError, match="REDIS_URL") as info:
        await connect(url, **more)
    text = str(info.value)
    assert "\n" not in text
    assert SECRET not in text
    return text


DENY = "ACL SETUSER default on nopass"
CASES = {
    "no-password": (f"CONFIG SET requirepass {SECRET}", "", "has to name"),
    "wrong-password": (
        f"CONFIG SET requirepass {SECRET}",
        ":x@",
        ": correct user and password in REDIS_URL",
    ),
    "raw-password": (f"CONFIG SET requirepass {SECRET}", ":10%41@", "% as %25"),
    "unknown-user": ("PING", f"me:{SECRET}@", "invalid username"),
    "unwanted-password": ("PING", f":{SECRET}@", ": it has no password: leave it out"),
    "no-info": (f"{DENY} -info", "", "'info'"),
    "no-time-in-scripts": (f"{DENY} -time", "", ": give the user in REDIS_URL the"),
    "no-scripts": (f"{DENY} -script", "", ": this user has no permissions"),
    "no-calls": (f"{DENY} -evalsha", "", "'evalsha'"),
    "no-hashes": (f"{DENY} -hsetnx", "", ": this user has no permissions"),
    "full": ("CONFIG SET maxmemory 1", "", "maxmemory"),
}


def order(server: RedisServer, *words: str) -> None:
    """Give a server a command."""
    with closing(Redis(unix_socket_path=str(server.socket), driver_info=None)) as redis:
        redis.execute_command(*words)  # type: ignore[no-untyped-call]


@pytest.mark.service
@pytest.mark.parametrize("name", CASES)
async def test_refusals_are_one_line(server: RedisServer, name: str) -> None:
    """If Redis refuses a crawl, then one line says why, and it does not try on."""
    command, login, expected = CASES[name]
    order(server, *command.split())
    url = server.url.replace("://", f"://{login}")
    assert expected in await refusal(url)


@pytest.mark.service
async def test_too_many_clients_are_one_line(server: RedisServer) -> None:
    """If all clients of Redis are taken, then the line has what Redis says of that."""
    order(server, "CONFIG", "SET", "maxclients", str(N_CLIENTS))
    taken = [socket.socket(socket.AF_UNIX) for _ in range(N_CLIENTS)]
    for each in taken:
        each.connect(str(server.socket))
        each.sendall(b"PING\r\n")
        each.recv(10)
    told = await refusal(server.url)
    assert "max number of clients reached: raise `maxclients`" in told
    for each in taken:
        each.close()


@pytest.mark.service
async def test_databases_that_are_missing_are_one_line(server: RedisServer) -> None:
    """If Redis has fewer databases, then the line names the setting of the number."""
    told = await refusal(f"{server.url}?db=99")
    assert "DB index is out of range: name a lower number in REDIS_URL or" in told


@pytest.mark.service
async def test_passwords_of_sentinels_are_not_those_of_the_primary(
    server_directory: Path,
) -> None:
    """If the Sentinels want a password, then the line has their parameter."""
    (port,) = free_ports(1)
    config = server_directory / "sentinel.conf"
    config.write_text(f"port {port}\nrequirepass {SECRET}\nbind 127.0.0.1\n")
    sentinel = ClusterNode(find_server(), server_directory, port)
    sentinel.run(str(config), "--sentinel")
    url = f"redis+sentinel://:x@127.0.0.1:{port}/mymaster"
    try:
        wait_until(partial(_listens, port))
        assert "as in ?sentinel_password=" in await refusal(url)
        told = await refusal(f"{url}?sentinel_password={SECRET}x")
        assert "correct sentinel_username and sentinel_password" in told
        told = await refusal(f"{url}?sentinel_password={SECRET}")
        assert "watch no primary named mymaster" in told
    finally:
        sentinel.end()


def _listens(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.service
async def test_clusters_want_their_password(
    server_directory: Path,
) -> None:
    """If nodes want a password that the URL lacks, then one line says so, too."""
    with running_cluster(server_directory, with_replicas=False) as cluster:
        for node in reversed(cluster.nodes):  # at first, it is one of them alone
            with closing(node.client()) as redis:
                redis.config_set("requirepass", SECRET)
            assert "has to name a password" in await refusal(cluster.url)
        wrong = cluster.url.replace("://", "://:x@")
        assert ": correct user and password in REDIS_URL" in await refusal(wrong)


QUICK = {"REDIS_PARAMS": {"socket_timeout": 0.1, "socket_connect_timeout": 0.1}}


@asynccontextmanager
async def listening(
    said: bytes, tls: ssl.SSLContext | None = None
) -> AsyncIterator[str]:
    """Yield the address of a server that says the same to everything."""

    async def answer(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if said.startswith(b"-") or await reader.readline():
            writer.write(said)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=tls)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "a server that says 'HTTP/1.1 400 Bad"),
        (b"500 \x1b[31munknown\r\n", "a server that says '500 \\x1b[31munknown'"),
        (b"-LOADING Redis is loading the dataset in memory\r\n", "is loading"),
        (b"-DENIED Redis is running in protected mode. A.\r\n", "in protected mode"),
    ],
)
async def test_servers_that_are_no_redis_are_named(said: bytes, expected: str) -> None:
    """If something else listens there, then the line has its greeting."""
    async with listening(said) as address:
        assert expected in await refusal(f"redis://{address}/0")


async def test_tls_on_one_side_only_is_named(tmp_path: Path) -> None:
    """If only one side speaks TLS, then the line has the scheme to write."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(write_certificate(tmp_path))
    async with listening(b"", context) as address:
        assert "write rediss://" in await refusal(f"redis://{address}/0", **QUICK)
    async with listening(b"+PONG\r\n") as address:
        assert "write redis://" in await refusal(f"rediss://{address}/0", **QUICK)


PLACES = ("127.0.0.1:9652/0", "127.0.0.1:9652", "[::1]:9652/3", "cache.example")


@pytest.mark.parametrize("place", PLACES)
def test_no_part_of_a_raw_password_is_shown(place: str) -> None:
    """If a password has any characters, then none of it is in a message or a log."""
    for raw in "@/#:?%[] &=+,;$!*'()~\\\"<>^`{|}é\n\x1b":
        for login in (f":se{raw}cret", f"me:s{raw}e{raw}c@/:ret", f"me:{raw}cret"):
            for scheme in ("redis", "rediss", "redis+cluster", "rdis", "http"):
                url = f"{scheme}://{login}@{place}"
                shown = [describe(url)]
                try:
                    async_client({"REDIS_URL": url})
                except ConfigError as error:
                    shown.append(str(error))
                for text in shown:
                    assert "cret" not in text, url
                    assert "ret" not in text.replace("redis", ""), url
                    assert "\n" not in text


@pytest.mark.parametrize(
    "url",
    [
        "redis://:p@ss/w%rd:#?@h:1/0",
        "redis://:p/ss@h",
        "redis://u:p#ss@h:1",
        "redis://u:p?ss@h",
        "redis://u:p[ss@h",
        "redis://h?password=p@ss",
        "rediss://u:p ss@h",
        "redis+cluster://u:p/ss@a:1,b:2",
        "redis+sentinel://u:p#ss@a:1/mymaster",
        "unix://u:p/ss@/run/redis.sock",
    ],
)
def test_raw_characters_are_named(url: str) -> None:
    """If a password ends before it does, then the line says what to encode."""
    with pytest.raises(ConfigError, match="percent-encoded") as info:
        async_client({"REDIS_URL": url})
    assert "ss" not in str(info.value).replace("rediss", "").replace("password", "")


@pytest.mark.parametrize("url", ["redis://h:1/one", "redis://h/0/1", "redis://u:pass"])
def test_places_that_are_none_are_named(url: str) -> None:
    """If the database is no number, or the host is missing, then one line says so."""
    with pytest.raises(ConfigError, match="must be like redis://") as info:
        async_client({"REDIS_URL": url})
    assert "u:pass" not in str(info.value)


@pytest.mark.service
def test_commands_end_with_two_where_redis_wants_a_password(
    commands: Commands, server: RedisServer
) -> None:
    """If Redis wants a password, then each command says so in a line: exit code 2."""
    order(server, "CONFIG", "SET", "requirepass", SECRET)
    seeds = "-aseeds=http://127.0.0.1:9/"
    running = [
        commands.start(*words, REDIS_URL=server.url, CRAWL_ID="c")
        for words in (
            ("crawl", "linkeddata", seeds),
            ("workers", "-n1", "linkeddata", seeds),
            ("frontier", "status"),
            ("frontier", "exporter", "--port=0"),
            ("ping", "http://a.example/sitemap.xml"),
            ("ping", "serve", "--port=0"),
            ("page", "--port=0"),
        )
    ]
    for each in running:
        result = each.wait()
        told = [x for x in result.stderr.splitlines() if x.startswith("scrapy: ")]
        assert len(told) == 1, result.stderr
        assert "has to name a password" in told[0]
        assert "Traceback" not in result.stderr
        assert result.code == 2


def _has_begun(web: TreeWeb) -> bool:
    return web.asked().total() > 4


LATER = {
    f"requirepass {SECRET}": "has to name a password",
    "-time": ": give the user in REDIS_URL the rights of a crawl",  # within scripts
}


@pytest.mark.service
def test_a_worker_that_is_refused_later_stops(
    commands: Commands, loopback: Loopback, server_directory: Path
) -> None:
    """If Redis refuses a worker from now on, then one line says so, and all ends."""
    with ExitStack() as stack:
        running = []
        for n, order_of_it in enumerate(LATER):
            web = TreeWeb(
                loopback, f"127.81.{n + 40}", n_hosts=1, n_docs=400, secs=0.02
            )
            place = server_directory / str(n)
            place.mkdir()
            server = RedisServer(find_server(), place)
            server.start()
            stack.callback(server.end)
            crawl = commands.start_crawl(
                [web.seed],
                REDIS_URL=server.url,
                CRAWL_ID=f"c{n}",
                VISIT_MAX_DOCUMENTS=4,
            )
            running.append((order_of_it, web, server, crawl))
        for order_of_it, web, server, _ in running:
            commands.wait_until(partial(_has_begun, web))
            is_rule = order_of_it.startswith("-")
            begin = "ACL SETUSER default" if is_rule else "CONFIG SET"
            order(server, *begin.split(), *order_of_it.split())
            if not is_rule:
                path = str(server.socket)
                with closing(Redis(unix_socket_path=path, password=SECRET)) as redis:
                    redis.client_kill_filter(_type="normal", skipme=True)
        for order_of_it, *_, crawl in running:
            result = crawl.wait()
            assert result.code == 2, result.stderr
            assert result.stderr.count(LATER[order_of_it]) == 1
            assert "Traceback" not in result.stderr
            assert SECRET not in result.stderr


@pytest.mark.service
def test_refusal_during_a_flush_is_no_fault_of_the_store(
    commands: Commands, loopback: Loopback, server: RedisServer
) -> None:
    """If Redis refuses a worker while its store flushes, then Redis is blamed."""
    site = loopback({"/a": loopback.response(b"<> <urn:x:p> 1 .")})
    classes = {"refusing": "tests.support.failing_store.RefusingStore"}
    crawl = commands.crawl(
        [site.url("/a")],
        REDIS_URL=server.url,
        STORE="refusing:",
        STORE_CLASSES=json.dumps(classes),
    )
    assert crawl.code == 2, crawl.stderr
    assert crawl.stderr.count("has to name a password") == 1
    assert "results cannot be kept" not in crawl.stderr
    assert "Traceback" not in crawl.stderr
