"""The crawl that a page is about: its folder, its frontier, and the index of its logs.

Each may be away: a finished crawl without Redis, a crawl whose logs are on another
machine, a Redis that restarts. Views show what is there.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeVar

from redis.exceptions import RedisError

from rdfcrawl.crawl_index.asking import IndexReaders
from rdfcrawl.crawl_index.keeping import keep_index
from rdfcrawl.errors import ConfigError
from rdfcrawl.frontier.begun_crawl import begun_crawl
from rdfcrawl.frontier.options import CrawlOptions
from rdfcrawl.frontier.redis_retry import one_line
from rdfcrawl.log.location import find_crawl
from rdfcrawl.operating.crawl import OperatedCrawl
from rdfcrawl.options.merging import apply_defaults

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

T = TypeVar("T")
_PATIENCE_SECS: Final = 5.0  # for what Redis is asked
_AGAIN_SECS: Final = 2.0  # between two tries to reach it
_NICE: Final = 10  # of the thread that reads logs


class CrawlAccess:
    """The crawl of a page.

    Attributes:
        settings: with our defaults.
        name: of the crawl.
        root: `CRAWL_DIR/<CRAWL_ID>`; it may not be there.
        why_away: why the frontier cannot be asked; empty if it can.
    """

    def __init__(self, settings: BaseSettings, name: str, root: Path) -> None:
        self.settings = settings
        self.name = name
        self.root = root
        self.why_away = "it was not asked yet"
        self._crawl: OperatedCrawl | None = None
        self._opening = asyncio.Lock()
        self._failed_at = float("-inf")
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._keep_index, name="index")
        self._readers = IndexReaders(root)

    @classmethod
    def of(cls, settings: BaseSettings) -> CrawlAccess:
        """Return the crawl that settings name.

        Raises:
            ConfigError: there is no such crawl here, or a setting is wrong.
        """
        settings = settings.copy()
        apply_defaults(settings)
        try:
            name = begun_crawl(settings)
        except ConfigError:  # its frontier is gone, or elsewhere
            name = find_crawl(settings).name
        options = CrawlOptions.from_settings(settings, name)
        return cls(settings, name, options.paths.root)

    async def open(self) -> None:
        """Connect, and read the logs from now on."""
        await self._connect()
        self._thread.start()

    async def close(self) -> None:
        """Disconnect, and read no more."""
        self._stopped.set()
        if self._thread.is_alive():
            await asyncio.to_thread(self._thread.join)
        self._readers.close()
        if self._crawl is not None:
            await self._crawl.__aexit__()

    async def ask(self, read: Callable[[OperatedCrawl], Awaitable[T]]) -> T | None:
        """Return what is read of the frontier; None while it is away (`why_away`)."""
        crawl = await self._connect()
        if crawl is None:
            return None
        try:
            async with asyncio.timeout(_PATIENCE_SECS):
                return await read(crawl)
        except (RedisError, OSError) as error:  # a timeout is an `OSError`
            self.why_away = f"Redis: {one_line(error)}"
            return None

    async def _connect(self) -> OperatedCrawl | None:
        async with self._opening:
            if self._crawl is None and monotonic() - self._failed_at > _AGAIN_SECS:
                try:
                    self._crawl = await OperatedCrawl.open(self.settings)
                    self._crawl.connection.opened()
                    self.why_away = ""
                except (ConfigError, RedisError, OSError) as error:
                    self.why_away = one_line(error)
                    self._failed_at = monotonic()
        return self._crawl

    async def indexed(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of a query of the index; none while it is not there."""
        return await asyncio.to_thread(self._readers.rows, query, values)

    def _keep_index(self) -> None:
        """Keep the index up to date, in a thread of its own that stands back."""
        with suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        options = CrawlOptions.from_settings(self.settings, self.name)
        keep_index(self.root, self._stopped, options.normal_form)
