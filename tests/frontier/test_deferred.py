"""Records deferred while a dataset is fetched instead of its pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.core.records import Kind, Record
from rdfcrawl.core.tasks import ListedPage
from rdfcrawl.frontier.queue.tables import DeferredLinks, DeferredRecord, StateStore
from rdfcrawl.frontier.redis.errors import RedisRetry

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.frontier_client import Frontier
    from tests.support.redis_fixtures import MakeFrontier

PREFIX = "http://a.example/id/"
ALL = [
    DeferredRecord(Record(f"{PREFIX}{n}", depth=2, parent="http://a.example/s"), b"2")
    for n in range(1200)
]


def deferred_of(frontier: Frontier) -> DeferredLinks:
    """Return the deferred records of a crawl."""
    return DeferredLinks(StateStore(frontier.redis, frontier.key, RedisRetry()))


async def waiting(
    deferred: DeferredLinks, prefix: str = PREFIX
) -> dict[str, DeferredRecord]:
    """Return what waits, by URL and change."""
    return {
        f"{each.record.url} {each.record.change}": each
        async for group in deferred.groups(prefix)
        for each in group
    }


async def test_records_come_back_as_they_were(make_frontier: MakeFrontier) -> None:
    """If records are deferred, then they come back complete, each once."""
    deferred = deferred_of(await make_frontier())
    changed = Record(
        f"{PREFIX}1", Kind.DUMP, 3, "", task=ListedPage(5000, 7), change="ab"
    )
    special = DeferredRecord(changed, b"1")
    await deferred.put(PREFIX, [*ALL, special])
    await deferred.put(PREFIX, ALL[:7])
    found = await waiting(deferred)
    assert sorted(found.values(), key=repr) == sorted([*ALL, special], key=repr)
    assert await waiting(deferred, "http://b.example/") == {}


async def test_only_so_many_are_kept(make_frontier: MakeFrontier) -> None:
    """If more is put off than there is room for, then the rest is left, for good."""
    deferred = deferred_of(await make_frontier())
    await deferred.put(PREFIX, ALL[:60], limit=100)
    await deferred.put(PREFIX, ALL[60:], limit=100)
    await deferred.put(PREFIX, ALL, limit=100)
    assert len(await waiting(deferred)) == 100
    assert deferred.full(100) == {PREFIX}
    assert not deferred.full(200)
    # Links of a dump leave room for those of other documents.
    await deferred.put(PREFIX, ALL, limit=200)
    assert len(await waiting(deferred)) >= 100
    assert not await deferred.is_full(PREFIX)
