"""The frontier on a Redis Cluster: where commands go, and what nodes may lose."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from redis.exceptions import TryAgainError
from scrapy.settings import BaseSettings

from rdfcrawl.core.errors import ConfigError, CrawlGone
from rdfcrawl.frontier.connection import FrontierConnection
from rdfcrawl.frontier.queue.host_rules import KeepingOptions
from rdfcrawl.frontier.queue.options import CrawlOptions
from rdfcrawl.frontier.queue.shared_rules import KeptRobots
from rdfcrawl.frontier.redis.client import async_client, server_facts
from rdfcrawl.frontier.redis.cluster import ClusterClient, slot_of
from rdfcrawl.frontier.redis.errors import RedisRetry
from rdfcrawl.frontier.redis.server_state import ServerState
from tests.support.frontier_state import candidates
from tests.support.frontier_workers import paths
from tests.support.redis_cluster import N_PRIMARIES, running_cluster
from tests.support.redis_fixtures import frontier_on

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from rdfcrawl.frontier.queue.frontier_client import Frontier
    from tests.support.redis_cluster import RedisCluster

pytestmark = pytest.mark.service

N_PARTITIONS = 16
HOSTS = [f"h{n}.example" for n in range(40)]
URLS = [url for host in HOSTS for url in paths(3, host)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisCluster]:
    """Yield three primaries."""
    with (
        tempfile.TemporaryDirectory(prefix="rc-") as folder,
        running_cluster(Path(folder), with_replicas=False) as cluster,
    ):
        yield cluster


@pytest.fixture
async def client(cluster: RedisCluster) -> AsyncIterator[ClusterClient]:
    """Yield a client of the cluster, which is empty."""
    for node in cluster.nodes:
        with closing(node.client()) as one:
            one.flushall()
    client = async_client({}, cluster.url)
    assert isinstance(client, ClusterClient)
    yield client
    await client.aclose()


@pytest.fixture
async def frontier(client: ClusterClient) -> Frontier:
    """Return a frontier with partitions on all nodes."""
    version = (await server_facts(client)).version
    frontier = frontier_on(client, version, partitions=N_PARTITIONS)
    await frontier.open()
    return frontier


async def test_answers_are_in_order(client: ClusterClient) -> None:
    """If commands of a pipeline go to all nodes, then answers are in their order."""
    pipe = client.pipeline(transaction=False)
    for n in range(50):
        pipe.set(f"k{n}", n)
    await pipe.execute()
    pipe = client.pipeline(transaction=False)
    for n in range(50):
        pipe.get(f"k{n}")
    assert await pipe.execute() == [b"%d" % n for n in range(50)]
    names = [name async for name in client.scan_iter(match="k*", count=10)]
    assert len(names) == 50
    assert await client.unlink(*names) == 50
    assert await client.exists("k1") == 0


async def test_a_transaction_has_one_slot(client: ClusterClient) -> None:
    """If a transaction has one slot, then it is done; on two nodes, it is refused."""
    pipe = client.pipeline(transaction=True)
    pipe.hset("{a}x", "f", "1")
    pipe.hgetall("{a}x")
    assert await pipe.execute() == [1, {b"f": b"1"}]
    pipe.set("a", "1")
    pipe.set("b", "1")
    with pytest.raises(Exception, match="several nodes"):
        await pipe.execute()


async def test_uris_are_taken_and_given_once(frontier: Frontier) -> None:
    """If partitions are on three nodes, then each URI is given once and counted."""
    added = await frontier.add(candidates(frontier, URLS))
    assert added.new == len(URLS)
    assert (await frontier.add(candidates(frontier, URLS))).seen == len(URLS)
    visits, _ = await frontier.claim(range(N_PARTITIONS), most_keys=100)
    assert sorted(x.url for visit in visits for x in visit.records) == sorted(URLS)
    assert await frontier.renew(visits) == []
    assert await frontier.release(visits) == 0
    assert await frontier.ack(visits) == 0
    counts = await frontier.counts()
    assert (counts.done, counts.seen, counts.is_over) == (len(URLS), len(URLS), True)
    await frontier.clear()
    assert [name async for name in frontier.redis.scan_iter(match="rc:*")] == []


async def test_rules_are_kept_on_all_nodes(frontier: Frontier) -> None:
    """If origins lie on three nodes, then their rules are asked for and kept once."""
    origins = [f"https://{n}.example" for n in range(30)]
    keepers = [KeptRobots(frontier, RedisRetry(), KeepingOptions()) for _ in range(2)]
    found = await asyncio.gather(*map(keepers[0].look, origins))
    assert all(each.is_due for each in found)
    waiting = asyncio.gather(*map(keepers[1].look, origins))
    for n, origin in enumerate(origins):
        await keepers[0].keep_rules(origin, b"%d" % n, 60.0)
    assert [each.rules for each in await waiting] == [b"%d" % n for n in range(30)]
    for keeper in keepers:
        await keeper.close()


async def test_scripts_that_one_node_forgot(
    frontier: Frontier, cluster: RedisCluster
) -> None:
    """If a node has forgotten the scripts, then what others did is not done twice."""
    with closing(cluster.nodes[1].client()) as node:
        node.script_flush()
    added = await frontier.add(candidates(frontier, URLS))
    assert (added.new, added.seen) == (len(URLS), 0)


async def test_a_slot_that_is_moved_is_waited_for(
    frontier: Frontier, cluster: RedisCluster
) -> None:
    """If half of a partition has moved, then no script runs before all of it has."""
    await frontier.add(candidates(frontier, URLS))
    slot = slot_of(["GET", "rc:{c/0}"])
    source = cluster.node_of("rc:{c/0}")
    target = next(node for node in cluster.nodes if node is not source)
    before = await frontier.counts()
    with cluster.moving(slot, source, target) as move:
        move(3)
        with pytest.raises(TryAgainError, match=f"slot {slot} .*moved"):
            await frontier.claim(range(N_PARTITIONS), most_keys=100, number=7)
        claiming = asyncio.create_task(
            frontier.claim(range(N_PARTITIONS), most_keys=100, number=7)
        )
        await asyncio.sleep(0.1)
        assert not claiming.done()
    visits, _ = await claiming
    assert sorted(x.url for visit in visits for x in visit.records) == sorted(URLS)
    await frontier.release(visits)
    await frontier.ack(visits)
    assert (await frontier.counts()).done == before.queued == len(URLS)
    cluster.move_slot(slot, target, source)
    assert (await frontier.counts()).seen == len(URLS)


async def test_a_node_that_has_lost_its_data(
    frontier: Frontier, cluster: RedisCluster
) -> None:
    """If one node comes back empty, then the crawl is gone, although others are not."""
    await frontier.counts()
    conf = cluster.node_of("rc:{c}:conf")
    empty = next(node for node in cluster.nodes if node is not conf)
    with closing(empty.client()) as node:
        node.flushall()
    with pytest.raises(CrawlGone, match=r"partition .* its node was restarted without"):
        await frontier.counts()


def test_primaries_and_histories_are_known_again() -> None:
    """If a primary is another one, or was a replica meanwhile, then it is noted."""
    state = ServerState("here")
    state.note_primaries(frozenset({"a:1", "b:1"}))
    for name in ("a:1", "b:1"):
        state.note({"run_id": name, "master_replid": "x"}, name)
    assert state.n_restores == 0
    state.note({"run_id": "a:1", "master_replid": "y"}, "a:1")
    assert state.n_restores == 1
    state.note({"run_id": "b:1", "master_replid": "x"}, "b:1")
    assert state.n_restores == 1
    state.note_primaries(frozenset({"a:1", "c:1"}))
    assert state.n_restores == 2


# -- what operators read -----------------------------------------------------------


async def message(url: str) -> str:
    """Return the message for an unusable URL."""
    options = CrawlOptions.from_settings(BaseSettings({"REDIS_URL": url}), "c")
    with pytest.raises(ConfigError) as info:
        await FrontierConnection.connect(options, BaseSettings())
    assert "\n" not in str(info.value)
    return str(info.value)


async def test_a_node_without_cluster_in_its_url(cluster: RedisCluster) -> None:
    """If the URL of a node does not say cluster, then the line says what to write."""
    said = await message(f"redis://127.0.0.1:{cluster.nodes[0].port}")
    assert "node of a Redis Cluster: write redis+cluster://" in said


async def test_nobody_answers() -> None:
    """If no node answers, then the line names one."""
    said = await message("redis+cluster://127.0.0.1:1,127.0.0.1:2")
    assert "no node of the cluster responds: Error 111 connecting" in said


async def test_one_node_of_many_is_enough(cluster: RedisCluster) -> None:
    """If only one of the given nodes answers, then all are found."""
    client = async_client(
        {}, f"redis+cluster://127.0.0.1:1,127.0.0.1:{cluster.nodes[2].port}"
    )
    assert isinstance(client, ClusterClient)
    assert len(await client.primaries()) == N_PRIMARIES
    await client.aclose()
