"""Pipelines that write next to the stores: logs of links and decisions, web archive."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Self

from scrapy.exceptions import NotConfigured

from rdfcrawl.core.errors import StoreFault
from rdfcrawl.core.records import NOT_READ, Document
from rdfcrawl.core.visits import flush_stores
from rdfcrawl.pipelines.items import harvesting_spider, pass_through
from rdfcrawl.rdf.graphs import graph_iri
from rdfcrawl.rdf.links.outlinks import lines_of_links
from rdfcrawl.stores.nquads import document_mark, recover
from rdfcrawl.stores.segments import QuadSegments

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

    from rdfcrawl.downloader.warc.archive import WebArchive
    from rdfcrawl.frontier.queue.candidate_adder import DecisionLog
    from rdfcrawl.frontier.queue.options import CrawlOptions
    from rdfcrawl.pipelines.items import HarvestingSpider
    from rdfcrawl.stores.segments import SegmentLimits


logger = logging.getLogger(__name__)


class PipelineSegments:
    """The segments of one worker in a folder of a crawl.

    Args:
        folder: of the crawl, shared by its workers.
        limits: of each segment.
    """

    def __init__(self, folder: Path, limits: SegmentLimits) -> None:
        self._folder, self._limits = folder, limits
        self._segments: QuadSegments
        self._is_open = False
        self._fault: StoreFault | None = None  # of the last flush

    def open(self, worker: str) -> None:
        """Repair the segments of dead workers, and open those of this one."""
        recover(self._folder)
        self._segments = QuadSegments(self._folder, worker, self._limits)
        self._is_open = True

    def write_document(self, quads: bytes) -> None:
        """Append the quads of one document."""
        self._segments.write_document(quads)

    async def flush(self) -> StoreFault | None:
        """Make all that was written durable.

        Returns:
            The reason of a failure. Scrapy would log an exception with a traceback.
        """
        self._fault = None
        if self._is_open:  # failed to close; else they are flushed
            try:
                await self._segments.flush(sync=True)
            except StoreFault as fault:
                self._fault = fault
        return self._fault

    async def close(self) -> None:
        """Flush and close the segments; report a failure only once."""
        try:
            await self._segments.close()
        except StoreFault as fault:
            if self._fault is None:  # else it was reported, and the crawl stops
                logger.critical("%s", fault)
        self._is_open = False


class LinkLogPipeline:
    """Pipeline that logs links before they are filtered."""

    def __init__(
        self,
        options: CrawlOptions,
        most: int,
        limits: SegmentLimits,
        stats: StatsCollector,
    ) -> None:
        self._worker = options.worker
        self._most, self._stats = most, stats
        self._segments = PipelineSegments(options.paths.links, limits)
        self._n_logged = self._n_cut = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of a crawler whose spider makes visits.

        Raises:
            NotConfigured: the log of links is disabled.
        """
        options = harvesting_spider(crawler).options
        most = options.extract.most_outlinks
        if not most:
            raise NotConfigured
        limits = options.crawl.stores.segments
        pipeline = cls(options.crawl, most, limits, crawler.stats)
        crawler.signals.connect(pipeline.flush, flush_stores)
        return pipeline

    def open_spider(self) -> None:
        """Repair the segments of dead workers, and open those of this one."""
        self._segments.open(self._worker)

    async def flush(self) -> StoreFault | None:
        """Make all links durable, before visits are acknowledged.

        Returns:
            The reason of a failure. Scrapy would log an exception with a traceback.
        """
        self._report_statistics()
        return await self._segments.flush()

    async def close_spider(self) -> None:
        """Flush and close the segments."""
        self._report_statistics()
        await self._segments.close()

    def process_item(self, item: object) -> object:
        """Log the links of a document that was read, even if there are none.

        An unchanged document has the same links as before, and is not logged.
        """
        if not isinstance(item, Document):
            return pass_through(item)
        if not item.is_followed or item.is_unchanged or item.is_nofollow:
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
            self._n_cut += 1
            if n_lines > self._most:
                lines = b"".join(lines.splitlines(keepends=True)[: self._most])
                n_lines = self._most
        self._n_logged += n_lines
        mark = document_mark(graph_iri(document.url), document.response.started_ms)
        self._segments.write_document(mark + lines)

    def _report_statistics(self) -> None:
        if self._n_logged:
            self._stats.inc_value("link/logged", self._n_logged)
        if self._n_cut:
            self._stats.inc_value("link/log_full", self._n_cut)
        self._n_logged = self._n_cut = 0


class DecisionLogPipeline:
    """Pipeline without items, which logs decisions when stores are flushed."""

    def __init__(
        self, spider: HarvestingSpider, limits: SegmentLimits, stats: StatsCollector
    ) -> None:
        self._spider, self._stats = spider, stats
        self._segments = PipelineSegments(spider.options.crawl.paths.decisions, limits)
        self._decisions: DecisionLog | None = None  # until the crawl is joined

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of a crawler whose spider makes visits.

        Raises:
            NotConfigured: the log of decisions is disabled.
        """
        spider = harvesting_spider(crawler)
        if not spider.options.crawl.decisions.share:
            raise NotConfigured
        pipeline = cls(spider, spider.options.crawl.stores.segments, crawler.stats)
        crawler.signals.connect(pipeline.flush, flush_stores)
        return pipeline

    def open_spider(self) -> None:
        """Repair the segments of dead workers, and open new ones."""
        self._decisions = self._spider.joined().decisions
        self._segments.open(self._spider.options.crawl.worker)

    async def flush(self) -> StoreFault | None:
        """Make all decisions durable, before visits are acknowledged.

        Returns:
            The reason of a failure. Scrapy would log an exception with a traceback.
        """
        self._write()
        return await self._segments.flush()

    async def close_spider(self) -> None:
        """Write the last decisions, and close the segments."""
        self._write()
        await self._segments.close()

    def _write(self) -> None:
        if self._decisions is None:
            return
        if lines := self._decisions.take():
            self._segments.write_document(lines)
        for name, n in self._decisions.counts.items():
            self._stats.inc_value(name, n)
        self._decisions.counts.clear()


class ArchivePipeline:
    """Pipeline without items, which makes the web archive durable.

    The records are written during the fetch, before a response is processed.
    """

    def __init__(self, archive: WebArchive) -> None:
        self._archive = archive
        self._fault: StoreFault | None = None  # of the last flush

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

        pipeline = cls(archive_of(crawler))
        crawler.signals.connect(pipeline.flush, flush_stores)
        return pipeline

    async def open_spider(self) -> None:
        """Repair the files of dead workers, and begin to write.

        Raises:
            StoreFault: the folder cannot be created, read or written.
        """
        try:
            await asyncio.to_thread(self._archive.open)
        except OSError as error:
            raise StoreFault(f"{self._archive.options.folder}: {error}") from error

    async def flush(self) -> StoreFault | None:
        """Make all records durable, before visits are acknowledged.

        Returns:
            The reason of a failure. Scrapy would log an exception with a traceback.
        """
        self._fault = None
        if self._archive.is_open:
            try:
                await asyncio.to_thread(self._archive.flush)
            except OSError as error:
                self._fault = _as_fault(error)
        return self._fault

    async def close_spider(self) -> None:
        """Finish all files."""
        if not self._archive.is_open:
            return
        try:
            await asyncio.to_thread(self._archive.close)
        except OSError as error:
            if self._fault is None:  # else it was reported, and the crawl stops
                logger.critical("%s", _as_fault(error))


def _as_fault(error: OSError) -> StoreFault:
    return StoreFault(f"warc: {error.strerror or error}")
