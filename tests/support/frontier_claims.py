"""Steps of tests of claims: fill a frontier, claim in it, have hosts due."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.frontier_state import (
    candidates,
)

if TYPE_CHECKING:
    from rdfcrawl.core.visits import Visit
    from rdfcrawl.frontier.queue.frontier_client import Frontier


async def add(frontier: Frontier, n: int, host: str = "a.example") -> list[str]:
    """Queue n URLs of one host; return them."""
    urls = [f"https://{host}/r/{i}" for i in range(n)]
    assert (await frontier.add(candidates(frontier, urls))).new == n
    return urls


async def claim(frontier: Frontier, most_keys: int = 100) -> list[Visit]:
    """Claim in all partitions."""
    visits, _ = await frontier.claim(range(frontier.partitions), most_keys=most_keys)
    return visits


async def claim_one(frontier: Frontier) -> Visit:
    """Claim the only host that is due."""
    (visit,) = await claim(frontier)
    return visit


def urls_of(visit: Visit) -> list[str]:
    """Return the URLs of a visit, in order."""
    return [record.url for record in visit.records]


async def restart(frontier: Frontier) -> None:
    """Make the host due again immediately, as time would."""
    name = f"{frontier._prefixes[0]}:ready"
    for key in [raw.decode() async for raw, _ in frontier.redis.zscan_iter(name)]:
        await frontier.redis.zadd(name, {key: 1})
