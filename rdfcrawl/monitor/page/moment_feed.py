"""One reading a second, shared by all visitors of a page."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from rdfcrawl.core.times import now_ms
from rdfcrawl.monitor.operating.tables import as_json
from rdfcrawl.monitor.page.crawl_access import CrawlAccess, ended
from rdfcrawl.monitor.page.crawl_moment import CrawlMoment, away_moment, moment_of
from rdfcrawl.monitor.page.crawl_tail import CrawlTail, TailReader
from rdfcrawl.monitor.page.estimate import LongestHostSearch, estimate_end
from rdfcrawl.monitor.page.moments import read_frontier
from rdfcrawl.monitor.page.samples import CounterRates, FigureSample, RecentSamples
from rdfcrawl.stores.followers.status import FollowerStatus, read_statuses

_EVERY_SECS: Final = 1.0
_SHARE: Final = 0.2  # limit of the share of time for readings
_PARTITIONS: Final = 256  # partitions read in a second, with eight commands each
_FOLLOWERS_SECS: Final = 5.0
_MOST_SECS: Final = 60.0  # between two readings, however slow they are


class MomentFeed:
    """Reads a crawl once a second, and passes the moment to all who wait.

    Any number of visitors costs Redis one reading a second; less if it is slow.

    Attributes:
        moment: the latest.
        samples: of the last minutes.
        tail: the latest documents, faults and log lines.
        tail_json: number and JSON of the tail; another number: it has changed.
    """

    def __init__(self, access: CrawlAccess) -> None:
        self._access = access
        self.samples = RecentSamples()
        self._workers = CounterRates()
        self.moment = away_moment(access.why_away)
        self.tail = CrawlTail()
        self.tail_json = 0, b""
        self._tails = TailReader(access)
        self._longest = LongestHostSearch()
        self._incarnation: bytes | None = None
        self._n_partitions = 1
        self._n = 0  # of the latest moment
        self._json: tuple[int, bytes] = (-1, b"")
        self._changed = asyncio.Condition()
        self._statuses: Sequence[FollowerStatus] = ()
        self._statuses_at = float("-inf")
        self._task: asyncio.Task[None] | None = None
        self._ending = asyncio.Event()

    async def begin(self) -> None:
        """Read now, and then every second."""
        await self._renew()
        self._task = asyncio.create_task(self._keep())

    async def end(self) -> None:
        """Stop reading; wake waiting visitors."""
        self._ending.set()
        async with self._changed:
            self._changed.notify_all()
        if self._task is not None:
            await ended(self._task)

    @property
    def has_ended(self) -> bool:
        """Whether there will be no other moment."""
        return self._ending.is_set()

    async def wait(self, seen: int) -> tuple[int, bytes]:
        """Return number and JSON of a later moment, or of the last one.

        Args:
            seen: number of the known moment; -1: any is later.
        """
        async with self._changed:
            await self._changed.wait_for(lambda: self._n > seen or self.has_ended)
        if self._json[0] != self._n:
            self._json = self._n, as_json(self.moment).encode()
        return self._json

    async def _keep(self) -> None:
        while not self.has_ended:
            began = time.monotonic()
            await self._renew()
            took = time.monotonic() - began
            least = self._n_partitions / _PARTITIONS
            every = min(max(_EVERY_SECS, least, took / _SHARE), _MOST_SECS)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), max(0.0, every - took))

    async def _renew(self) -> None:
        moment = await self._read()
        tail = await self._tails.read()
        if tail != self.tail:
            self.tail = tail
            self.tail_json = self.tail_json[0] + 1, as_json(tail).encode()
        async with self._changed:
            self.moment = moment
            self._n += 1
            self._changed.notify_all()

    async def _read(self) -> CrawlMoment:
        access = self._access
        await access.look()
        reading = await access.read(read_frontier)
        if reading is None:
            return away_moment(access.why_away)
        now = now_ms() / 1000
        self._n_partitions = len(reading.status.partitions)
        if access.incarnation != self._incarnation:
            self._incarnation = access.incarnation
            self._longest = LongestHostSearch()
            self.samples.clear()
            self._workers = CounterRates()
        if reading.status.counts.queued > 0:
            await access.read(lambda crawl: self._longest.step(crawl, now))
        await self._follow()
        rates = self.samples.add(FigureSample.of(reading, now))
        seen = {each.name: each.n_documents for each in reading.status.workers}
        of_workers = self._workers.add(now, seen)
        end = estimate_end(self.samples.kept(), self._longest.found(now))
        return moment_of(reading, now, rates, end, self._statuses, of_workers)

    async def _follow(self) -> None:
        """Read the state of stores that follow the crawl, at intervals."""
        now, root = time.monotonic(), self._access.root
        if now - self._statuses_at >= _FOLLOWERS_SECS and (root / "followers").is_dir():
            self._statuses = await asyncio.to_thread(read_statuses, root)
            self._statuses_at = time.monotonic()
