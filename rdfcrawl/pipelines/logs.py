"""Pipelines that write next to the stores: logs of links and decisions, web archive."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Literal, Self

from scrapy.exceptions import NotConfigured

from rdfcrawl.core.errors import StoreFault
from rdfcrawl.core.records import NOT_READ, Document
from rdfcrawl.pipelines.items import (
    DurablePipeline,
    HarvestingSpider,
    harvesting_spider,
    pass_through,
)
from rdfcrawl.rdf.graphs import graph_iri
from rdfcrawl.rdf.links.outlinks import lines_of_links
from rdfcrawl.stores.nquads import document_mark, recover
from rdfcrawl.stores.segments import QuadSegments, SegmentLimits

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

    from rdfcrawl.downloader.warc.archive import WebArchive
    from rdfcrawl.pipelines.spider_options import SpiderOptions


class SegmentPipeline(DurablePipeline):
    """Pipeline that writes segments next to the stores.

    Args:
        folder: of the crawl, shared by its workers.
        limits: of each segment.
        stats: of the crawl.
        form: extension of the files before `.gz`; see `QuadSegments`.
    """

    def __init__(
        self,
        folder: Path,
        limits: SegmentLimits,
        stats: StatsCollector,
        form: Literal["jsonl", "txt"],
    ) -> None:
        self._folder, self._limits, self._stats = folder, limits, stats
        self._form = form
        self._segments: QuadSegments
        self._counts: Counter[str] = Counter()  # since the last report

    def open(self, worker: str) -> None:
        """Repair the segments of dead workers, and open those of this one."""
        recover(self._folder)
        self._segments = QuadSegments(
            self._folder, worker, self._limits, form=self._form
        )
        self._is_open = True

    def write_document(self, lines: bytes) -> None:
        """Append lines that belong together."""
        self._segments.write_document(lines)

    def _report(self) -> None:
        """Add the counts to the statistics."""
        for name, n in self._counts.items():
            self._stats.inc_value(name, n)
        self._counts.clear()

    async def _sync(self) -> None:
        self._report()
        await self._segments.flush(sync=True)

    async def _end(self) -> None:
        self._report()
        await self._segments.close()


class LinkLogPipeline(SegmentPipeline):
    """Pipeline that logs links before they are filtered."""

    def __init__(self, options: SpiderOptions, stats: StatsCollector) -> None:
        crawl = options.crawl
        super().__init__(crawl.paths.links, crawl.stores.segments, stats, "txt")
        self._worker, self._most = crawl.worker, options.extract.most_outlinks

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of a crawler whose spider makes visits.

        Raises:
            NotConfigured: the log of links is disabled.
        """
        options = harvesting_spider(crawler).options
        if not options.extract.most_outlinks:
            raise NotConfigured
        return cls(options, crawler.stats).connected(crawler)

    def open_spider(self) -> None:
        """Repair the segments of dead workers, and open those of this one."""
        self.open(self._worker)

    def process_item(self, item: object) -> object:
        """Log the links of a document that was read, even if there are none.

        A page with the stored statements may have other links.
        """
        if not isinstance(item, Document):
            return pass_through(item)
        if not item.is_followed or item.is_nofollow:
            return item
        if item.reading is not NOT_READ or item.listed_links:
            self._log(item)
        return item

    def _log(self, document: Document) -> None:
        lines = document.reading.outlinks
        n_lines = lines.count(b"\n")
        if links := document.links:
            lines += lines_of_links(links)
            n_lines = lines.count(b"\n")
        if n_lines >= self._most:
            self._counts["link/log_full"] += 1
            if n_lines > self._most:
                lines = b"".join(lines.splitlines(keepends=True)[: self._most])
                n_lines = self._most
        if n_lines:
            self._counts["link/logged"] += n_lines
        mark = document_mark(graph_iri(document.url), document.response.started_ms)
        self.write_document(mark + lines)


class DecisionLogPipeline(SegmentPipeline):
    """Pipeline without items, which logs decisions when stores are flushed."""

    def __init__(self, spider: HarvestingSpider, stats: StatsCollector) -> None:
        crawl = spider.options.crawl
        super().__init__(crawl.paths.decisions, crawl.stores.segments, stats, "txt")
        self._spider = spider

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of a crawler whose spider makes visits.

        Raises:
            NotConfigured: the log of decisions is disabled.
        """
        spider = harvesting_spider(crawler)
        if not spider.options.crawl.decisions.share:
            raise NotConfigured
        return cls(spider, crawler.stats).connected(crawler)

    def open_spider(self) -> None:
        """Repair the segments of dead workers, and open new ones."""
        self._decisions = self._spider.joined().decisions
        if self._decisions is not None:
            self._counts = self._decisions.counts
        self.open(self._spider.options.crawl.worker)

    def _report(self) -> None:
        if self._decisions is None:  # the spider never joined the crawl
            return
        if lines := self._decisions.take():
            self.write_document(lines)
        super()._report()


class ArchivePipeline(DurablePipeline):
    """Pipeline without items, which makes the web archive durable.

    The records are written during the fetch, before a response is processed.
    """

    def __init__(self, archive: WebArchive) -> None:
        self._archive = archive

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of a crawler that keeps an archive.

        Raises:
            ConfigError: a setting is wrong.
            NotConfigured: the archive is disabled.
        """
        if not harvesting_spider(crawler).options.archive.is_wanted:
            raise NotConfigured
        from rdfcrawl.downloader.archiving import archive_of  # noqa: PLC0415  (few crawls)

        return cls(archive_of(crawler)).connected(crawler)

    async def open_spider(self) -> None:
        """Repair the files of dead workers, and begin to write.

        Raises:
            StoreFault: the folder cannot be created, read or written.
        """
        try:
            await asyncio.to_thread(self._archive.open)
        except OSError as error:
            raise StoreFault(f"{self._archive.options.folder}: {error}") from error
        self._is_open = True

    async def _sync(self) -> None:
        await asyncio.to_thread(self._archive.flush)

    async def _end(self) -> None:
        await asyncio.to_thread(self._archive.close)

    def _as_fault(self, error: Exception) -> StoreFault:
        if isinstance(error, OSError):
            return StoreFault(f"warc: {error.strerror or error}")
        return super()._as_fault(error)
