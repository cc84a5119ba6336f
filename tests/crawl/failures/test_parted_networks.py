"""Networks between the nodes of a Redis Cluster, and to them, part under a crawl."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.dataweb.process import NETWORK, run_dataweb
from tests.crawl.failures.test_cluster import (
    LARGE,
    check,
    find_pauses,
    longest_pause_secs,
)
from tests.support.crawl_fixtures import CrawlResult, count_in_redis
from tests.support.namespaces import machines
from tests.support.redis_cluster import running_cluster, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.redis_cluster import ClusterNode, RedisCluster

pytestmark = [pytest.mark.service, pytest.mark.soak]

ACK_LAG_SECS = 3.0  # longer than the timeout of the nodes, 2 s
SILENT_SECS = 10.0
WEB = replace(LARGE, n_nodes=60, first_address="127.63.0.1")


def outages(cluster: RedisCluster) -> Iterator[str]:
    """Part the networks in one way after another; yield the outcome."""
    first, second, third, *replicas = cluster.nodes
    places = [node.machine for node in cluster.nodes if node.machine]
    one, two, three = places[:3]
    one.part_from(places[1:])
    began = time.monotonic()
    wait_until(lambda: _is_primary(replicas[0]))
    yield f"a primary in the minority was replaced after {_since(began)}"
    time.sleep(2)
    one.join_again()
    wait_until(lambda: not _is_primary(first))
    two.cut()
    began = time.monotonic()
    wait_until(lambda: _is_primary(replicas[1]))
    yield f"a silent primary was replaced after {_since(began)}"
    time.sleep(max(0.0, SILENT_SECS - (time.monotonic() - began)))
    two.mend()
    wait_until(lambda: not _is_primary(second))
    three.cut()
    time.sleep(0.5)
    three.mend()
    yield "a primary was silent for half a second"
    places[5].cut()
    time.sleep(SILENT_SECS)
    places[5].mend()
    assert _is_primary(third)
    yield "a replica was silent"


def _is_primary(node: ClusterNode) -> bool:
    with closing(node.client()) as client:
        return bool(client.info("replication")["role"] == "master")


def _since(began: float) -> str:
    return f"{time.monotonic() - began:.1f} s"


def test_nothing_is_lost_when_networks_part(
    tmp_path: Path, server_directory: Path
) -> None:
    """If primaries are cut off, from the others or from all, then recall is 1.

    The first goes on taking writes of workers that reach it, and loses them later.
    """
    folder = tmp_path / "crawl"
    with (
        machines(6) as places,
        running_cluster(server_directory, machines=places) as cluster,
        run_dataweb(WEB, tmp_path) as web,
    ):
        given = {
            "REDIS_URL": cluster.url,
            "REDIS_PARAMS": '{"socket_timeout": 5}',
            "CRAWL_DIR": folder,
            "DOWNLOAD_DELAY": 0.8,
            "FRONTIER_LEASE_SECS": 10,
            "FRONTIER_COMMIT_SECS": 0.3,
            "FRONTIER_ACK_LAG_SECS": ACK_LAG_SECS,
            "VISIT_MAX_DOCUMENTS": 4,
            "GUARD_ALLOW_NETS": NETWORK,
            "CONTACT_REQUIRED": False,
            "DESCRIBE": "off",
            "PROGRESS": "off",
        }
        line = [sys.executable, "-m", "scrapy", "workers", "-n4", "linkeddata"]
        line += [
            f"-aseeds=@{web.seeds_path}",
            *(f"-s{k}={v}" for k, v in given.items()),
        ]
        began = time.monotonic()
        process = subprocess.Popen(line, stderr=subprocess.PIPE, env=os.environ)
        try:
            wait_until(lambda: web.log().total("n_documents") > 10)
            for what in outages(cluster):
                print(what, web.log().total("n_documents"), _since(began))
                assert process.poll() is None, "the crawl was over too soon"
            said = process.communicate(timeout=300)[1].decode()
        finally:
            process.kill()
            process.wait()
        counts = asyncio.run(count_in_redis(cluster.url, "linkeddata"))
        web.stop()
        secs = time.monotonic() - began
    result = CrawlResult(process.returncode, said, folder / "linkeddata", secs, 0)
    logs = [x.read_text() for x in (result.folder / "logs").glob("*.log")]
    pauses = sorted(float(each) for log in logs for each in find_pauses(log))
    print(f"{pauses=} {secs=:.1f} {counts=}")
    print(f"{longest_pause_secs(result)=:.1f}")
    check(result, counts, tmp_path / "truth.nq")
