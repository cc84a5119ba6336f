"""Access to the crawl of a page: its folder, its frontier, and the index of its logs.

Each may be unavailable: a finished crawl without Redis, a crawl whose logs are on
another machine, a Redis that restarts. Views show the rest.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any, Final, TypeVar, cast

from redis.exceptions import RedisError
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings

from rdfcrawl.analysis.crawl_index.database import IndexReaders
from rdfcrawl.analysis.crawl_index.keeping import keep_index
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options.scrapy_settings import apply_defaults
from rdfcrawl.frontier.connection import begun_crawl
from rdfcrawl.frontier.queue.options import CrawlOptions
from rdfcrawl.frontier.redis.errors import RedisRefusedError, one_line
from rdfcrawl.frontier.redis.server_state import INCARNATION
from rdfcrawl.monitor.operating.crawl import OperatedCrawl
from rdfcrawl.stores.crawl_folder import find_crawl
from rdfcrawl.stores.crawl_settings import read_settings

logger = logging.getLogger(__name__)

T = TypeVar("T")
_PATIENCE_SECS: Final = 5.0  # for a read of Redis
_RETRY_SECS: Final = 2.0  # between two attempts to connect
_AWAY_SECS: Final = 0.2  # that a visitor waits for an attempt
_END_SECS: Final = 1.0
_NICE: Final = 10  # of the thread that reads logs
_CMDLINE: Final = SETTINGS_PRIORITIES["cmdline"]
# None of these names a file, a class or a secret.
_OF_CRAWL: Final = frozenset(
    (
        *("POLITENESS_KEY", "SESSION_PARAMETERS", "IGNORED_EXTENSIONS"),
        *("GUARD_ALLOW_NETS", "GUARD_DENY_NETS", "GUARD_PORTS", "GUARD_MAX_PORTS"),
        *("TRAP_REPEATS", "TRAP_SEGMENTS", "TRAP_FORM_URLS", "ADDRESS_DELAY"),
        *("DOWNLOAD_DELAY", "ROBOTSTXT_OBEY", "USER_AGENT", "WORKING_HOURS"),
        *("HOST_PATIENCE_SECS", "REVISITS", "REVISIT_SECS", "SAME_STATEMENTS_ONCE"),
    )
)


class CrawlAccess:
    """The crawl of a page.

    Attributes:
        settings: with our defaults.
        name: of the crawl.
        root: `CRAWL_DIR/<CRAWL_ID>`; it may not exist.
        why_away: why the frontier is unavailable; empty if it is not.
        incarnation: distinguishes the crawl from an earlier one of the same name;
            None before the frontier was opened.
    """

    def __init__(self, settings: BaseSettings, name: str, root: Path) -> None:
        self.settings = settings
        self.name = name
        self.root = root
        self.why_away = "not connected yet"
        self.incarnation: bytes | None = None
        self._crawl: OperatedCrawl | None = None
        self._opening: asyncio.Task[None] | None = None
        self._refusal: RedisRefusedError | None = None
        self._failed_at = float("-inf")
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._keep_index, name="index")
        self._readers = IndexReaders(root)

    @classmethod
    def of(cls, settings: BaseSettings, *, is_awaited: bool = False) -> CrawlAccess:
        """Return the crawl that settings name, with the settings of its start.

        Args:
            settings: of the command.
            is_awaited: the crawl `CRAWL_ID` may begin later.

        Raises:
            ConfigError: there is no such crawl here, or a setting is wrong.
        """
        settings = settings.copy()
        apply_defaults(settings)
        try:
            name = settings["CRAWL_ID"] if is_awaited else begun_crawl(settings)
        except ConfigError:  # its frontier was deleted, or is elsewhere
            name = find_crawl(settings).name
        root = CrawlOptions.from_settings(settings, name).paths.root
        apply_settings_of_crawl(settings, root)
        return cls(settings, name, root)

    async def open(self) -> None:
        """Connect, and start to index the logs.

        Raises:
            ConfigError: Redis refuses, and will do so until a setting is changed.
        """
        await self._connect(_PATIENCE_SECS)
        if self._refusal is not None:
            raise self._refusal
        self._thread.start()

    async def close(self) -> None:
        """Disconnect for good, and stop reading: `read` returns None from now on."""
        self._stopped.set()
        self.why_away = "its page was closed: load it again"
        if self._thread.is_alive():
            await asyncio.to_thread(self._thread.join)
        self._readers.close()
        if self._opening is not None:
            await ended(self._opening)
        await self._leave()

    async def read(
        self,
        read: Callable[[OperatedCrawl], Awaitable[T]],
        *,
        patience_secs: float = _PATIENCE_SECS,
    ) -> T | None:
        """Read from the frontier; return None while Redis is away (`why_away`).

        A frontier that fails, or is of a new crawl, is reopened soon.

        Args:
            read: the reading function.
            patience_secs: timeout.
        """
        crawl = await self._connect(_AWAY_SECS)
        if crawl is None:
            return None
        try:
            async with asyncio.timeout(patience_secs):
                found = await read(crawl)
        except (ConfigError, RedisError, OSError) as error:  # a timeout is an `OSError`
            self.why_away = f"Redis: {one_line(error) or 'no response'}"
            self._failed_at = monotonic()
            if crawl is self._crawl:
                await self._leave()
            return None
        self.why_away = ""
        return found

    async def look(self) -> None:
        """Reopen the frontier if a new crawl has replaced it; costs one command."""
        known = self.incarnation
        found = await self.read(_incarnation_of)
        if found is not None and self._crawl is not None and found != known:
            await self._leave()

    async def _connect(self, patience_secs: float) -> OperatedCrawl | None:
        """Return the open frontier; None if that takes longer, fails, or is over."""
        if self._stopped.is_set():
            return None
        if self._crawl is None and self._opening is None:
            if monotonic() - self._failed_at < _RETRY_SECS:
                return None
            self._opening = asyncio.create_task(self._open())
        if self._opening is not None:
            await asyncio.wait({self._opening}, timeout=patience_secs)
        return self._crawl

    async def _open(self) -> None:
        try:
            crawl = await OperatedCrawl.open(self.settings)
            crawl.connection.opened()
            self.incarnation = await _incarnation_of(crawl)
            self._crawl, self.why_away = crawl, ""
        except (ConfigError, RedisError, OSError) as error:
            self.why_away = one_line(error)
            if isinstance(error, RedisRefusedError):
                self._refusal = error
            self._failed_at = monotonic()
        finally:
            self._opening = None

    async def _leave(self) -> None:
        crawl, self._crawl = self._crawl, None
        if crawl is not None:
            with suppress(RedisError, OSError):
                await crawl.__aexit__()

    async def indexed(
        self, query: str, values: Sequence[Any] | Mapping[str, Any] = ()
    ) -> list[Any]:
        """Return the rows of a query of the index; none while there is no index."""
        return await asyncio.to_thread(self._readers.rows, query, values)

    async def listed(self, query: str, *values: object) -> list[dict[str, Any]]:
        """Return the rows of a query of the index, each by the names of its columns."""
        return [dict(row) for row in await self.indexed(query, values)]

    def _keep_index(self) -> None:
        """Keep the index up to date, in a thread of low priority."""
        with suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        options = CrawlOptions.from_settings(self.settings, self.name)
        keep_index(self.root, self._stopped, options.normal_form)


def apply_settings_of_crawl(settings: BaseSettings, root: Path) -> None:
    """Apply the settings that decide which URIs a crawl fetches, as it was started.

    Those of the command line of the page go before them.

    Args:
        settings: of the page.
        root: `CRAWL_DIR/<CRAWL_ID>`.
    """
    for each in read_settings(root) or ():
        is_given = (settings.getpriority(each.name) or 0) >= _CMDLINE
        if each.name in _OF_CRAWL and not is_given:
            settings.set(each.name, each.value, "project")


async def ended(task: asyncio.Task[None]) -> None:
    """Wait for the end of a task that reads Redis, for a second or two.

    A client of Redis may continue in spite of a cancellation.
    """
    await asyncio.wait({task}, timeout=_END_SECS)
    task.cancel()
    await asyncio.wait({task}, timeout=_END_SECS)


async def _incarnation_of(crawl: OperatedCrawl) -> bytes:
    """Return the identifier of a crawl; empty if there is no crawl."""
    key = crawl.frontier.key("conf")
    return cast("bytes | None", await crawl.redis.hget(key, INCARNATION)) or b""
