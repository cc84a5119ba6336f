"""Write decisions not to queue URIs to their log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scrapy.exceptions import NotConfigured

from rdfcrawl.core.signals import flush_stores
from rdfcrawl.pipelines.items import harvesting_spider
from rdfcrawl.pipelines.pipeline_segments import PipelineSegments

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

    from rdfcrawl.core.errors import StoreFault
    from rdfcrawl.frontier.queue.candidate_adder import DecisionLog
    from rdfcrawl.pipelines.items import HarvestingSpider
    from rdfcrawl.stores.segments import SegmentLimits


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
