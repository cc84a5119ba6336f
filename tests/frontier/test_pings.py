"""Pinged sitemaps between the one who pings and the worker that queues them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.frontier.queue import inbox
from rdfcrawl.frontier.queue.inbox import PingLimits, WaitingPings
from rdfcrawl.uri import host_of

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.frontier_client import Frontier
    from tests.support.redis_fixtures import MakeFrontier

ANY = PingLimits()
SITEMAP = "https://a.example/sitemap.xml"


def waiting(frontier: Frontier, crawl_id: str = "") -> WaitingPings:
    """Return what waits for a crawl."""
    name = crawl_id or frontier.crawl_id
    return WaitingPings(frontier.redis, frontier.scripts, name)


async def test_pings_since_they_were_looked_at_are_not_lost(
    make_frontier: MakeFrontier,
) -> None:
    """If a sitemap is pinged again while a worker queues it, then it stays.

    Pinged twice while it waits, it is there once, with the time of the last ping.
    """
    found = waiting(await make_frontier())
    first = await found.keep(SITEMAP, ANY)
    seen = await found.peek(10)
    assert seen == {SITEMAP: first.number}
    while (again := await found.keep(SITEMAP, ANY)).number == first.number:
        continue  # within one millisecond
    await found.forget(seen)
    assert await found.peek(10) == {SITEMAP: again.number}
    await found.forget({SITEMAP: again.number})
    assert await found.peek(10) == {}


@pytest.mark.parametrize(
    ("limits", "hosts", "refused"),
    [
        (PingLimits(of_host=2), ("a.example", "b.example"), "a.example"),
        (PingLimits(of_domain=2), ("a.example", "b.example"), "www.a.example"),
        (PingLimits(of_all=2), ("a.example",), "b.example"),
        (ANY, ("a.example", "b.example"), ""),
    ],
    ids=["host", "domain", "all", "no limit"],
)
async def test_more_than_so_many_pings_are_refused(
    make_frontier: MakeFrontier,
    limits: PingLimits,
    hosts: tuple[str, ...],
    refused: str,
) -> None:
    """If a host, a domain or everybody pings too often, then those are refused.

    Pings that are refused are not counted, and others are not refused.
    """
    found = waiting(await make_frontier())
    urls = [f"https://{host}/{n}" for host in hosts for n in (1, 2)]
    for url in urls:
        assert (await found.keep(url, limits)).word == "kept"
    for _ in range(2 if refused else 0):
        answer = await found.keep(f"https://{refused}/3", limits)
        assert answer.word == "late"
        assert 0 < answer.number <= 3600
    assert {*await found.peek(10)} == {*urls}
    assert refused not in {host_of(url) for url in urls} or len(hosts) == 2


async def test_what_waits_is_bounded(
    make_frontier: MakeFrontier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If too many sitemaps wait, then no other is kept; those that wait may be."""
    monkeypatch.setattr(inbox, "MAX_WAITING", 1)
    found = waiting(await make_frontier())
    assert (await found.keep(SITEMAP, ANY)).word == "kept"
    assert (await found.keep(f"{SITEMAP}2", ANY)).word == "full"
    assert (await found.keep(SITEMAP, ANY)).word == "kept"


async def test_crawl_that_is_not_there_takes_no_pings(
    make_frontier: MakeFrontier,
) -> None:
    """If there is no such crawl, or it was cleared, then nothing is written."""
    frontier: Any = await make_frontier()
    assert (await waiting(frontier, "other").keep(SITEMAP, ANY)).word == "none"
    assert (await waiting(frontier).keep(SITEMAP, ANY)).word == "kept"
    await frontier.clear()
    assert (await waiting(frontier).keep(SITEMAP, ANY)).word == "none"
    assert await frontier.redis.keys("*") == []
