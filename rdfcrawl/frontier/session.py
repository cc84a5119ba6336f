"""The membership of a worker in its crawl: connected, complete once joined."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from redis.asyncio import Redis
from redis.exceptions import RedisError
from scrapy.settings import BaseSettings

from rdfcrawl.core.messages import counted
from rdfcrawl.core.records import Record
from rdfcrawl.core.times import now_ms
from rdfcrawl.frontier.arguments.crawl import CrawlArguments
from rdfcrawl.frontier.connection import (
    FrontierConnection,
    begin_run,
    lost_logs,
    restart_crawl,
)
from rdfcrawl.frontier.queue.bands import ScoreBands
from rdfcrawl.frontier.queue.candidate_adder import DecisionLog
from rdfcrawl.frontier.queue.frontier_client import Frontier
from rdfcrawl.frontier.queue.host_addresses import AddressBook, HostAddresses, HostKeys
from rdfcrawl.frontier.queue.host_clocks import HostClocks
from rdfcrawl.frontier.queue.host_rules import BlockedHosts, KeepingOptions
from rdfcrawl.frontier.queue.inbox import SitemapHosts, StartUrls, WaitingPings
from rdfcrawl.frontier.queue.options import CrawlOptions
from rdfcrawl.frontier.queue.profiles import CrawlMember, SpiderProfiles, keep_settings
from rdfcrawl.frontier.queue.shared_rules import KeptRobots, LeaveList
from rdfcrawl.frontier.queue.tables import FetchedContent, StateStore
from rdfcrawl.frontier.redis.client import raise_intset_limit
from rdfcrawl.frontier.redis.errors import one_line
from rdfcrawl.frontier.redis.server_state import rewrite_torn_logs
from rdfcrawl.frontier.request_turns import WorkerSleep
from rdfcrawl.frontier.worker.host_turns import AddressDelay, HostTurns
from rdfcrawl.frontier.worker.intake import LinkIntake, SeedIntake
from rdfcrawl.frontier.worker.link_scopes import ProfileIngests, WholeDatasets
from rdfcrawl.frontier.worker.worker import FrontierWorker
from rdfcrawl.frontier.worker.worker_state import IntakeHooks, WorkerHooks
from rdfcrawl.rdf.links.policy import EveryLink
from rdfcrawl.stores.crawl_folder import note_run

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CrawlSession:
    """A worker that has joined its crawl; `join` creates it.

    Attributes:
        options: of the crawl, as stored.
        arguments: of the worker's spider, as stored.
        profiles: arguments of all spiders of the crawl.
        run: number of finished runs.
        lost_logs: see `lost_logs.lost_logs`.
        state_store: tables that pages of a source share.
        addresses: addresses of connected hosts.
        keys: politeness keys of hosts.
        blocked: blocked hosts, which get no requests.
        decisions: log of URIs that are not queued; None without one.
        datasets: that are fetched as dumps or from endpoints.
        links: takes the links of documents.
        seeds: takes the seeds of the spider.
    """

    options: CrawlOptions
    arguments: CrawlArguments
    profiles: SpiderProfiles
    run: int
    lost_logs: list[str]
    state_store: StateStore
    addresses: HostAddresses
    keys: HostKeys
    blocked: BlockedHosts
    decisions: DecisionLog | None
    worker: FrontierWorker
    ingests: ProfileIngests
    datasets: WholeDatasets
    links: LinkIntake
    seeds: SeedIntake
    _connection: FrontierConnection
    _clocks: HostClocks
    _leaving: asyncio.Task[None]

    @classmethod
    async def join(
        cls,
        options: CrawlOptions,
        arguments: CrawlArguments,
        settings: BaseSettings,
        hooks: WorkerHooks,
        *,
        member: CrawlMember | None = None,
        request_of: Callable[[str], Record] | None = None,
        link_policy: EveryLink | None = None,
    ) -> Self:
        """Connect to Redis, create or join the crawl, start the worker's tasks.

        Args:
            options: of the worker.
            arguments: of its spider.
            settings: of Scrapy.
            hooks: functions of the scheduler.
            member: the spider as a member of the crawl.
            request_of: returns the record of a pushed seed, for spiders without
                documents.
            link_policy: of the user.

        Raises:
            ConfigError: a setting is wrong, Redis is unusable, or the arguments
                contradict those of the crawl.
        """
        joining = FrontierConnection.joining(options, settings, may_load=True)
        async with joining as connection:
            profiles = SpiderProfiles(connection.frontier, connection.outage)
            frontier, member = connection.frontier, member or CrawlMember()
            if not await frontier.live_workers():  # else another worker has done it
                await rewrite_torn_logs(frontier.redis)
            if arguments.fresh:
                await restart_crawl(frontier, options.paths)
            await frontier.open()
            options = await keep_settings(frontier, options, settings)
            await profiles.enter(member)
            given = hooks, request_of, link_policy
            arguments = profiles.merged(arguments)
            return await cls._open(connection, profiles, options, arguments, *given)

    @classmethod
    async def _open(
        cls,
        connection: FrontierConnection,
        profiles: SpiderProfiles,
        options: CrawlOptions,
        arguments: CrawlArguments,
        hooks: WorkerHooks,
        request_of: Callable[[str], Record] | None,
        link_policy: EveryLink | None,
    ) -> Self:
        frontier, retry = connection.frontier, connection.outage
        lost = await lost_logs(frontier, options)
        await frontier.keep_epochs()
        run = await frontier.begin_run() if options.run is None else options.run
        book = AddressBook(frontier, retry, is_allowed=options.guard.allows_address)
        keys, blocked, decisions = HostKeys(options, book), BlockedHosts(), None
        if options.decisions.share:
            decisions = DecisionLog(options.decisions, options.normal_form)
            frontier.adder.decisions = decisions
        ingests = ProfileIngests(
            frontier,
            options,
            profiles,
            decisions=decisions,
            keys=keys.keys,
            blocked=blocked,
            scores=ScoreBands.open(options.paths.root, options.scores),
            retry=retry,
        )

        async def restore() -> None:
            await frontier.counts()  # checks each partition
            await book.restore()
            await raise_intset_limit(frontier.redis)
            await rewrite_torn_logs(frontier.redis)
            await ingests.restore()

        worker = FrontierWorker(
            frontier,
            options.work,
            hooks,
            outage=retry,
            intake=IntakeHooks(
                take_seeds=lambda: seeds.take_pushed(),  # noqa: PLW0108  (made below)
                prepare=ingests.learn_claimed,
                restore=restore,
                wanted=lambda: ingests.wanted,
            ),
            epoch_log=options.paths.epochs / f"{options.worker}.jsonl",
            run_began_ms=await begin_run(frontier, run),
        )
        state_store = StateStore(frontier.redis, frontier.key, retry)
        datasets = WholeDatasets(state_store, ingests, worker.links, keys.prime)
        links = LinkIntake(
            state=frontier.state,
            ingests=ingests,
            datasets=datasets,
            sender=worker.links,
            keys=keys,
            policy=link_policy,
            decisions=decisions,
        )
        seeds = SeedIntake(
            worker=worker,
            ingests=ingests,
            datasets=datasets,
            links=links,
            keys=keys,
            run=run,
            request_of=request_of,
            start_urls=StartUrls(frontier.redis, options.pushed),
            pings=WaitingPings(frontier.redis, frontier.scripts, options.crawl_id),
            sitemap_hosts=SitemapHosts(state_store),
        )
        leave_list = LeaveList(frontier, blocked, options.leave_hosts)
        await ingests.learn_scopes()
        await datasets.learn()
        connection.opened()
        await profiles.take_up()
        if arguments.retry:
            n = await retry.persistent("retry", frontier.retry, arguments.retry)
            if "unlikely" in arguments.retry:
                await retry.persistent("retry", frontier.forms.forget_shown)
            logger.info("queued %s again that had been given up", counted(n, "URI"))
        await retry.persistent("hosts to leave", leave_list.begin)
        ingests.renew_filters()
        blocked.changed.append(ingests.renew_filters)
        leaving = asyncio.create_task(leave_list.run())
        await worker.open()
        return cls(
            options=options,
            arguments=arguments,
            profiles=profiles,
            run=run,
            lost_logs=lost,
            state_store=state_store,
            addresses=HostAddresses(frontier.redis, frontier.key("wildcards")),
            keys=keys,
            blocked=blocked,
            decisions=decisions,
            worker=worker,
            ingests=ingests,
            datasets=datasets,
            links=links,
            seeds=seeds,
            _connection=connection,
            _clocks=HostClocks(frontier.turns, retry),
            _leaving=leaving,
        )

    @property
    def frontier(self) -> Frontier:
        """The frontier in Redis."""
        return self._connection.frontier

    @property
    def redis(self) -> Redis:
        """The connection to Redis."""
        return self._connection.frontier.redis

    async def close(self, *, forget: bool = False) -> None:
        """Disconnect after the worker; `forget` clears a crawl that is over."""
        self._leaving.cancel()
        await self.addresses.close()
        await self._clocks.close()
        await self.keys.book.close()
        persistent = self._connection.outage.persistent
        try:
            counts = await persistent("counts", self.frontier.counts)
            if counts.is_over or self.worker.is_over:
                await self._end(forget=forget and counts.is_over)
        except RedisError as error:
            if self.worker.gone is None:  # else it was reported
                logger.warning("Redis is unreachable at the end: %s", one_line(error))
        finally:
            await self._connection.close()

    async def _end(self, *, forget: bool) -> None:
        persistent = self._connection.outage.persistent
        if forget:
            await persistent("clear", self.frontier.clear, is_over=True)
        elif self.worker.has_started:  # else seeds may not be queued yet
            await persistent("end the run", self.frontier.end_run, self.run)
            note_run(self.options.paths.quads, self.run, now_ms())

    async def first_urls(
        self, contents: Sequence[FetchedContent], most: int
    ) -> list[str]:
        """Return `FirstContents.look_up`.

        Raises:
            RedisError: Redis is full or unreachable.
        """
        look_up = self.frontier.contents.look_up
        unless_full = self._connection.outage.persistent_unless_full
        return await unless_full("compare contents", look_up, contents, most)

    def turns(self, sleepers: WorkerSleep) -> HostTurns:
        """Return the source of turns for requests, until `sleepers` are stopped."""
        secs, keys = self.options.address_delay_secs, self.keys
        return HostTurns(
            self._clocks,
            self.frontier,
            self.worker,
            sleepers,
            key_of=keys.of,
            prime=keys.prime,
            found=keys.book.found if keys.goes_by_address else None,
            addresses=AddressDelay(secs, keys.book.agreed) if secs > 0 else None,
        )

    def kept_robots(self, options: KeepingOptions) -> KeptRobots:
        """Return the robots.txt rules shared by all workers."""
        return KeptRobots(self.frontier, self._connection.outage, options)
