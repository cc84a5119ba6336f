"""Redis comes back empty or older, answers get lost, or it is set otherwise."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from redis import Redis

from rdfcrawl.frontier.queue.frontier_client import StateCounts
from rdfcrawl.frontier.redis.embedded import find_server
from tests.support.crawl_fixtures import count_in_redis
from tests.support.crawl_kills import worker_pids
from tests.support.crawl_webs import TreeWeb
from tests.support.redis_fixtures import RedisServer
from tests.support.redis_proxy import RedisProxy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

pytestmark = pytest.mark.service

N_HOSTS, N_DOCS = 6, 40
BODY = b"<> <urn:x:p> <#o> ."
QUICK: dict[str, Any] = {"FRONTIER_LEASE_SECS": 2, "FRONTIER_COMMIT_SECS": 0.3}
ALL_DONE = StateCounts(done=N_HOSTS * N_DOCS, seen=N_HOSTS * N_DOCS, hosts=N_HOSTS)


@contextmanager
def running(folder: Path, name: str, *options: str) -> Iterator[RedisServer]:
    """Run a server for a while."""
    place = folder / name
    place.mkdir()
    server = RedisServer(find_server(), place, options)
    server.start()
    try:
        yield server
    finally:
        server.end()


def tree(loopback: Loopback, prefix: str, secs: float = 0.05) -> TreeWeb:
    """Return a web whose documents are each linked to once or twice."""
    return TreeWeb(loopback, prefix, n_hosts=N_HOSTS, n_docs=N_DOCS, secs=secs)


@pytest.mark.parametrize("how", ["restart", "flush"])
def test_a_crawl_that_is_gone_from_redis_stops(
    commands: Commands, loopback: Loopback, server_directory: Path, how: str
) -> None:
    """If Redis comes back empty, or is emptied, then the worker says so and stops."""
    web = tree(loopback, "127.0.81" if how == "restart" else "127.0.82", secs=0.1)
    with running(server_directory, "r") as server:
        crawl = commands.start_crawl([web.seed], REDIS_URL=server.url, **QUICK)
        commands.wait_until(lambda: web.asked().total() > N_DOCS)
        if how == "restart":
            server.end(signal.SIGKILL)
            server.start()
        else:
            with Redis(unix_socket_path=str(server.socket)) as redis:
                redis.flushall()
        result = crawl.wait()
    assert result.code == 1, result.stderr
    assert result.stderr.count("is no longer in unix://") == 1, result.stderr
    assert "Traceback" not in result.stderr
    assert result.stderr.count("it keeps no append-only file") == 1
    assert len(web.asked()) < len(web.documents)


def test_a_replica_that_lags_behind_takes_over(
    commands: Commands, loopback: Loopback, server_directory: Path
) -> None:
    """If a replica that is a second behind takes over, then nothing is lost."""
    web = tree(loopback, "127.0.83")
    aof = ("--appendonly", "yes", "--repl-diskless-sync-delay", "0")
    with (
        running(server_directory, "p", *aof) as primary,
        RedisProxy(primary.socket) as replication,
        running(
            *(server_directory, "s", *aof),
            *("--replicaof", "127.0.0.1", str(replication.port)),
        ) as replica,
        RedisProxy(primary.socket) as way,
        Redis(unix_socket_path=str(replica.socket)) as redis,
    ):
        commands.wait_until(
            lambda: redis.info("replication")["master_link_status"] == "up"
        )
        crawl = commands.start_crawl([web.seed], REDIS_URL=way.url, **QUICK)
        commands.wait_until(lambda: web.asked().total() > N_DOCS)
        replication.is_silent = True
        time.sleep(1.0)
        primary.end(signal.SIGKILL)
        replication.cut_all()
        redis.replicaof("NO", "ONE")
        way.target = replica.socket
        way.cut_all()
        result = crawl.wait()
        counts = asyncio.run(count_in_redis(replica.url, "linkeddata"))
    assert result.code == 0, result.stderr
    assert result.graphs == web.documents
    assert "another one took over" in result.stderr
    assert counts == ALL_DONE


def test_a_worker_that_is_started_while_redis_is_away_waits_for_it(
    commands: Commands, loopback: Loopback, server_directory: Path
) -> None:
    """If all workers die while Redis is away, then those after them wait for it."""
    web = tree(loopback, "127.0.80", secs=0.1)
    with running(server_directory, "r", "--appendonly", "yes") as server:
        crew = commands.start(
            *("workers", "-n2", "linkeddata", f"-aseeds={web.seed}"),
            REDIS_URL=server.url,
            **QUICK,
        )
        commands.wait_until(lambda: web.asked().total() > N_DOCS)
        server.end(signal.SIGKILL)
        for pid in worker_pids(crew):
            os.kill(pid, signal.SIGKILL)
        time.sleep(6.0)  # longer than the starting worker waits
        server.start()
        result = crew.wait()
    assert result.code == 0, result.stderr
    assert result.stderr.count("died (-9)") == 2
    assert result.graphs == web.documents


def test_a_worker_that_is_started_while_redis_is_full_waits_for_room(
    commands: Commands, loopback: Loopback, lasting_server: RedisServer
) -> None:
    """If all workers die while Redis is full, then those after them wait for room."""
    web = tree(loopback, "127.0.79", secs=0.1)
    with Redis(unix_socket_path=str(lasting_server.socket)) as redis:
        crew = commands.start(
            *("workers", "-n2", "linkeddata", f"-aseeds={web.seed}"),
            REDIS_URL=lasting_server.url,
            **QUICK,
        )
        commands.wait_until(lambda: web.asked().total() > N_DOCS)
        redis.config_set("maxmemory", 1)
        for pid in worker_pids(crew):
            os.kill(pid, signal.SIGKILL)
        time.sleep(4.0)  # they have tried by then
        redis.config_set("maxmemory", 0)
        result = crew.wait()
    assert result.code == 0, result.stderr
    assert result.stderr.count("died (-9)") == 2
    assert result.graphs == web.documents, result.stderr


@pytest.mark.soak
def test_lost_answers_lose_nothing(
    commands: Commands,
    loopback: Loopback,
    server_directory: Path,
) -> None:
    """If three in ten answers of Redis never arrive, then nothing is lost."""
    n_hosts, n_docs = 31, 40
    n_all = n_hosts * n_docs
    web = TreeWeb(loopback, "127.0.88", n_hosts=n_hosts, n_docs=n_docs, secs=0.05)
    with (
        running(server_directory, "r", "--appendonly", "yes") as server,
        RedisProxy(server.socket) as way,
    ):
        crawl = commands.start_crawl(
            [web.seed], REDIS_URL=way.url, VISIT_MAX_DOCUMENTS=4, **QUICK
        )
        commands.wait_until(lambda: "frontier in" in crawl.stderr)
        way.cut_share = 0.3
        result = crawl.wait()
        counts = asyncio.run(count_in_redis(server.url, "linkeddata"))
    assert result.code == 0, result.stderr
    assert "Traceback" not in result.stderr
    assert way.n_cut > 10
    assert result.graphs == web.documents
    assert counts == StateCounts(done=n_all, seen=n_all, hosts=n_hosts)
    assert max(web.asked().values()) <= 2


def test_a_full_redis_takes_no_links_and_all_else_goes_on(
    commands: Commands, loopback: Loopback, server_directory: Path
) -> None:
    """If Redis is full, then visits are released and committed, and only links wait."""
    web = tree(loopback, "127.0.86")
    more = [
        loopback({"*": [0.05, loopback.response(BODY)]}, host=f"127.0.87.{n}")
        for n in range(1, 5)
    ]
    seeds = [server.url(f"/{n}") for server in more for n in range(60)]
    with (
        running(server_directory, "r", "--appendonly", "yes") as server,
        Redis(unix_socket_path=str(server.socket)) as redis,
    ):

        def n_done() -> int:
            names = redis.keys("rc:{linkeddata/*}:cnt")
            return sum(int(redis.hget(name, "done") or 0) for name in names)

        crawl = commands.start_crawl(
            [web.seed, *seeds], REDIS_URL=server.url, VISIT_MAX_DOCUMENTS=4, **QUICK
        )
        commands.wait_until(lambda: n_done() > 0)
        redis.config_set("maxmemory", 1)
        commands.wait_until(lambda: "Redis is full" in crawl.stderr)
        before = n_done()
        # URLs that lead to nothing new are requested and committed meanwhile.
        commands.wait_until(lambda: n_done() > before + len(seeds) // 4)
        time.sleep(2.5)  # longer than a lease
        redis.config_set("maxmemory", 0)
        result = crawl.wait()
        counts = asyncio.run(count_in_redis(server.url, "linkeddata"))
    assert result.code == 0, result.stderr
    assert result.graphs == web.documents | set(seeds)
    assert result.stderr.count("Redis is full") <= 2
    assert counts.done == counts.seen == len(web.documents) + len(seeds)
    assert max(web.asked().values()) == 1


def test_dangers_for_the_crawl_are_reported_when_it_begins(
    commands: Commands, loopback: Loopback, server_directory: Path
) -> None:
    """If Redis drops its file, evicts, or becomes a replica, then each is said once."""
    web = tree(loopback, "127.0.85", secs=0.1)
    with (
        running(server_directory, "r", "--appendonly", "yes") as server,
        Redis(unix_socket_path=str(server.socket)) as redis,
    ):
        crawl = commands.start_crawl([web.seed], REDIS_URL=server.url, **QUICK)

        def says(text: str) -> None:
            commands.wait_until(lambda: text in crawl.stderr)

        commands.wait_until(lambda: web.asked().total() > 5)
        assert "append-only" not in crawl.stderr
        redis.config_set("appendonly", "no")
        says("it keeps no append-only file")
        redis.config_set("maxmemory", "1gb")
        redis.config_set("maxmemory-policy", "allkeys-lru")
        says("maxmemory-policy is allkeys-lru")
        redis.config_set("maxmemory-policy", "noeviction")
        redis.replicaof("127.0.0.1", "9")
        says("it is a replica now")
        time.sleep(0.5)
        assert not crawl.has_ended()
        redis.replicaof("NO", "ONE")
        result = crawl.wait()
    assert result.code == 0, result.stderr
    assert result.graphs == web.documents
    for text in ("append-only", "allkeys-lru", "it is a replica now"):
        assert result.stderr.count(text) == 1, result.stderr
