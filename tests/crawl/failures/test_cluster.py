"""Primaries of a Redis Cluster are killed, lag, and are moved away under a crawl."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.dataweb.config import NodeKind, WebConfig
from rdfcrawl.dataweb.process import run_dataweb
from rdfcrawl.dataweb.recall import judge
from rdfcrawl.frontier.redis_cluster import slot_of
from tests.support.crawl_fixtures import count_in_redis
from tests.support.crawl_kills import worker_pids
from tests.support.redis_cluster import running_cluster, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands
    from tests.support.redis_cluster import RedisCluster

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


def partitions_of(cluster: RedisCluster, port: int) -> list[int]:
    """Return the slots of the crawl's partitions that a node has."""
    found = []
    for number in range(16):
        prefix = f"rc:{{{CRAWL_ID}/{number}}}"
        if cluster.node_of(prefix).port == port:
            found.append(slot_of(["GET", prefix]))
    return found


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
    assert result.code == 0, result.stderr
    report = judge(tmp_path / "truth.nq", [str(result.folder / "quads")])
    assert report.micro == 1.0, report.missing
    assert report.n_surplus == 0, report.surplus
    assert (counts.queued, counts.leased, counts.dead) == (0, 0, 0)
    assert counts.seen == counts.done + counts.known
    assert len(set(result.ask("?a sq:crawled ?x"))) == counts.done
    assert result.latest_quads == result.quads
    assert "the primaries of the cluster have changed" in result.stderr
