"""Show the progress of a crawl: a table on a terminal, one line per minute in a log."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Self

from redis.exceptions import RedisError
from scrapy import signals
from scrapy.exceptions import NotConfigured

from rdfcrawl.core.options.table import options_of
from rdfcrawl.core.visits import before_leaving
from rdfcrawl.frontier.queue.worker_reports import OwnFaults, examples_of
from rdfcrawl.launch.options import LaunchOptions, ProgressDisplay, ProgressOptions
from rdfcrawl.launch.progress_table import (
    CrawlSnapshot,
    LiveTable,
    one_line,
    take_last_snapshot,
    take_snapshot,
)
from rdfcrawl.pipelines.items import harvesting_spider

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from rdfcrawl.frontier.queue.frontier_client import Frontier

logger = logging.getLogger(__name__)

_BOARD_SECS = 1.0


class ProgressReport:
    """Extension that shows the progress; `PROGRESS` is auto, board, log or off."""

    def __init__(self, crawler: Crawler) -> None:
        self._options = options_of(crawler, LaunchOptions).progress
        if self._options.display is ProgressDisplay.OFF:
            raise NotConfigured
        self._spider = harvesting_spider(crawler)
        self._stats, self._signals = crawler.stats, crawler.signals
        self._not_due: str = getattr(crawler, "not_due", "")
        crawl = self._spider.options.crawl
        self._store_lines = follower_lines(
            crawl.paths.root, has_any=bool(crawl.stores.followers)
        )
        self._task: asyncio.Task[None] | None = None
        self._began = monotonic()
        self._last: CrawlSnapshot | None = None
        self._lost_logs: list[str] = []
        self._outcome = ""
        self._run = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the extension of a crawler, or raise `NotConfigured`."""
        progress = cls(crawler)
        crawler.signals.connect(progress.spider_opened, signals.spider_opened)
        crawler.signals.connect(progress.leave, before_leaving)
        crawler.signals.connect(progress.spider_closed, signals.spider_closed)
        return progress

    def spider_opened(self) -> None:
        """Start the display."""
        session = self._spider.session
        if session is not None:
            self._lost_logs, self._run = session.lost_logs, session.run
            self._task = asyncio.create_task(
                watch(session.frontier, self._options, self._store_lines)
            )

    async def leave(self) -> None:
        """Take the last snapshot while the frontier is still open."""
        if self._task is None:  # a component prevented the start of the crawl
            return
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        session = self._spider.session
        if session is not None:
            with suppress(RedisError):  # the worker has logged the outage
                self._last = await take_last_snapshot(session.frontier)

    def spider_closed(self, reason: str) -> None:
        """Stop the display; print the summary after all other components have ended."""
        if self._task:
            self._task.cancel()
        self._outcome = reason
        self._signals.connect(self.engine_stopped, signals.engine_stopped)

    def engine_stopped(self) -> None:
        """Print the summary."""
        if self._last:
            from rdfcrawl.launch.crawl_summary import RunEnd, print_summary  # noqa: PLC0415 (at the end)

            stats = self._stats.get_stats()
            end = RunEnd(
                now=self._last,
                crawl=self._spider.options.crawl,
                member=self._spider.member,
                run=self._run,
                n_done=self._stats.get_value("document/seen", 0),
                secs=monotonic() - self._began,
                outcome=self._outcome,
                own=OwnFaults.of(stats, examples_of(stats)),
                lost_logs=self._lost_logs,
                not_due=self._not_due,
            )
            print_summary(end)


def follower_lines(root: Path, *, has_any: bool) -> Callable[[], list[str]]:
    """Return a function that lists the progress of the stores of `STORES`."""
    if not has_any:
        return list
    from rdfcrawl.stores.followers.status import summaries  # noqa: PLC0415 (few have any)

    return partial(summaries, root)


async def watch(
    frontier: Frontier, options: ProgressOptions, stores: Callable[[], list[str]] = list
) -> None:
    """Show a crawl until cancelled: in a table on a terminal, or in log lines.

    Args:
        frontier: of the crawl, opened.
        options: of the display.
        stores: returns the progress of each store that follows the crawl.
    """
    if options.display is ProgressDisplay.OFF:
        return
    is_wanted = options.display is ProgressDisplay.BOARD
    if is_wanted or (options.display is ProgressDisplay.AUTO and sys.stderr.isatty()):
        await _show_table(frontier, stores)
    else:
        await _log_lines(frontier, options.log_secs, stores)


async def _show_table(frontier: Frontier, stores: Callable[[], list[str]]) -> None:
    table = LiveTable(f"crawl {frontier.crawl_id}")
    table.open()
    try:
        while True:
            with suppress(RedisError):  # the workers log it, and wait
                table.show(await take_snapshot(frontier), stores())
            await asyncio.sleep(_BOARD_SECS)
    finally:
        table.close()


async def _log_lines(
    frontier: Frontier, every_secs: float, stores: Callable[[], list[str]]
) -> None:
    earlier: CrawlSnapshot | None = None
    while True:
        await asyncio.sleep(every_secs)
        with suppress(RedisError):
            now = await take_snapshot(frontier)
            logger.info("; ".join([one_line(now, earlier), *stores()]))
            earlier = now
