"""Spiders whose requests are visits, their requests to be queued, and their visits."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeGuard, runtime_checkable

from redis.exceptions import RedisError
from scrapy.exceptions import NotConfigured

from rdfcrawl.core.records import Document, Record, Urgency
from rdfcrawl.frontier.queue.queued_records import UnqueueableError, record_of
from rdfcrawl.uri import BadUri

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from collections.abc import Set as AbstractSet

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.statscollectors import StatsCollector

    from rdfcrawl.core.reservations import Reservations
    from rdfcrawl.core.visits import Visit
    from rdfcrawl.frontier.arguments.crawl import CrawlArguments
    from rdfcrawl.frontier.engine import EngineView
    from rdfcrawl.frontier.queue.options import CrawlOptions
    from rdfcrawl.frontier.queue.profiles import CrawlMember
    from rdfcrawl.frontier.session import CrawlSession
    from rdfcrawl.rdf.links.policy import EveryLink

logger = logging.getLogger(__name__)

_TAKE_SECS: Final = 0.02
_MAX_LOGGED: Final = 100  # refused requests in the log; the statistics count all


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SpiderServices:
    """Functions of a spider that has joined a crawl, for the scheduler.

    Attributes:
        process_visit: callback of visits.
        release: frees the bodies of documents that were not processed.
        is_pausing: whether requests pause because of a local failure.
        keeps_from_writing: whether stores would refuse data now.
        pause_if_local_failure: see `LocalFailures.pause_if_local_failure`.
        active_transfers: tasks whose transfers make progress.
    """

    process_visit: Callable[[Response], Any]
    release: Callable[[Visit], None]
    is_pausing: Callable[[], bool]
    keeps_from_writing: Callable[[], bool]
    pause_if_local_failure: Callable[[BaseException, Visit | None], bool]
    active_transfers: Callable[[], AbstractSet[object]]


@runtime_checkable
class VisitingSpider(Protocol):
    """A spider whose requests are visits."""

    arguments: CrawlArguments
    session: CrawlSession | None
    # it reads one page, for `scrapy fetch` or `shell`, without joining the crawl
    is_onlooker: bool
    member: CrawlMember

    @property
    def crawl_options(self) -> CrawlOptions:
        """Options of the crawl and of this worker."""

    @property
    def request_of(self) -> Callable[..., Record] | None:
        """Makes a record of a pushed seed; None if seeds are documents."""

    def link_policy(self) -> EveryLink | None:
        """Return the user's link policy; None if every link is followed."""

    def join(self, session: CrawlSession) -> SpiderServices:
        """Join a crawl, with the options and arguments stored in it."""

    def joined(self) -> CrawlSession:
        """Return the connection to the crawl; raise `ConfigError` without one."""

    @property
    def makes_documents(self) -> bool:
        """Whether a request with only a URL is for a document."""

    @property
    def parses_documents(self) -> bool:
        """Whether documents are parsed: by the class, or for the argument `items`."""

    def obey(self, document: Document, reservations: Reservations) -> None:
        """Apply the reservations of a publisher to a document."""


def visiting_spider(crawler: Crawler) -> VisitingSpider:
    """Return the visiting spider of a crawler, or raise `NotConfigured`."""
    spider = crawler.spider
    if not makes_visits(spider):
        raise NotConfigured
    return spider


def makes_visits(spider: object) -> TypeGuard[VisitingSpider]:
    """Return whether a spider takes part in a crawl."""
    return isinstance(spider, VisitingSpider) and not spider.is_onlooker


def urgency_of(request: Request) -> Urgency:
    """Return the urgency of a request, by its priority."""
    if not request.priority:
        return Urgency.ORDINARY
    return Urgency.SOON if request.priority > 0 else Urgency.LATER


def is_plain(request: Request) -> bool:
    """Return whether a request has only a URL: a request for a document."""
    return (
        request.method == "GET"
        and not request.body
        and request.callback is None
        and request.errback is None
        and not request.cb_kwargs
        and not request.headers
        and not request.dont_filter
    )


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
        if is_judged and not self._session.ingests.own.follows(record.url, record):
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


class DirectVisits:
    """Makes visits without Scrapy's engine, each in a task.

    For each request, the engine makes three tasks, five futures, and generators for
    five spider middlewares: 0.25 ms, as much as two small documents. A host of few
    documents has few in each visit. So if no component of a project takes part in
    visits, each of them is one task here, with the same middlewares, handler, callback
    and signals.

    Args:
        engine: of Scrapy, which counts them as requests in progress.
        process: callback of visits.
    """

    def __init__(
        self, engine: EngineView, process: Callable[[Response], Awaitable[Any]]
    ) -> None:
        self._engine = engine
        self._process = process
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, request: Request) -> None:
        """Begin a visit."""
        self._engine.begin(request)
        task = asyncio.create_task(self._make(request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _make(self, request: Request) -> None:
        try:
            response = await self._engine.download(request)
            if response is not None:
                await self._answer(request, response)
        finally:
            self._engine.end(request)

    async def _answer(self, request: Request, response: Response) -> None:
        try:
            await self._process(response)
        except Exception:  # the edge: what Scrapy does with errors of callbacks
            self._engine.report_error(request, response)
