"""Handle Ctrl-C before a crawl has begun, without leaving resources open."""

from __future__ import annotations

import asyncio

from scrapy.crawler import Crawler

from rdfcrawl.frontier.engine import EngineView

_LOOK_SECS = 0.02


class StoppableCrawler(Crawler):
    """A crawler that can be stopped while its spider is being opened.

    Scrapy stops only a running engine: without this, a worker that has just joined its
    crawl would neither return its leases nor report its end.
    """

    async def stop_async(self) -> None:
        """Stop the crawl; if it is being opened, wait until it is open."""
        engine = EngineView(self)
        # Scrapy has no signal for this: `engine_started` precedes the running engine.
        while self.crawling and not (engine.is_running or engine.is_closing):  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_SECS)
        await super().stop_async()
