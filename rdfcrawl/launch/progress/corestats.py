"""Scrapy's core statistics, without a signal handler per document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scrapy import Spider, signals
from scrapy.extensions.corestats import CoreStats

from rdfcrawl.frontier.visiting import makes_visits

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class CrawlStats(CoreStats):
    """Statistics that count items by signal for ordinary spiders only.

    For visits, the pipelines count documents: a signal costs 5 % for a small document.
    """

    crawler: Crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the extension of a crawler."""
        stats = super().from_crawler(crawler)
        stats.crawler = crawler
        return stats

    def spider_opened(self, spider: Spider) -> None:
        """Record the start."""
        super().spider_opened(spider)
        if makes_visits(spider):
            self.crawler.signals.disconnect(self.item_scraped, signals.item_scraped)

    def spider_closed(self, spider: Spider, reason: str) -> None:
        """Record the end, unless a component kept the spider from being opened."""
        if self.start_time is not None:
            super().spider_closed(spider, reason)
