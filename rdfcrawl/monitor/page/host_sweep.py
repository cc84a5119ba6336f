"""Keep the table of hosts up to date in the background, in small steps."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeVar

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.frontier.queue.options import CrawlOptions
from rdfcrawl.monitor.operating.hosts import (
    HostPlace,
    iter_place_pages,
    least_delay_ms,
    read_places,
)
from rdfcrawl.monitor.page.host_table import HostTable
from rdfcrawl.uri import HostGrouping, PolitenessKey

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from rdfcrawl.monitor.operating.crawl import OperatedCrawl
    from rdfcrawl.monitor.page.crawl_access import CrawlAccess

logger = logging.getLogger(__name__)

T = TypeVar("T")
_LAST: Final[list[HostPlace]] = [(-1, "")]  # after the last page
_STEP: Final = 200  # hosts in one read: about a millisecond of Redis
_REST: Final = 4.0  # pause before the next step, as a multiple of its time
_LEAST_REST_SECS: Final = 2.0  # pause between two sweeps
_LOOKED_SECS: Final = 300.0  # time for which sweeps continue after a look
_FIGURES: Final = 1000  # rows of the index in one read
_PATIENCE_SECS: Final = 0.25  # time that a visitor waits for the first sweep
_READ_FIGURES: Final = """
SELECT id, name, n_documents, n_statements, n_bytes, n_faulty, last_ms FROM host
WHERE id > ? ORDER BY id LIMIT ?
"""


class HostSweep:
    """Fills a table of all hosts, from the index and from Redis.

    A sweep rests four fifths of the time, and the pause after it is four times as long:
    it
    takes one or two percent of a core of Redis and of the page. Sweeps continue for
    five
    minutes after the last look at hosts.

    Args:
        access: to the crawl.

    Attributes:
        table: to fill.
        n_swept: hosts of the frontier in the last complete sweep.
    """

    def __init__(self, access: CrawlAccess) -> None:
        self._access = access
        options = CrawlOptions.from_settings(access.settings, access.name)
        self._grouping = options.keys.grouping
        self.table = HostTable(is_grouped=self._grouping is not HostGrouping.HOST)
        self.n_swept = 0
        self._sweep = 0
        self._ended_at: float | None = None
        self._looked_at = monotonic()
        self._is_wanted = asyncio.Event()
        self._first = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def age_secs(self) -> float | None:
        """Seconds since the end of the last complete sweep; None before the first."""
        return None if self._ended_at is None else monotonic() - self._ended_at

    async def open(self) -> None:
        """Start sweeping."""
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Stop sweeping."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self.table.close()

    async def look(self) -> None:
        """Note a look at hosts; wait a moment for the first sweep to end."""
        self._looked_at = monotonic()
        self._is_wanted.set()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._first.wait(), _PATIENCE_SECS)

    async def _run(self) -> None:
        while True:
            began = monotonic()
            try:
                await self._read_figures()
                await self._read_states()
                self._ended_at = monotonic()
                self._first.set()
            except (ConfigError, OSError, sqlite3.Error) as error:  # as a full disk
                logger.warning("the table of hosts is not up to date: %s", error)
            took = monotonic() - began
            await asyncio.sleep(max(_LEAST_REST_SECS, _REST * took))
            if monotonic() - self._looked_at > _LOOKED_SECS:
                self._is_wanted.clear()
                await self._is_wanted.wait()

    async def _read_figures(self) -> None:
        """Read the sums of all hosts in the index, step by step."""
        last = 0
        while True:
            began = monotonic()
            rows = await self._access.indexed(_READ_FIGURES, (last, _FIGURES))
            if not rows:
                return
            last = rows[-1][0]
            keys = await self._keys_of([row[1] for row in rows])
            figures = [(row[1], keys[row[1]], *row[2:]) for row in rows]
            await asyncio.to_thread(self.table.put_figures, figures)
            await asyncio.sleep(_REST * (monotonic() - began))

    async def _keys_of(self, names: Sequence[str]) -> dict[str, str]:
        """Return the politeness keys of hosts."""
        if self._grouping is HostGrouping.HOST:
            return {name: name for name in names}
        known: dict[str, str] = {}
        if self._grouping is HostGrouping.IP:

            async def read(crawl: OperatedCrawl) -> dict[str, str]:
                return await crawl.frontier.addresses(names)

            known = await self._access.read(read) or {}
        policy = PolitenessKey(self._grouping, lambda host: known.get(host) or None)
        return {
            name: name if "!" in name else policy.of(f"http://{name}/")
            for name in names
        }

    async def _read_states(self) -> None:
        """Read all hosts of the frontier, step by step; stop if Redis goes away."""
        begun = await self._access.read(_begin)
        if begun is None:
            return
        pages, least = begun
        self._sweep += 1
        while (places := await self._step(lambda _: anext(pages, _LAST))) != _LAST:
            if places is None:
                return
            for start in range(0, len(places), _STEP):
                some = places[start : start + _STEP]
                if not await self._read_some(some, least):
                    return
        self.n_swept = await asyncio.to_thread(self.table.end_sweep, self._sweep)

    async def _read_some(self, places: Sequence[HostPlace], least: int) -> bool:
        found = await self._step(lambda crawl: read_places(crawl, places, least))
        if found is not None:
            await asyncio.to_thread(self.table.put, found, self._sweep)
        return found is not None

    async def _step(self, read: Callable[[OperatedCrawl], Awaitable[T]]) -> T | None:
        """Read from the frontier, and pause; return None while Redis is away."""
        began = monotonic()
        found = await self._access.read(read)
        await asyncio.sleep(_REST * (monotonic() - began))
        return found


async def _begin(
    crawl: OperatedCrawl,
) -> tuple[AsyncIterator[list[HostPlace]], int]:
    return iter_place_pages(crawl), await least_delay_ms(crawl)
