"""Show the progress of a crawl: a table on a terminal, a line a minute in a log."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

from redis.exceptions import RedisError
from scrapy import signals
from scrapy.exceptions import NotConfigured

from rdfcrawl.frontier.visiting import visiting_spider
from rdfcrawl.progress.options import ProgressDisplay, ProgressOptions
from rdfcrawl.progress.snapshot import CrawlSnapshot, take_snapshot
from rdfcrawl.progress.table import print_summary
from rdfcrawl.progress.watch import follower_lines, watch
from rdfcrawl.signals import before_leaving
from rdfcrawl.stores.options import store_uri

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler


class ProgressReport:
    """Extension that shows the progress; `PROGRESS` is auto, board, log or off."""

    def __init__(self, crawler: Crawler) -> None:
        self._options = ProgressOptions.from_settings(crawler.settings)
        if self._options.display is ProgressDisplay.OFF:
            raise NotConfigured
        self._spider = visiting_spider(crawler)
        self._stats = crawler.stats
        self._store = store_uri(crawler.settings)
        root = self._spider.options.crawl.paths.root
        self._store_lines = follower_lines(crawler.settings, root)
        self._task: asyncio.Task[None] | None = None
        self._began = monotonic()
        self._last: CrawlSnapshot | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the extension of a crawler, or raise `NotConfigured`."""
        progress = cls(crawler)
        crawler.signals.connect(progress.spider_opened, signals.spider_opened)
        crawler.signals.connect(progress.leave, before_leaving)
        crawler.signals.connect(progress.spider_closed, signals.spider_closed)
        return progress

    def spider_opened(self) -> None:
        """Begin to show."""
        session = self._spider.session
        if session is not None:
            self._task = asyncio.create_task(
                watch(session.frontier, self._options, self._store_lines)
            )

    async def leave(self) -> None:
        """Take the last snapshot, while the frontier is still there."""
        if self._task is None:  # a component kept the crawl from beginning
            return
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        session = self._spider.session
        if session is not None:
            with suppress(RedisError):  # the worker has said that it is away
                self._last = await take_snapshot(session.frontier)

    def spider_closed(self, reason: str) -> None:
        """Print the summary."""
        if self._task:
            self._task.cancel()
        if self._last:
            print_summary(
                self._last,
                self._spider.options.crawl.paths,
                store=self._store,
                done=self._stats.get_value("document/seen", 0),
                secs=monotonic() - self._began,
                outcome=reason,
            )
