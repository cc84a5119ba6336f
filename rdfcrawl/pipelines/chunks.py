"""Pipelines that wrap the chunks of documents: copies for spiders, and slices.

Our iterators are classes, not generators: the event loop registers each asynchronous
generator, which takes as long as storing a small document.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, BinaryIO, Final, Self, cast

from scrapy.exceptions import NotConfigured

from rdfcrawl.core.records import Document
from rdfcrawl.core.tasks import DescribedSample, DumpPart, SamplePage
from rdfcrawl.pipelines.items import (
    HarvestingSpider,
    close_chunks,
    harvesting_spider,
    pass_through,
)

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from rdfcrawl.core.content import QuadChunk


_EXPORTERS: Final = "rdfcrawl.pipelines.quad_feeds."  # only imported for feeds


class KeepPipeline:
    """Pipeline that copies the quads of documents for spiders and feeds.

    Copies of more than `spool_bytes` are in the folder.
    """

    def __init__(self, folder: Path, spool_bytes: int) -> None:
        self._folder, self._spool_bytes = folder, spool_bytes

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of a crawler whose spider or feeds want statements."""
        spider = harvesting_spider(crawler)
        if not (spider.parses_documents or _has_quad_feeds(crawler.settings)):
            raise NotConfigured
        fetch = spider.options.fetch
        return cls(fetch.spool_dir, fetch.spool_bytes)

    def process_item(self, item: object) -> object:
        """Wrap the quads of a document."""
        if not isinstance(item, Document):
            return pass_through(item)
        if item.chunks is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            item.kept = KeptQuads(item.chunks, self._folder, self._spool_bytes)
            item.chunks = item.kept
        return item


class KeptQuads:
    """The quads of a document, with a copy of those read so far; a `QuadCopy`.

    The file of the copy is unnamed, so it vanishes with the process or the document.
    """

    __slots__ = ("_chunks", "_file", "is_whole", "n_bytes")

    def __init__(
        self, chunks: AsyncIterator[QuadChunk], folder: Path, spool_bytes: int
    ) -> None:
        self._chunks = chunks
        self._file = SpooledTemporaryFile(  # noqa: SIM115  (`close` does so)
            max_size=spool_bytes, dir=str(folder)
        )
        self.n_bytes = 0
        self.is_whole = False

    def __aiter__(self) -> KeptQuads:
        return self

    async def __anext__(self) -> QuadChunk:
        async for chunk in self._chunks:
            self.take(chunk.lines)
            return chunk
        self.is_whole = True
        raise StopAsyncIteration

    def take(self, lines: bytes) -> None:
        """Copy statements."""
        self.n_bytes += self._file.write(lines)

    def open(self) -> BinaryIO:
        """Return the copy, from its beginning."""
        self._file.seek(0)
        return cast("BinaryIO", self._file)

    def close(self) -> None:
        """Delete the copy."""
        self._file.close()

    async def aclose(self) -> None:
        """Discard the rest and the copy."""
        self.close()
        await close_chunks(self._chunks)


def _has_quad_feeds(settings: BaseSettings) -> bool:
    """Return whether a feed is in a format of RDF."""
    exporters = settings.getdict("FEED_EXPORTERS")
    paths = {exporters.get(x["format"]) for x in settings.getdict("FEEDS").values()}
    return any(str(path).startswith(_EXPORTERS) for path in paths)


class SlicesPipeline:
    """Pipeline that cuts dumps and compares samples; other documents pass."""

    def __init__(self, spider: HarvestingSpider) -> None:
        self._spider = spider

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of a crawler whose spider makes visits."""
        return cls(harvesting_spider(crawler))

    def process_item(self, item: object) -> object:
        """Wrap the quads of dumps and samples."""
        if not isinstance(item, Document):
            return pass_through(item)
        task = item.record.task
        if item.chunks is None or task is None or item.record.kind.is_source:
            return item
        if isinstance(task, DumpPart | SamplePage | DescribedSample):
            # Slow to import, and rarely needed.
            from rdfcrawl.pipelines.dataset_chunks import DatasetChunks  # noqa: PLC0415

            return DatasetChunks(self._spider).wrap(item, task)
        return item
