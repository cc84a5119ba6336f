"""The table of first URLs of contents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.rdf.fingerprints import content_hash

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.tables import FetchedContent
    from tests.support.redis_fixtures import MakeFrontier


def fetched(*rows: tuple[int, str]) -> list[FetchedContent]:
    """Return contents by their numbers, with where they were fetched."""
    return [(content_hash(b"%d" % n), url) for n, url in rows]


async def test_the_first_url_of_a_content_stays(make_frontier: MakeFrontier) -> None:
    """If contents are looked up in several calls, then each has one first URL.

    So it is when a call is repeated, and over several partitions.
    """
    contents = (await make_frontier(partitions=16)).contents
    rows = fetched(*((n % 700, f"http://a.example/{n}") for n in range(1400)))
    firsts = [f"http://a.example/{n}" for n in range(700)]
    assert await contents.look_up(rows, 100_000) == [""] * 700 + firsts
    assert await contents.look_up(rows, 100_000) == firsts * 2
    other = fetched((3, "http://ü.example/3"), (700, "http://ü.example/"))
    assert await contents.look_up(other, 100_000) == [firsts[3], ""]
    assert await contents.look_up(other[1:], 100_000) == ["http://ü.example/"]
    assert await contents.look_up([], 100_000) == []


async def test_what_was_asked_for_last_is_remembered(
    make_frontier: MakeFrontier,
) -> None:
    """If too many contents are fetched, then those not asked for are forgotten.

    There are never more than so many, and the later half is known for certain.
    """
    frontier = await make_frontier()
    most, often = 20, fetched((0, "http://a.example/0"))
    await frontier.contents.look_up(often, most)
    for n in range(1, 200):
        row = fetched((n, f"http://a.example/{n}"))
        assert await frontier.contents.look_up(row, most) == [""]
        assert await frontier.contents.look_up(often, most) == ["http://a.example/0"]
        keys = [key async for key in frontier.redis.scan_iter(match="*:same*")]
        assert sum([await frontier.redis.hlen(key) for key in keys]) <= most
    for n in range(192, 200):
        row = fetched((n, "http://b.example/"))
        assert await frontier.contents.look_up(row, most) == [f"http://a.example/{n}"]
    forgotten = fetched((5, "http://b.example/"))
    assert await frontier.contents.look_up(forgotten, most) == [""]
