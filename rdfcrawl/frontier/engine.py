"""What the scheduler has to know of Scrapy's engine, and has no public way to ask.

The engine keeps a request in progress until its callback, all of its items' pipelines
and all that they yield are processed (`_handle_downloader_output`), whatever becomes
of it: that is the one correct moment to commit. Scrapy has no hook for it yet
(scrapy#7978 proposes one); this file is all that depends on its privates.
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
    """The signals of a crawler; one without receivers is not sent."""

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
    """A look at the engine of a crawler, which may not be there yet."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._held: tuple[_Slot, Request] | None = None

    def hold(self) -> None:
        """Let the engine not close its spider before `let_go`, as if a request ran."""
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
        """Whether nothing else is in progress."""
        return len(self.in_progress) <= (self._held is not None)

    @property
    def in_progress(self) -> AbstractSet[Request]:
        """The requests that the engine is not done with."""
        return self._slot.inprogress if self._slot else frozenset()

    @property
    def downloading(self) -> AbstractSet[Request]:
        """The requests that the downloader is not done with."""
        engine = self._crawler.engine
        return engine.downloader.active if engine else frozenset()

    def allow(self, n: int) -> None:
        """Let the engine ask for requests until `n` are in the downloader."""
        self._crawler.engine.downloader.total_concurrency = n

    @property
    def is_closing(self) -> bool:
        """Whether the spider is being closed, with requests still in progress."""
        return self._slot is not None and self._slot.closing is not None

    @property
    def is_running(self) -> bool:
        """Whether the spider is open and the engine takes requests."""
        return self._crawler.engine.running

    @property
    def has_started(self) -> bool:
        """Whether all that `Spider.start` yields was taken."""
        engine = self._crawler.engine
        return engine is not None and engine._start is None  # noqa: SLF001

    def wake(self) -> None:
        """Make the engine ask the scheduler for requests soon.

        By itself it does so every five seconds and after each response.
        """
        if self._slot is not None and self._slot.closing is None:
            self._slot.nextcall.schedule()

    def spare_signals(self) -> None:
        """Send no signal per item that nobody waits for: each costs a future."""
        scraper = self._crawler.engine.scraper
        scraper.signals = cast("SignalManager", SparingSignals(self._crawler))

    @property
    def _slot(self) -> _Slot | None:
        engine = self._crawler.engine
        return engine._slot if engine else None  # noqa: SLF001
