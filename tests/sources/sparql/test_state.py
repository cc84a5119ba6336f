"""The state of an endpoint in Redis: which documents a harvest deletes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.frontier.queue.tables import StateStore
from rdfcrawl.frontier.redis.errors import RedisRetry
from rdfcrawl.sources.harvest.sparql_state import EndpointState

if TYPE_CHECKING:
    from tests.support.redis_fixtures import MakeFrontier

KEY = "http://e.example/sparql"


async def test_repeated_end_of_a_harvest_keeps_the_same_graphs(
    make_frontier: MakeFrontier,
) -> None:
    """If a worker dies while it deletes documents, then its heir deletes no others.

    A new response about a graph with losses and another graph is deleted. The earlier
    statements of the other graph stay, also when that response is known no more.
    """
    frontier = await make_frontier()
    store = StateStore(frontier.redis, frontier.key, RedisRetry())
    first, later = EndpointState(store, 0, KEY), EndpointState(store, 1, KEY)
    await first.begin()
    for name in ("lossy", "same", "other"):
        graph = "other" if name == "same" else name
        await first.keep(f"urn:x:{name}", 1, [graph])
    await later.begin()
    await later.keep("urn:x:same", 1, ["other"])
    await later.keep("urn:x:both", 1, ["lossy", "other"])
    await later.lose(["lossy"])
    deleted = [[url async for url in later.iter_gone()] for _ in range(2)]
    assert deleted == [["urn:x:both"]] * 2
