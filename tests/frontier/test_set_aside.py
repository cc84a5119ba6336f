"""URLs of a visit that are set aside as unlikely, and that come back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.frontier_claims import add, claim, restart, urls_of
from tests.support.frontier_state import check_frontier

if TYPE_CHECKING:
    from tests.support.redis_fixtures import MakeFrontier


async def test_set_aside_urls_come_back(make_frontier: MakeFrontier) -> None:
    """If URLs are set aside, then they are done until they are queued again.

    Those of one host come back as they were, all others as if they had been tried.
    """
    frontier = await make_frontier(partitions=1, batch=5)
    one = await add(frontier, 5, "a.example")
    other = await add(frontier, 2, "b.example")
    visits = await claim(frontier)
    for visit in visits:
        for index in range(len(visit.records)):
            if visit.key == "b.example" or index > 0:
                visit.set_aside(index)
    assert await frontier.release(visits) == 0
    assert await frontier.release(visits) == 0, "a repetition changes nothing"
    await frontier.ack(visits)
    await check_frontier(frontier)
    assert (await frontier.counts()).is_over
    assert (await frontier.counts()).unlikely == 6

    assert await frontier.forms.reopen(0, "a.example") == 4
    assert await frontier.forms.reopen(0, "a.example") == 0
    await check_frontier(frontier)
    await restart(frontier)
    (visit,) = await claim(frontier)
    assert sorted(urls_of(visit)) == one[1:]
    assert not any(record.retries for record in visit.records)
    await frontier.release([visit])
    await frontier.ack([visit])

    assert await frontier.retry(["unlikely"]) == 2
    (visit,) = await claim(frontier)
    assert sorted(urls_of(visit)) == other
    assert all(record.retries for record in visit.records)
    assert (await frontier.counts()).unlikely == 0
    await check_frontier(frontier)


async def test_counts_of_forms_are_added(make_frontier: MakeFrontier) -> None:
    """If workers add their counts, then each host has the sums, and shows its forms."""
    frontier = await make_frontier()
    changes = {"a.example": {"n/p/#": 2, "k/p/#": 2}, "b.example": {"kb.example:8/": 3}}
    await frontier.forms.add(changes)
    await frontier.forms.add({"a.example": {"n/p/#": 1, "k/p/#": -2}})
    one, other = await frontier.forms.read(["a.example", "b.example"])
    assert one == {"n/p/#": 3, "k/p/#": 0}
    assert other == {"kb.example:8/": 3}
    assert await frontier.forms.shown(5) == [("b.example:8/", 3)]
    await frontier.forms.forget_shown()
    assert await frontier.forms.shown(5) == []
