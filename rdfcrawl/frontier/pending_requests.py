"""Requests of a spider on their way into the frontier."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from redis.exceptions import RedisError

from rdfcrawl.frontier.queue.queued_requests import UnqueueableError, record_of
from rdfcrawl.frontier.visiting import is_plain, urgency_of
from rdfcrawl.uri import BadUri

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.statscollectors import StatsCollector

    from rdfcrawl.core.records import Record, Urgency
    from rdfcrawl.frontier.session import CrawlSession

logger = logging.getLogger(__name__)

_TAKE_SECS: Final = 0.02
_MAX_LOGGED: Final = 100  # refused requests in the log; the statistics count all


class PendingRequests:
    """Requests that a spider has yielded and that are not queued yet."""

    def __init__(
        self,
        session: CrawlSession,
        spider: Spider,
        stats: StatsCollector,
        *,
        makes_documents: bool,
    ) -> None:
        self._session = session
        self._spider = spider
        self._stats = stats
        self._makes_documents = makes_documents
        self._n_refused = 0
        self._seeds: list[str] = []
        self._requests: list[tuple[Record, Urgency]] = []
        self._has_come = asyncio.Event()

    def __bool__(self) -> bool:
        """Return whether any request is pending."""
        return bool(self._seeds or self._requests)

    def is_for_frontier(self, request: Request) -> bool:
        """Return whether a request is kept in the frontier, not in memory."""
        is_seed = self._makes_documents and is_plain(request)
        return is_seed or request.url.startswith(("http:", "https:"))

    def take(self, request: Request) -> bool:
        """Take a request; return whether it will be in the frontier."""
        try:
            if self._makes_documents and is_plain(request):
                self._seeds.append(self._session.ingests.own.seed_url(request.url))
                self._has_come.set()
            else:
                return self._take_request(request)
        except (BadUri, UnqueueableError) as error:
            self._refuse(request, error)
            return False
        return True

    def _refuse(self, request: Request, error: Exception) -> None:
        self._n_refused += 1
        self._stats.inc_value("frontier/refused_requests")
        if self._n_refused <= _MAX_LOGGED:
            logger.error("%s: cannot be queued: %s", request.url[:200], error)

    def _take_request(self, request: Request) -> bool:
        record = record_of(request, self._spider)
        is_judged = record.depth > 0 and not request.dont_filter
        if is_judged and not self._session.ingests.own.wants(record.url, record.depth):
            self._session.ingests.own.rejected.filtered += 1
            why = self._session.ingests.own.refusal(record.url, record.depth)
            if why is not None:
                self._session.links.note_decision(why, [record.url], record.parent)
            return False
        self._requests.append((record, urgency_of(request)))
        self._has_come.set()
        return True

    async def run(self) -> None:
        """Queue pending requests until the worker stops."""
        with suppress(RedisError):  # when the worker stops, it offers the rest
            while True:
                await self._has_come.wait()
                self._has_come.clear()
                await asyncio.sleep(_TAKE_SECS)  # to group requests
                if self._seeds:
                    seeds = self._seeds.copy()
                    await self._session.seeds.add_seeds(seeds)
                    del self._seeds[: len(seeds)]
                if self._requests:
                    requests = self._requests.copy()
                    await self._session.seeds.add_requests(requests)
                    del self._requests[: len(requests)]

    def leave(self) -> None:
        """Offer the remaining requests with the links of the last visits."""
        ingest, links = self._session.ingests.own, self._session.worker.links
        links.offer(map(ingest.seed, self._seeds))
        links.offer(ingest.request(*each) for each in self._requests)
        self._seeds.clear()
        self._requests.clear()
