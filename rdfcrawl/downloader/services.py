"""The shared objects of one crawler process that fetches."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from redis.exceptions import RedisError

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.reservations import Obedience
from rdfcrawl.downloader.crawler_clients import (
    BlockedHostFilter,
    RareExchange,
    SchemeExchange,
)
from rdfcrawl.downloader.host_delay import InterruptibleSleep
from rdfcrawl.downloader.http.exchange import HttpExchange
from rdfcrawl.downloader.local_failures import (
    ClockCheck,
    KnownNames,
    LocalFailureGuard,
    LocalFailures,
)
from rdfcrawl.downloader.redirects import RedirectJudge
from rdfcrawl.downloader.robots.cache import RobotsCache, RobotsOptions
from rdfcrawl.downloader.robots.storage import RobotsDeathStore
from rdfcrawl.downloader.robots.tdm import TdmCache
from rdfcrawl.downloader.robots_txt import FetchedRobots, RobotsFetch
from rdfcrawl.downloader.spool import Spool, SpoolLimits, WorkerDisk
from rdfcrawl.downloader.visit import VisitMaker
from rdfcrawl.uri.guard.gate import ConnectionGate

if TYPE_CHECKING:
    from pathlib import Path

    from redis.asyncio import Redis
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

    from rdfcrawl.core.records import Record
    from rdfcrawl.downloader.client import HttpClient, HttpRequest
    from rdfcrawl.downloader.contexts.store import ContextStore
    from rdfcrawl.downloader.ftp.address import FtpLogins
    from rdfcrawl.downloader.http.scrapy_exchange import ScrapyExchange
    from rdfcrawl.downloader.options import FetchOptions
    from rdfcrawl.downloader.robots.policy import RobotsSettings
    from rdfcrawl.downloader.scheme_fetcher import SchemeFetcher
    from rdfcrawl.downloader.warc.archive import WebArchive
    from rdfcrawl.downloader.watch import WatchedExchange
    from rdfcrawl.frontier.queue.shared_rules import KeptRobots
    from rdfcrawl.frontier.session import CrawlSession


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FetchSetup:
    """A spider's part in its requests.

    Attributes:
        options: limits and politeness of requests.
        robots: effect of robots.txt and other reservations.
        folders: written by the crawl.
        ftp_logins: of FTP servers.
        fetchers: custom ones, by scheme.
        is_archived: all requests and responses are kept in a web archive.
        request_for: returns the request for a record; None is a GET of its URL.
        is_for_all: also for a record that is only a URL.
        ignores_robots: returns whether robots.txt does not apply to a record.
    """

    options: FetchOptions
    robots: RobotsSettings
    folders: Sequence[Path]
    ftp_logins: FtpLogins | None
    fetchers: Mapping[str, SchemeFetcher]
    is_archived: bool
    request_for: Callable[[Record], Awaitable[HttpRequest | None]]
    is_for_all: bool
    ignores_robots: Callable[[Record], bool]


class FetchServices:
    """Connections, spool, robots.txt and contexts of a crawler; closed by its handler.

    Attributes:
        exchange: makes one request, by the client of its scheme.
        local_failures: failures of this machine.
        active_transfers: returns the tasks whose transfers make progress.
        robots: rules to obey; None if `ROBOTSTXT_OBEY` is off.
        tdm: files of reservations; None if they are ignored.
    """

    def __init__(
        self, crawler: Crawler, session: CrawlSession, setup: FetchSetup
    ) -> None:
        self._options = setup.options
        self._spool = _make_spool(setup)
        self._archive: WebArchive | None = None
        if setup.is_archived:
            from rdfcrawl.downloader.archiving import archive_of

            self._archive = archive_of(crawler)
        self._count = partial(_count, crawler.stats)
        known, sleepers = KnownNames(session.addresses.note), InterruptibleSleep()
        clock = ClockCheck(partial(_secs_of_redis, session.redis))
        self.local_failures = LocalFailures(known, sleepers, self._spool, clock)
        self._looking = asyncio.create_task(self.local_failures.look_at_disk())
        self.turns = session.turns(sleepers)
        self._clients = self._open_clients(crawler, setup, known=known, clock=clock)
        self.active_transfers = self._clients.active_transfers
        self.exchange = self._exchange(session)
        # An archive must contain every file that was read: harvesters request it again.
        self._robots_txt = None if self._archive else FetchedRobots(self._spool)
        self._kept_robots: KeptRobots | None = None
        self.robots = self._robots(setup, session)
        self.tdm = self._tdm(setup)
        self.visitor = self._visitor(setup, session, sleepers)
        self._session = session

    def _open_clients(
        self,
        crawler: Crawler,
        setup: FetchSetup,
        *,
        known: KnownNames,
        clock: ClockCheck,
    ) -> SchemeExchange:
        fetch, spool = self._options, self._spool
        is_recorded = self._archive is not None
        gate = ConnectionGate(fetch.guard, count=partial(self._count, "guard/"))
        fetchers = None
        if setup.fetchers:
            from rdfcrawl.downloader.fetcher_exchange import FetcherExchange

            count = partial(self._count, "")
            fetchers = FetcherExchange(setup.fetchers, fetch, spool, count=count)

        def ftp() -> WatchedExchange:
            from rdfcrawl.downloader.ftp.exchange import FtpExchange

            logins = setup.ftp_logins
            return FtpExchange(fetch, spool, logins=logins, gate=gate)

        def requests() -> WatchedExchange:
            from rdfcrawl.downloader.http.scrapy_exchange import RequestExchange

            return RequestExchange(
                crawler, spool, fetch, known, is_recorded=is_recorded
            )

        web = self._open_web(crawler, gate, known, clock)
        return SchemeExchange(
            web, RareExchange(ftp), RareExchange(requests), fetchers, setup.fetchers
        )

    def _open_web(
        self,
        crawler: Crawler,
        gate: ConnectionGate,
        known: KnownNames,
        clock: ClockCheck,
    ) -> HttpExchange | ScrapyExchange:
        fetch, spool = self._options, self._spool
        is_recorded = self._archive is not None
        if fetch.with_scrapy:
            from rdfcrawl.downloader.http.scrapy_exchange import ScrapyExchange

            return ScrapyExchange(crawler, spool, fetch, known, is_recorded=is_recorded)
        web = HttpExchange(
            fetch, spool, gate=gate, known=known, clock=clock, is_recorded=is_recorded
        )
        web.open()
        return web

    def _exchange(self, session: CrawlSession) -> HttpClient:
        """Return the client of all schemes, wrapped by the layers common to them."""
        exchange: HttpClient = self._clients
        if self._archive is not None:
            from rdfcrawl.downloader.archiving import ArchivingExchange

            exchange = ArchivingExchange(exchange, self._archive, self._spool)
        if session.keys.goes_by_address:
            from rdfcrawl.downloader.http.other_addresses import OtherAddresses

            exchange = OtherAddresses(exchange, self._spool)
        exchange = LocalFailureGuard(exchange, self.local_failures, self._spool)
        return BlockedHostFilter(exchange, session.blocked, self._spool.parts.drop)

    def _robots(self, setup: FetchSetup, session: CrawlSession) -> RobotsCache | None:
        rules, first_secs = setup.robots, self._options.backoff_base_secs
        if not rules.is_obeyed:
            return None
        self._kept_robots = session.kept_robots(
            replace(rules.keeping, first_secs=first_secs)
        )
        self._robots_options = RobotsOptions(
            agent=rules.agent,
            obeys_delay=rules.obeys_delay,
            put_off_secs=first_secs,
            max_retry_after_secs=self._options.retry_after_max_secs,
            retry_times=self._options.retry_times,
        )
        return RobotsCache(
            RobotsFetch(self.exchange, self._spool, self._options, self._robots_txt),
            self._robots_options,
            count=partial(self._count, ""),
            deaths=RobotsDeathStore(
                session.redis, session.frontier.key("robots-deaths")
            ),
            turns=self.turns,
            is_exempt=setup.ignores_robots,
            url_of=self._url_of,
            keeper=self._kept_robots,
        )

    def _tdm(self, setup: FetchSetup) -> TdmCache | None:
        is_ignored = setup.robots.tdm is Obedience.IGNORE
        if is_ignored or self.robots is None or self._kept_robots is None:
            return None
        return TdmCache(
            self.robots,
            self._robots_options,
            keeper=self._kept_robots,
            turns=self.turns,
            count=partial(self._count, ""),
        )

    def _visitor(
        self, setup: FetchSetup, session: CrawlSession, sleepers: InterruptibleSleep
    ) -> VisitMaker:
        hops = RedirectJudge(
            wants=session.links.wants_target,
            refuses=session.links.refuses,
            robots=self.robots,
            blocked_hosts=session.blocked,
        )
        return VisitMaker(
            self.exchange,
            self._spool,
            self._options,
            key_of=session.keys.of,
            is_new=session.links.is_new,
            prime=session.keys.prime,
            request_for=setup.request_for,
            is_for_all=setup.is_for_all,
            hops=hops,
            robots_txt=self._robots_txt,
            begin=partial(session.worker.begin, what="asked"),
            sleepers=sleepers,
            turns=self.turns,
        )

    @cached_property
    def contexts(self) -> ContextStore:
        """Contexts of JSON-LD; made by the first document that needs one."""
        from rdfcrawl.downloader.contexts.cache import SharedContexts
        from rdfcrawl.downloader.contexts.download import (
            ContextDownloader,
            ContextHosts,
            ContextOptions,
        )
        from rdfcrawl.downloader.contexts.store import ContextStore

        session = self._session
        options = ContextOptions(delay_secs=session.options.frontier.delay_secs)
        count = partial(self._count, "context/")
        download = ContextDownloader(
            exchange=self.exchange,
            robots=self.robots,
            spool=self._spool,
            fetch=self._options,
            options=options,
            hosts=ContextHosts(
                turns=self.turns,
                is_denied=session.ingests.own.denies,
                local_failures=self.local_failures,
                blocked_hosts=session.blocked,
            ),
        )
        shared = SharedContexts(session.redis, session.frontier.key, count=count)
        return ContextStore(download, options, shared=shared, count=count)

    async def _url_of(self, record: Record) -> str:
        try:
            return (await self.visitor.first_request(record))[0]
        except Exception:  # the visit meets and reports the same error
            return record.url

    async def close(self) -> None:
        """Close the connections and remove the spool files."""
        self._looking.cancel()
        if "contexts" in vars(self):
            await self.contexts.close()
        if self.tdm:
            await self.tdm.close()
        if self.robots:
            await self.robots.close()
        if self._kept_robots:
            await self._kept_robots.close()
        await self._clients.close()
        self._count("http/", "requests", self._clients.n_requests)
        self._spool.close()


async def _secs_of_redis(redis: Redis) -> float | None:
    try:
        secs, micros = await redis.time()
    except (RedisError, OSError):
        return None
    return float(secs + micros / 1e6)


def _make_spool(setup: FetchSetup) -> Spool:
    fetch = setup.options
    limits = SpoolLimits(
        most_bytes=fetch.spool_max_bytes,
        host_bytes=fetch.spool_host_max_bytes,
        put_off_secs=fetch.backoff_base_secs,
    )
    disk = WorkerDisk(setup.folders, min_free_bytes=fetch.min_free_bytes)
    memory = fetch.visit_memory_bytes
    try:
        return Spool(
            fetch.spool_dir, memory_limit_bytes=memory, limits=limits, disk=disk
        )
    except OSError as error:
        what = f"{error.strerror or error} ({error.filename})"
        raise ConfigError(
            f"CRAWL_DIR: cannot keep responses in {fetch.spool_dir}: {what}"
        ) from error


def _count(stats: StatsCollector | None, group: str, name: str, count: int = 1) -> None:
    if stats is not None:
        stats.inc_value(f"{group}{name}", count)


# Shared by a handler, a middleware and the spider. Scrapy has no place for such
# objects; keyed by crawler, since a process may run several.
_services: WeakKeyDictionary[Crawler, FetchServices] = WeakKeyDictionary()


def open_services(
    crawler: Crawler, session: CrawlSession, setup: FetchSetup
) -> FetchServices:
    """Open the services of a crawler whose spider has joined its crawl."""
    services = _services[crawler] = FetchServices(crawler, session, setup)
    return services


def services_of(crawler: Crawler) -> FetchServices:
    """Return the services of a crawler.

    Raises:
        RuntimeError: its spider has not joined a crawl.
    """
    if crawler not in _services:
        raise RuntimeError("a visit without a frontier")
    return _services[crawler]


async def close_services(crawler: Crawler) -> None:
    """Close the services of a crawler, if they exist."""
    services = _services.pop(crawler, None)
    if services is not None:
        await services.close()
