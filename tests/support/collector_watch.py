"""An item pipeline that reports whether Python's garbage collector is enabled."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector


class CollectorWatch:
    """Counts the items that pass while the collector is on, as `watched/collecting`."""

    def __init__(self, stats: StatsCollector) -> None:
        self._stats = stats

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of a crawler."""
        return cls(crawler.stats)

    def process_item(self, item: object) -> object:
        """Count an item."""
        self._stats.inc_value("watched/collecting", int(gc.isenabled()))
        return item
