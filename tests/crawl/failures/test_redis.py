"""Crawls with a separate Redis as frontier, and their reaction to its absence."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.dataweb.config import NodeKind, WebConfig
from rdfcrawl.dataweb.process import run_dataweb
from rdfcrawl.dataweb.recall import judge
from rdfcrawl.frontier.queue.frontier_client import StateCounts
from rdfcrawl.frontier.redis.embedded import find_server
from tests.support.crawl_fixtures import count_in_redis
from tests.support.crawl_webs import TreeWeb
from tests.support.redis_fixtures import RedisServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

pytestmark = pytest.mark.service

N_HOSTS, N_DOCS = 6, 20
DELAY_SECS = 0.2


def test_redis_goes_away_and_comes_back(
    commands: Commands, loopback: Loopback, lasting_server: RedisServer
) -> None:
    """If Redis hangs and later dies and is restarted, then the crawl waits for it."""
    web = TreeWeb(loopback, "127.0.51", n_hosts=N_HOSTS, n_docs=N_DOCS, secs=0.1)
    running = commands.start_crawl(
        [web.seed],
        REDIS_URL=lasting_server.url,
        REDIS_PARAMS='{"socket_timeout": 1.0}',
        FRONTIER_COMMIT_SECS=0.3,
        FRONTIER_LEASE_SECS=5,
    )
    commands.wait_until(lambda: web.asked().total() > N_DOCS)
    os.kill(lasting_server.pid, signal.SIGSTOP)
    time.sleep(2.0)
    assert not running.has_ended()
    os.kill(lasting_server.pid, signal.SIGCONT)
    commands.wait_until(lambda: web.asked().total() > 2 * N_DOCS)
    lasting_server.end(signal.SIGKILL)
    time.sleep(1.0)
    assert not running.has_ended()
    lasting_server.start()

    result = running.wait()
    assert result.code == 0, result.stderr
    assert "Traceback" not in result.stderr
    assert result.stderr.count("Redis is unreachable") >= 1
    assert result.graphs == web.documents
    n = len(web.documents)
    counts = asyncio.run(count_in_redis(lasting_server.url, "linkeddata"))
    assert counts == StateCounts(done=n, seen=n, hosts=N_HOSTS)
    assert not (result.folder / "frontier").exists()


def test_two_workers_share_without_overlap(
    commands: Commands, lasting_server: RedisServer, tmp_path: Path
) -> None:
    """If two workers share a crawl, then no host has two visits, or no pause."""
    config = WebConfig(
        n_nodes=8,
        triples=25,
        degree=4,
        weights={NodeKind.DEREFERENCING: 1.0},
        port=0,
        first_address="127.62.0.1",
    )
    with run_dataweb(config, tmp_path) as web:
        result = commands.start(
            *("workers", "-n2", "linkeddata", f"-aseeds=@{web.seeds_path}"),
            REDIS_URL=lasting_server.url,
            DOWNLOAD_DELAY=DELAY_SECS,
            VISIT_WINDOW_SECS=0.6,
        ).wait()
        log = web.stop()
    assert result.code == 0, result.stderr
    assert judge(tmp_path / "truth.nq", [str(result.folder / "quads")]).micro == 1.0
    assert log.total("n_duplicates") == 0
    assert max(host.max_in_progress for host in log.hosts) == 1
    for host in log.hosts:
        # A loaded machine holds up single requests but not the mean.
        assert host.min_gap_secs is not None
        assert host.min_gap_secs > DELAY_SECS * 0.5
        assert host.mean_gap_secs is not None
        assert host.mean_gap_secs > DELAY_SECS * 0.9
    workers = set(result.ask("?a prov:wasAssociatedWith ?x ."))
    assert len(workers) == 2


def _wrong_servers(folder: Path) -> Iterator[tuple[str, RedisServer, str]]:
    """Yield the servers that are no primary: a name, the server, the expected line."""
    places = {name: folder / name for name in ("replica", "sentinel", "reader")}
    for place in places.values():
        place.mkdir()
    program = find_server()
    replica = RedisServer(program, places["replica"], ("--replicaof", "127.0.0.1", "9"))
    yield "replica", replica, "name its primary (127.0.0.1:9)"
    conf = places["sentinel"] / "sentinel.conf"
    conf.write_text("sentinel monitor crawls 127.0.0.1 9 1\n")
    sentinel = RedisServer(
        program, places["sentinel"], config=conf, options=("--sentinel",)
    )
    yield "sentinel", sentinel, "name the primary that it watches (crawls at 127.0.0.1"
    rules = ("--user", "default", "on", "nopass", "~*", "+@read", "+info", "+ping")
    yield "reader", RedisServer(program, places["reader"], rules), "no permissions"


def test_server_that_cannot_hold_a_crawl_is_named_in_one_line(
    commands: Commands, server_directory: Path
) -> None:
    """If `REDIS_URL` is a replica, a Sentinel or read-only, then one line says so."""
    for name, server, expected in _wrong_servers(server_directory):
        server.start()
        try:
            running = [
                commands.start(
                    *words, "-aseeds=http://127.0.0.1:9/", REDIS_URL=server.url
                )
                for words in (("crawl", "linkeddata"), ("workers", "-n1", "linkeddata"))
            ]
            results = [each.wait() for each in running]
        finally:
            server.end()
        for result in results:
            told = [x for x in result.stderr.splitlines() if x.startswith("scrapy: ")]
            assert len(told) == 1, (name, result.stderr)
            assert "REDIS_URL" in told[0]
            assert expected in told[0]
            assert "Traceback" not in result.stderr, (name, result.stderr)
            assert result.code == 2
