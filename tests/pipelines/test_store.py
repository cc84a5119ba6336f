"""Stored statements of a document that a later run reads again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.content import QuadChunk
from rdfcrawl.core.errors import StoreFault
from rdfcrawl.core.records import Document, FetchedResponse, Kind, Record
from rdfcrawl.frontier.queue.tables import StateStore
from rdfcrawl.frontier.redis.errors import RedisRetry
from rdfcrawl.pipelines.changes import KeptStore, StoredCopies
from rdfcrawl.pipelines.store import StorePipeline
from rdfcrawl.stores.log.crawl_log import iter_latest
from rdfcrawl.stores.nquads import NQuadsStore
from rdfcrawl.stores.segments import SegmentLimits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.support.redis_fixtures import MakeFrontier

URL = "http://a.example/sitemap.xml"


async def chunks() -> AsyncIterator[QuadChunk]:
    """Yield the statements of a document."""
    yield QuadChunk(b"<urn:x:s> <urn:x:p> <urn:x:o> <http://a.example/> .\n")


async def read(pipeline: StorePipeline, url: str) -> Document:
    """Read a document of a source through the store."""
    record = Record(url, Kind.SITEMAP)
    response = FetchedResponse(status=200)
    document = Document(record=record, url=url, response=response, chunks=chunks())
    assert await pipeline.process_item(document) is document
    assert document.chunks is not None
    async for _ in document.chunks:
        pass
    return document


async def test_what_the_store_refused_is_not_called_unchanged(
    make_frontier: MakeFrontier, tmp_path: Path
) -> None:
    """If the store does not take a document, then it is written the next time."""
    frontier = await make_frontier()
    state = StateStore(frontier.redis, frontier.key, RedisRetry())
    session = SimpleNamespace(run=1, state_store=state)
    spider = SimpleNamespace(session=session, joined=lambda: session)
    folder = tmp_path / "quads"
    store = NQuadsStore(folder, "w", SegmentLimits(member_bytes=1))
    kept_store = KeptStore(spider, "segments")
    pipeline = StorePipeline(store, StoredCopies(spider), kept_store)
    await pipeline.open_spider()
    await read(pipeline, "http://a.example/first")  # is gathered, and written with URL
    folder.rename(tmp_path / "away")
    with pytest.raises(StoreFault):
        await read(pipeline, URL)
    (tmp_path / "away").rename(folder)
    assert await pipeline.flush() is None
    document = await read(pipeline, URL)
    assert not document.has_same_statements
    await pipeline.close_spider()
    assert URL in {each.graph for each in iter_latest(folder)}
