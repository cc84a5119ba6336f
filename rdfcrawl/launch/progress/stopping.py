"""Handle Ctrl-C before a crawl has begun, leaving nothing open."""

from __future__ import annotations

import asyncio

from scrapy.crawler import Crawler

from rdfcrawl.frontier.engine import EngineView

_LOOK_SECS = 0.02


class StoppableCrawler(Crawler):
    """A crawler that can be stopped while its spider is being opened.

    Scrapy stops only a running engine: a worker that had just joined its crawl would
    neither give back its leases nor report its end.
    """

    async def stop_async(self) -> None:
        """Stop the crawl; one that is being opened, as soon as it is open."""
        engine = EngineView(self)
        # Scrapy has no event for it: `engine_started` is sent before the engine runs.
        while self.crawling and not (engine.is_running or engine.is_closing):  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_SECS)
        await super().stop_async()
