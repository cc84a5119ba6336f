"""A domain of half a million hosts, in a frontier of the usual size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rdfcrawl.uri import partition_of
from tests.bench.bench_frontier import used_memory
from tests.support.frontier_state import candidates

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.frontier_client import Frontier
    from tests.support.redis_fixtures import MakeFrontier

N_NAMES = 500_000


async def size_of(frontier: Frontier, partition: int) -> int:
    """Return the bytes that a partition takes, and delete it."""
    redis = frontier.redis
    before = await used_memory(redis)
    names = [
        name
        async for name in redis.scan_iter(
            f"{frontier._prefixes[partition]}:*", count=10_000
        )
    ]
    for start in range(0, len(names), 1000):
        await redis.delete(*names[start : start + 1000])
    return before - await used_memory(redis)


@pytest.mark.soak
async def test_no_partition_has_the_whole_of_a_giant(
    make_frontier: MakeFrontier,
) -> None:
    """If a domain has 500,000 hosts, then no partition of 16 takes above a tenth."""
    frontier = await make_frontier(partitions=16)
    for start in range(0, N_NAMES, 5000):
        urls = [f"https://h{i}.giant.example/" for i in range(start, start + 5000)]
        assert (await frontier.add(candidates(frontier, urls))).new == 5000
    assert (await frontier.counts()).hosts == N_NAMES
    sizes = [await size_of(frontier, partition) for partition in range(16)]
    print([f"{size / 2**20:.1f} MiB" for size in sizes])
    print(f"{sum(sizes) / N_NAMES:.0f} B a host")
    assert max(sizes) < sum(sizes) / 10
    assert sizes[partition_of("giant.example", 16)] < sum(sizes) / 16
    assert sum(sizes) / N_NAMES < 450
