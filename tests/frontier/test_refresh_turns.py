"""Refetched pages and links: both have half of a host's turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.records import CrawlBudget, Record, Urgency
from tests.support.frontier_state import candidates, check_frontier, new_ingest
from tests.support.frontier_workers import paths

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.candidate import Candidate
    from rdfcrawl.frontier.queue.frontier_client import Frontier
    from tests.support.redis_fixtures import MakeFrontier


def due(frontier: Frontier, urls: list[str], change: str = "r1") -> list[Candidate]:
    """Return the candidates of pages that are fetched again."""
    ingest = new_ingest(frontier)
    return [ingest.request(Record(url, change=change), Urgency.REFRESH) for url in urls]


def old(n: int) -> list[str]:
    """Return URLs of the same host that were fetched before."""
    return [f"https://a.example/old/{i}" for i in range(n)]


async def order_of(frontier: Frontier) -> str:
    """Claim all, in turns; return a letter for each: a link, or a refresh."""
    order = ""
    while (visits := (await frontier.claim([0], most_keys=1))[0]) != []:
        records = visits[0].records
        order += "".join("r" if each.change else "l" for each in records)
        await frontier.release(visits)
        await frontier.ack(visits)
        await check_frontier(frontier)
    return order


@pytest.mark.parametrize(
    ("batch", "order"),
    [
        (1, "lr" * 6 + "rrr"),
        (3, "llrlrr" * 2 + "rrr"),
        (4, "llrr" * 3 + "rrr"),
    ],
)
async def test_links_and_refresh_have_half_of_the_turns_each(
    make_frontier: MakeFrontier, batch: int, order: str
) -> None:
    """If a host has links and pages to refresh, then each kind gets half of its turns.

    When the links are done, the others have all turns.
    """
    frontier = await make_frontier(batch=batch, delay_secs=0)
    await frontier.add(candidates(frontier, paths(6)))
    await frontier.add(due(frontier, old(9)))
    assert await order_of(frontier) == order


async def test_a_page_is_queued_once_for_each_change(
    make_frontier: MakeFrontier,
) -> None:
    """If a page waits for a change, then only another change queues it once more.

    It was accepted before: it costs no budget of its host.
    """
    frontier = await make_frontier(budget=CrawlBudget(2), batch=10, delay_secs=0)
    urls = old(3)
    await frontier.add(candidates(frontier, paths(1)))
    assert (await frontier.add(due(frontier, urls))).new == 3
    assert (await frontier.add(due(frontier, urls))).seen == 3
    assert await order_of(frontier) == "lrrr"
    assert (await frontier.add(due(frontier, urls))).seen == 3
    assert (await frontier.add(due(frontier, urls, "r2"))).new == 3
    assert (await frontier.add(candidates(frontier, paths(3)))).new == 1
    assert await order_of(frontier) == "lrrr"
