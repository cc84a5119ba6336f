"""Access to private state of Scrapy's engine for the scheduler.

The engine keeps a request in progress until its callback, all pipelines of its items
and all their output are processed (`_handle_downloader_output`), successfully or not:
the only correct moment to commit. Scrapy has no hook for it yet (scrapy#7978 proposes
one); only this file depends on its private names.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, cast

from pydispatch import dispatcher
from scrapy import Request

if TYPE_CHECKING:
    from scrapy.core.engine import _Slot
    from scrapy.crawler import Crawler
    from scrapy.signalmanager import SignalManager


class SparingSignals:
    """The signals of a crawler; those without receivers are not sent."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._signals = crawler.signals

    def __getattr__(self, name: str) -> Any:
        return getattr(self._signals, name)

    async def send_catch_log_async(
        self, signal: Any, **named: Any
    ) -> list[tuple[Any, Any]]:
        """See `SignalManager.send_catch_log_async`."""
        anyone = dispatcher.Any
        for sender in (self._crawler, anyone):
            receivers = dispatcher.connections.get(id(sender))
            if receivers and (signal in receivers or anyone in receivers):
                return await self._signals.send_catch_log_async(signal, **named)
        return []


class EngineView:
    """The engine of a crawler, which may not exist yet."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._held: tuple[_Slot, Request] | None = None

    def hold(self) -> None:
        """Keep the engine from closing its spider until `let_go`."""
        if self._slot is not None:
            request = Request("visit://hold/")
            self._slot.add_request(request)
            self._held = self._slot, request

    def let_go(self) -> None:
        """Let the engine close its spider."""
        if self._held is not None:
            slot, request = self._held
            self._held = None
            slot.remove_request(request)

    @property
    def is_held_only_by_us(self) -> bool:
        """Whether no other request is in progress."""
        return len(self.in_progress) <= (self._held is not None)

    @property
    def in_progress(self) -> AbstractSet[Request]:
        """The requests in progress in the engine."""
        return self._slot.inprogress if self._slot else frozenset()

    @property
    def downloading(self) -> AbstractSet[Request]:
        """The requests in progress in the downloader."""
        engine = self._crawler.engine
        return engine.downloader.active if engine else frozenset()

    def allow(self, n: int) -> None:
        """Allow `n` requests in the downloader."""
        self._crawler.engine.downloader.total_concurrency = n

    @property
    def is_closing(self) -> bool:
        """Whether the spider is closing, with requests still in progress."""
        return self._slot is not None and self._slot.closing is not None

    @property
    def is_running(self) -> bool:
        """Whether the spider is open and the engine takes requests."""
        return self._crawler.engine.running

    @property
    def has_started(self) -> bool:
        """Whether all output of `Spider.start` was taken."""
        engine = self._crawler.engine
        return engine is not None and engine._start is None  # noqa: SLF001

    def wake(self) -> None:
        """Make the engine call the scheduler soon.

        Otherwise it does so every five seconds and after each response.
        """
        if self._slot is not None and self._slot.closing is None:
            self._slot.nextcall.schedule()

    def spare_signals(self) -> None:
        """Skip signals per item without receivers, which cost a future each."""
        scraper = self._crawler.engine.scraper
        scraper.signals = cast("SignalManager", SparingSignals(self._crawler))

    @property
    def _slot(self) -> _Slot | None:
        engine = self._crawler.engine
        return engine._slot if engine else None  # noqa: SLF001
