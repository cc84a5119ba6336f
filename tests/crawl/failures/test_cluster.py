"""Primaries of a Redis Cluster are killed, lag, and are moved away under a crawl."""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.dataweb.config import NodeKind, WebConfig
from rdfcrawl.dataweb.process import run_dataweb
from rdfcrawl.dataweb.recall import judge
from rdfcrawl.frontier.redis.cluster import slot_of
from tests.support.crawl_fixtures import count_in_redis
from tests.support.crawl_kills import worker_pids
from tests.support.redis_cluster import NODE_TIMEOUT_SECS, running_cluster, wait_until
from tests.support.redis_fixtures import server_programs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.frontier.queue.frontier_client import StateCounts
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.redis_cluster import ClusterNode, RedisCluster

pytestmark = pytest.mark.service

CRAWL_ID = "linkeddata"
WEB = WebConfig(
    n_nodes=10,
    triples=80,
    degree=4,
    weights={NodeKind.DEREFERENCING: 1.0},
    port=0,
    first_address="127.61.0.1",
    latency_ms=80,
)


LARGE = replace(WEB, n_nodes=200, first_address="127.62.0.1", latency_ms=20)
BETWEEN_KILLS_SECS, ACK_LAG_SECS, BEHIND_SECS = 4.0, 3.0, 1.0
find_pauses = re.compile(r"Redis is back after ([0-9.]+) s").findall


def partitions_of(cluster: RedisCluster, port: int) -> list[int]:
    """Return the slots of the crawl's partitions that a node has."""
    found = []
    for number in range(16):
        prefix = f"rc:{{{CRAWL_ID}/{number}}}"
        if cluster.node_of(prefix).port == port:
            found.append(slot_of(["GET", prefix]))
    return found


@pytest.mark.in_turn(2, rooms=("frontier",))
def test_a_primary_is_killed_and_slots_are_moved(
    commands: Commands, tmp_path: Path, server_directory: Path
) -> None:
    """If workers and a primary are killed, and slots move, then recall is exactly 1."""
    with (
        running_cluster(server_directory) as cluster,
        run_dataweb(WEB, tmp_path) as web,
    ):
        crew = commands.start(
            *("workers", "-n2", "linkeddata", f"-aseeds=@{web.seeds_path}"),
            REDIS_URL=cluster.url,
            FRONTIER_LEASE_SECS=3,
            FRONTIER_COMMIT_SECS=0.3,
            FRONTIER_ACK_LAG_SECS=1,
            VISIT_MAX_DOCUMENTS=4,
        )
        commands.wait_until(lambda: web.log().total("n_documents") > 0)
        victim, heir, other = cluster.nodes[0], cluster.nodes[3], cluster.nodes[1]
        for slot in partitions_of(cluster, other.port):
            cluster.move_slot(slot, other, cluster.nodes[2])
        os.kill(random.choice(worker_pids(crew)), signal.SIGKILL)
        victim.end(signal.SIGKILL)
        wait_until(lambda: heir in cluster.primaries())
        result = crew.wait()
        counts = asyncio.run(count_in_redis(cluster.url, CRAWL_ID))
        web.stop()
    check(result, counts, tmp_path / "truth.nq")
    assert "the primaries of the cluster have changed" in result.stderr


def check(result: CrawlResult, counts: StateCounts, truth: Path) -> None:
    """Check that all was crawled, and nothing is twice in effect."""
    assert result.code == 0, result.stderr
    report = judge(truth, [str(result.folder / "quads")])
    assert report.micro == 1.0, report.missing
    assert report.n_surplus == 0, report.surplus
    assert (counts.queued, counts.leased, counts.dead) == (0, 0, 0)
    assert counts.seen == counts.done + counts.known
    assert len(set(result.ask("?a sq:crawled ?x"))) == counts.done
    assert result.latest_quads == result.quads


def longest_pause_secs(result: CrawlResult) -> float:
    """Return the longest time in which no worker requested a document."""
    texts = result.ask("?a prov:startedAtTime ?x")
    times = sorted(datetime.fromisoformat(text).timestamp() for text in texts)
    return max(after - before for before, after in pairwise(times))


def lag_and_die(primary: ClusterNode, replica: ClusterNode) -> None:
    """Kill a primary whose replica is a second behind."""
    os.kill(replica.pid, signal.SIGSTOP)
    with closing(primary.client()) as client:
        client.execute_command("CLIENT KILL", "TYPE", "replica")
    time.sleep(BEHIND_SECS)
    primary.end(signal.SIGKILL)
    os.kill(replica.pid, signal.SIGCONT)


def takes_over(cluster: RedisCluster, replica: ClusterNode) -> None:
    """Wait until a replica has taken over; print how long that takes."""
    began = time.monotonic()
    wait_until(lambda: replica in cluster.primaries())
    print(f"taken over after {time.monotonic() - began:.1f} s")


def outages(cluster: RedisCluster) -> Iterator[None]:
    """Make one outage after another."""
    first, second, third, *replicas = cluster.nodes
    first.end(signal.SIGKILL)
    takes_over(cluster, replicas[0])
    yield
    first.start()
    lag_and_die(third, replicas[2])
    takes_over(cluster, replicas[2])
    yield
    third.start()
    # Of two primaries that are left, none can take over: that needs a majority.
    cluster.move_all(second, replicas[2])
    yield


@pytest.mark.soak
@pytest.mark.parametrize("name", ["redis-server", "valkey-server"])
def test_a_large_crawl_loses_nothing(
    commands: Commands, tmp_path: Path, server_directory: Path, name: str
) -> None:
    """If all of that goes on under 200 hosts, then recall is 1 and pauses are short."""
    programs = [each for each in server_programs() if Path(each).name == name]
    if not programs:
        pytest.skip(f"no {name} here")
    with (
        running_cluster(server_directory, program=programs[0]) as cluster,
        run_dataweb(LARGE, tmp_path) as web,
    ):
        crew = commands.start(
            *("workers", "-n4", "linkeddata", f"-aseeds=@{web.seeds_path}"),
            REDIS_URL=cluster.url,
            FRONTIER_LEASE_SECS=10,  # longer than a primary is missed
            FRONTIER_COMMIT_SECS=0.3,
            FRONTIER_ACK_LAG_SECS=ACK_LAG_SECS,
            VISIT_MAX_DOCUMENTS=4,
        )
        commands.wait_until(lambda: web.log().total("n_documents") > 0)
        n_outages, n_killed = 0, 0
        makes = ThreadPoolExecutor(1)
        pending = outages(cluster)
        running: Future[str | None] | None = makes.submit(next, pending, "over")
        while not crew.has_ended():
            time.sleep(BETWEEN_KILLS_SECS)
            pids = worker_pids(crew)
            if len(pids) == 4 and running is not None:
                os.kill(random.choice(pids), signal.SIGKILL)
                n_killed += 1
            if running is not None and running.done():
                is_over = running.result() == "over"
                n_outages += not is_over
                running = None if is_over else makes.submit(next, pending, "over")
        result = crew.wait()
        counts = asyncio.run(count_in_redis(cluster.url, CRAWL_ID))
        web.stop()
    logs = [x.read_text() for x in (result.folder / "logs").glob("*.log")]
    pauses = sorted(float(each) for log in logs for each in find_pauses(log))
    print(f"{n_killed=} {n_outages=} {pauses=} {result.secs=:.1f} {counts=}")
    print(f"{longest_pause_secs(result)=:.1f}")
    check(result, counts, tmp_path / "truth.nq")
    assert n_outages == 3
    assert max(pauses) <= NODE_TIMEOUT_SECS + 3
