"""Many workers on many machines share one crawl; fetches are only waited for."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rdfcrawl.frontier.queue.candidate import machine_of
from rdfcrawl.frontier.redis.client import server_facts
from tests.support.simulated_workers import SimulatedCrawl, simulate

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from tests.support.redis_fixtures import RedisServer

CRAWL = SimulatedCrawl(
    workers=12,
    machines=3,
    hosts=60,
    a_host=12,
    places=3,
    delay_secs=0.1,
    window_secs=0.4,
    latency_secs=0.02,
)


async def test_twelve_workers_share_sixty_hosts(
    redis_server: RedisServer, redis: Redis
) -> None:
    """If twelve workers share a crawl, all is done once, at the pace of each host.

    All machines have their shares, and no host waits for half of the time.
    """
    version = (await server_facts(redis)).version
    run = await simulate(CRAWL, redis_server.client, version, secs=None)
    asked = Counter(each.url for each in run.fetches)
    assert len(asked) == asked.total() == CRAWL.hosts * CRAWL.a_host
    of_machines = Counter(machine_of(each.worker) for each in run.fetches)
    assert len(of_machines) == CRAWL.machines
    assert min(of_machines.values()) > asked.total() / CRAWL.machines / 2
    assert run.shortest_gap_secs >= CRAWL.delay_secs - 0.01
    first = {each.host: each.at for each in reversed(run.fetches)}
    half = run.began + (run.ended - run.began) / 2
    assert max(first.values()) < half
