"""Feeds that are on disk before visits are acknowledged."""

from __future__ import annotations

import asyncio
import errno
import os
import select
from stat import S_ISFIFO, S_ISREG
from typing import Any, Self

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.extensions.feedexport import FeedExporter
from scrapy.extensions.postprocessing import GzipPlugin, PostProcessingManager

from rdfcrawl.core.errors import ConfigError, StoreFault
from rdfcrawl.core.visits import flush_stores
from rdfcrawl.frontier.visiting import makes_visits


class DurableFeeds(FeedExporter):
    """Scrapy's feeds; in a crawl, no document is done before its rows are on disk.

    Scrapy goes on without rows and feeds that it cannot write. A crawl stops instead,
    or does not begin. Remote feeds are sent at the end, as in any project.
    """

    _fault: StoreFault | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the extension of a crawler with feeds.

        Raises:
            ConfigError: a feed of a crawl has an unknown format or place.
        """
        is_crawl = makes_visits(crawler.spider)
        try:
            feeds = super().from_crawler(crawler)
        except NotConfigured as error:
            if is_crawl:
                raise ConfigError(
                    "FEEDS: the log says why one cannot be written"
                ) from error
            raise
        if is_crawl:
            crawler.signals.connect(feeds.flush, flush_stores)
        return feeds

    def item_scraped(self, item: Any, spider: Spider) -> None:
        """Write a row; once one of a crawl is lost, every flush fails."""
        try:
            super().item_scraped(item, spider)
        except OSError as error:
            if not makes_visits(spider):
                raise
            uris = ", ".join(slot.uri for slot in self.slots)
            self._fault = self._fault or StoreFault(f"{uris}: {error}")

    async def flush(self) -> StoreFault | None:
        """Write all feeds to disk, and return the reason of a failure."""
        for slot in self.slots if self._fault is None else ():
            if slot.file is not None and not slot.file.closed:
                try:
                    await asyncio.to_thread(_sync, slot.file)
                except OSError as error:
                    may_pass = not isinstance(error, BrokenPipeError)
                    return StoreFault(f"{slot.uri}: {error}", may_pass=may_pass)
        return self._fault


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
    if not hasattr(file, "fileno"):
        return
    kind = os.fstat(file.fileno()).st_mode
    if S_ISREG(kind):  # pipes and terminals cannot be synchronized: EINVAL
        os.fsync(file.fileno())
    elif S_ISFIFO(kind) and _has_no_reader(file.fileno()):
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def _has_no_reader(fd: int) -> bool:
    """Return whether the reader of a pipe has ended, as `head` does."""
    pipe = select.poll()
    pipe.register(fd, 0)
    return any(event & select.POLLERR for _, event in pipe.poll(0))
