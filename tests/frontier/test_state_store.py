"""State that the pages of a source share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.frontier.queue.tables import StateStore
from rdfcrawl.frontier.redis.errors import RedisRetry

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.frontier_client import Frontier
    from tests.support.redis_fixtures import MakeFrontier

PORTAL = "https://data.example/"


async def test_what_was_put_is_there_in_the_order_of_the_keys(
    make_frontier: MakeFrontier,
) -> None:
    """If entries of a table are asked for, then those there come in order."""
    store = store_of(await make_frontier())
    await store.put(PORTAL, "known", {"a": "1", "b": "zwei ü"})
    await store.put(PORTAL, "known", {"b": "2"})
    found = await store.get_many(PORTAL, "known", ["b", "x", "a"])
    assert list(found.items()) == [("b", "2"), ("a", "1")]
    assert await store.get(PORTAL, "known", "x") is None
    assert await store.size(PORTAL, "known") == 2


async def test_first_claim_counts(make_frontier: MakeFrontier) -> None:
    """If two claim an entry, then both get the value of the first."""
    store = store_of(await make_frontier())
    assert await store.claim(PORTAL, "way", "taken", "1") == "1"
    assert await store.claim(PORTAL, "way", "taken", "2") == "1"


async def test_tables_of_other_sources_are_apart(make_frontier: MakeFrontier) -> None:
    """If two sources have a table of one name, then each has its own entries."""
    store = store_of(await make_frontier())
    await store.put(PORTAL, "known", {"a": "1"})
    assert await store.get("https://other.example/", "known", "a") is None
    assert await store.get(PORTAL, "other", "a") is None


async def test_many_entries_are_all_found_and_can_be_dropped(
    make_frontier: MakeFrontier,
) -> None:
    """If a table is larger than one command takes, then nothing of it is lost."""
    store = store_of(await make_frontier())
    entries = {f"id-{n}": str(n) for n in range(2500)}
    await store.put(PORTAL, "known", entries)
    assert {k: v async for k, v in store.entries(PORTAL, "known")} == entries
    await store.drop(PORTAL, "known", [f"id-{n}" for n in range(2400)])
    assert await store.size(PORTAL, "known") == 100
    await store.clear(PORTAL, "known")
    assert [entry async for entry in store.entries(PORTAL, "known")] == []


async def test_those_who_begin_a_crawl_again_count_one_more_run(
    make_frontier: MakeFrontier,
) -> None:
    """If a crawl was over, then all that begin it again are in one more run."""
    frontier = await make_frontier()
    assert [await frontier.begin_run() for _ in range(2)] == [0, 0]
    await frontier.end_run(0)
    assert [await frontier.begin_run() for _ in range(3)] == [1, 1, 1]


async def test_late_end_of_a_run_ends_no_other(make_frontier: MakeFrontier) -> None:
    """If a worker ends when others have begun the next run, then that one goes on."""
    frontier = await make_frontier()
    for _ in range(3):
        await frontier.end_run(0)
    assert await frontier.begin_run() == 1
    await frontier.end_run(0)
    assert await frontier.begin_run() == 1
    await frontier.end_run(1)
    assert await frontier.begin_run() == 2
    await frontier.clear()
    assert await frontier.begin_run() == 0


def store_of(frontier: Frontier) -> StateStore:
    """Return the state store of a frontier's crawl."""
    return StateStore(frontier.redis, frontier.key, RedisRetry())
