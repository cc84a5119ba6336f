"""Progress of a crawl: a table on a terminal, a line a minute in a log."""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, cast

from redis.exceptions import RedisError
from scrapy import signals
from scrapy.exceptions import NotConfigured

from rdfcrawl.options import number
from rdfcrawl.progress.board import Board, one_line, print_summary
from rdfcrawl.progress.snapshot import Snapshot, take_snapshot
from rdfcrawl.signals import before_leaving

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

    from rdfcrawl.frontier.scheduler import VisitingSpider
    from rdfcrawl.frontier.session import CrawlSession

logger = logging.getLogger(__name__)

_BOARD_SECS = 1.0


class Progress:
    """Shows how far the crawl is; `PROGRESS` is auto, board, log or off."""

    def __init__(self, crawler: Crawler, *, is_board: bool, log_secs: float) -> None:
        self._crawler = crawler
        self._log_secs = log_secs
        self._board: Board | None = None
        self._is_board = is_board
        self._task: asyncio.Task[None] | None = None
        self._began = monotonic()
        self._last: Snapshot | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the extension of a crawler.

        Raises:
            NotConfigured: `PROGRESS` is off.
        """
        mode = str(crawler.settings.get("PROGRESS"))
        if mode == "off":
            raise NotConfigured
        is_board = mode == "board" or (mode == "auto" and sys.stderr.isatty())
        log_secs = number(crawler.settings, "PROGRESS_LOG_SECS", 1, 86_400)
        progress = cls(crawler, is_board=is_board, log_secs=log_secs)
        crawler.signals.connect(progress.spider_opened, signals.spider_opened)
        crawler.signals.connect(progress.leave, before_leaving)
        crawler.signals.connect(progress.spider_closed, signals.spider_closed)
        return progress

    def spider_opened(self) -> None:
        """Begin to show."""
        session: CrawlSession | None = getattr(self._crawler.spider, "session", None)
        if session is None:
            return
        if self._is_board:
            self._board = Board(f"crawl {session.options.crawl_id}")
            self._board.open()
        self._task = asyncio.create_task(self._show(session))

    async def leave(self) -> None:
        """Take the last look, while the frontier is still there."""
        if self._task:
            self._task.cancel()
        session = cast("VisitingSpider", self._crawler.spider).session
        if session is not None:
            with suppress(RedisError):  # the worker has said that it is away
                self._last = await take_snapshot(session.frontier)

    def spider_closed(self, reason: str) -> None:
        """Print the summary."""
        if self._board:
            self._board.close()
        if self._last:
            paths = cast("VisitingSpider", self._crawler.spider).options.paths
            secs = monotonic() - self._began
            stats = self._crawler.stats
            done = stats.get_value("document/seen", 0) if stats else 0
            print_summary(self._last, paths, done=done, secs=secs, outcome=reason)

    async def _show(self, session: CrawlSession) -> None:
        earlier: Snapshot | None = None
        every = _BOARD_SECS if self._board else self._log_secs
        while True:
            await asyncio.sleep(every)
            try:
                now = await take_snapshot(session.frontier)
            except RedisError:
                continue  # the worker says so, and waits for it
            if self._board:
                self._board.show(now)
            else:
                logger.info(one_line(now, earlier))
            earlier = now
