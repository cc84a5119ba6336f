"""Make feeds durable before visits are acknowledged."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any, Self

from scrapy.exceptions import NotConfigured
from scrapy.extensions.feedexport import FeedExporter
from scrapy.extensions.postprocessing import GzipPlugin, PostProcessingManager

from rdfcrawl.core.errors import StoreFault
from rdfcrawl.core.signals import flush_stores
from rdfcrawl.pipelines.items import harvesting_spider

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class DurableFeeds:
    """Extension that flushes Scrapy's feed exports to files on this machine.

    Remote feeds are sent when the crawl ends, as in any project.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the extension of a crawler that has feeds and makes visits."""
        harvesting_spider(crawler)
        if not crawler.settings.getdict("FEEDS"):
            raise NotConfigured
        extension = cls(crawler)
        crawler.signals.connect(extension.flush, flush_stores)
        return extension

    async def flush(self) -> StoreFault | None:
        """Write all feeds to disk, and return the reason of a failure."""
        exporter: Any = self._crawler.get_extension(FeedExporter)
        for slot in exporter.slots if exporter else ():
            if slot.file is not None and not slot.file.closed:
                try:
                    await asyncio.to_thread(_sync, slot.file)
                except OSError as error:
                    return StoreFault(f"{slot.uri}: {error}", may_pass=True)
        return None


def _sync(file: Any) -> None:
    """Write a feed to disk; with post-processing, as far as possible."""
    if isinstance(file, PostProcessingManager):
        plugin = file.head_plugin
        while plugin is not file.file:
            if isinstance(plugin, GzipPlugin):
                plugin.gzipfile.flush()
            plugin = plugin.file
        file = file.file
    file.flush()
    if hasattr(file, "fileno"):
        os.fsync(file.fileno())
