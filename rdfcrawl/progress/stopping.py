"""Ctrl-C before a crawl has begun: told in one line, and nothing left open."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from scrapy.crawler import Crawler

from rdfcrawl.frontier.engine import EngineView

if TYPE_CHECKING:
    from types import TracebackType

_LOOK_SECS = 0.02


class StoppableCrawler(Crawler):
    """A crawler that can be stopped while its spider is being opened.

    Scrapy stops only an engine that runs, and the reactor at once: a worker that had
    just joined its crawl would neither give back its leases nor say how it ended.
    """

    async def stop_async(self) -> None:
        """Stop the crawl; one that is being opened, as soon as it is open."""
        engine = EngineView(self)
        # Scrapy has no event for it: `engine_started` is sent before the engine runs.
        while self.crawling and not (engine.is_running or engine.is_closing):  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_SECS)
        await super().stop_async()


def tell_interrupts() -> None:
    """Tell of a Ctrl-C that nobody handles in one line, in place of a traceback."""
    tell_others = sys.excepthook

    def tell(
        kind: type[BaseException],
        error: BaseException,
        traceback: TracebackType | None,
    ) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.stderr.write("scrapy: interrupted before it had begun\n")
        else:
            tell_others(kind, error, traceback)

    sys.excepthook = tell
