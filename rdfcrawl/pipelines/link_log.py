"""Write the links of each document to the log of links, as found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scrapy.exceptions import NotConfigured

from rdfcrawl.core.records import NOT_READ, Document
from rdfcrawl.core.signals import flush_stores
from rdfcrawl.pipelines.items import harvesting_spider, pass_through
from rdfcrawl.pipelines.pipeline_segments import PipelineSegments
from rdfcrawl.rdf.graphs import graph_iri
from rdfcrawl.rdf.links.outlinks import lines_of_links
from rdfcrawl.stores.nquads import document_mark

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

    from rdfcrawl.core.errors import StoreFault
    from rdfcrawl.frontier.queue.options import CrawlOptions
    from rdfcrawl.stores.segments import SegmentLimits


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
