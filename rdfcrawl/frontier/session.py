"""The membership of a worker in its crawl: connected, complete once joined."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from time import monotonic
from typing import Final, Self

from redis.asyncio import Redis
from redis.exceptions import RedisError
from scrapy.settings import BaseSettings

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.messages import counted
from rdfcrawl.core.records import Kind, Record
from rdfcrawl.core.times import now_ms
from rdfcrawl.core.visits import Visit
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

_HOST_BUDGET: Final = f"fault/{Reason.HOST_BUDGET}"
_DOMAIN_BUDGET: Final = f"fault/{Reason.DOMAIN_BUDGET}"
_OTHERS_SECS: Final = 5.0  # for requests that only workers of another spider process


@dataclass(frozen=True, slots=True)
class CrawlRun:
    """The run of a crawl that a worker begins or joins.

    Attributes:
        number: of finished runs.
        began_ms: when its first worker began, Unix time in ms.
        lost_logs: see `connection.lost_logs`.
        decisions: log of URIs that are not queued; None without one.
    """

    number: int
    began_ms: int
    lost_logs: list[str]
    decisions: DecisionLog | None

    @classmethod
    async def begin(cls, frontier: Frontier, options: CrawlOptions) -> Self:
        """Begin or join the run, and queue the owed URIs of earlier ones."""
        lost = await lost_logs(frontier, options)
        await frontier.keep_epochs()
        number = await frontier.begin_run() if options.run is None else options.run
        decisions = None
        if options.decisions.share:
            decisions = DecisionLog(options.decisions, options.normal_form)
            frontier.adder.decisions = decisions
        return cls(number, await begin_run(frontier, number), lost, decisions)


class CrawlSession:
    """A worker that has joined its crawl; `join` creates it.

    Attributes:
        options: of the crawl, as stored.
        arguments: of the worker's spider, as stored.
        profiles: arguments of all spiders of the crawl.
        run: number of finished runs.
        lost_logs: see `CrawlRun`.
        state_store: tables that pages of a source share.
        addresses: addresses of connected hosts.
        keys: politeness keys of hosts.
        blocked: blocked hosts, which get no requests.
        decisions: log of URIs that are not queued; None without one.
        datasets: that are fetched as dumps or from endpoints.
        links: takes the links of documents.
        seeds: takes the seeds of the spider.
    """

    def __init__(
        self,
        connection: FrontierConnection,
        profiles: SpiderProfiles,
        options: CrawlOptions,
        arguments: CrawlArguments,
        run: CrawlRun,
        hooks: WorkerHooks,
        request_of: Callable[..., Record] | None,
        link_policy: EveryLink | None,
    ) -> None:
        frontier, retry = connection.frontier, connection.outage
        self.options, self.arguments, self.profiles = options, arguments, profiles
        self.run, self.lost_logs = run.number, run.lost_logs
        self._connection = connection
        self._clocks = HostClocks(frontier.turns, retry)
        self._tasks: list[asyncio.Task[None]] = []
        self.addresses = HostAddresses(frontier.redis, frontier.key("wildcards"))
        self.state_store = StateStore(frontier.redis, frontier.key, retry)
        book = AddressBook(frontier, retry, is_allowed=options.guard.allows_address)
        self.keys, self.blocked = HostKeys(options, book), BlockedHosts()
        self.decisions = run.decisions
        self.ingests = self._new_ingests()
        self.worker = self._new_worker(hooks, run.began_ms)
        sender = self.worker.links
        self.datasets = WholeDatasets(
            self.state_store, self.ingests, sender, self.keys.prime
        )
        self.links = LinkIntake(
            state=frontier.state,
            ingests=self.ingests,
            datasets=self.datasets,
            sender=sender,
            keys=self.keys,
            policy=link_policy,
            decisions=self.decisions,
        )
        self.seeds = self._new_seeds(request_of)

    def _new_ingests(self) -> ProfileIngests:
        options = self.options
        return ProfileIngests(
            self.frontier,
            options,
            self.profiles,
            decisions=self.decisions,
            keys=self.keys.keys,
            blocked=self.blocked,
            scores=ScoreBands.open(options.paths.root, options.scores),
            retry=self._connection.outage,
        )

    def _new_worker(self, hooks: WorkerHooks, run_began_ms: int) -> FrontierWorker:
        ingests, paths = self.ingests, self.options.paths
        return FrontierWorker(
            self.frontier,
            self.options.work,
            hooks,
            outage=self._connection.outage,
            intake=IntakeHooks(
                take_seeds=lambda: self.seeds.take_pushed(),  # noqa: PLW0108  (made later)
                prepare=ingests.learn_claimed,
                restore=self._restore,
                wanted=lambda: ingests.wanted,
            ),
            epoch_log=paths.epochs / f"{self.options.worker}.jsonl",
            run_began_ms=run_began_ms,
        )

    def _new_seeds(self, request_of: Callable[..., Record] | None) -> SeedIntake:
        frontier, options = self.frontier, self.options
        return SeedIntake(
            worker=self.worker,
            ingests=self.ingests,
            datasets=self.datasets,
            links=self.links,
            keys=self.keys,
            run=self.run,
            request_of=request_of,
            start_urls=StartUrls(frontier.redis, options.pushed),
            pings=WaitingPings(frontier.redis, frontier.scripts, options.crawl_id),
            sitemap_hosts=SitemapHosts(self.state_store),
        )

    async def _restore(self) -> None:
        """Bring a server up to date that has lost its memory."""
        frontier = self.frontier
        await frontier.counts()  # checks each partition
        await self.keys.book.restore()
        await raise_intset_limit(frontier.redis)
        await rewrite_torn_logs(frontier.redis)
        await self.ingests.restore()

    @classmethod
    async def join(
        cls,
        options: CrawlOptions,
        arguments: CrawlArguments,
        settings: BaseSettings,
        hooks: WorkerHooks,
        *,
        member: CrawlMember | None = None,
        request_of: Callable[..., Record] | None = None,
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
            arguments = profiles.merged(arguments)
            run = await CrawlRun.begin(frontier, options)
            session = cls(
                *(connection, profiles, options, arguments, run),
                *(hooks, request_of, link_policy),
            )
            await session._begin()
            return session

    async def _begin(self) -> None:
        """Learn the state of the crawl, queue what is to be retried, and begin work."""
        frontier, retry = self.frontier, self._connection.outage
        leave_list = LeaveList(frontier, self.blocked, self.options.leave_hosts)
        await self.ingests.learn_scopes()
        await self.datasets.learn()
        self._connection.opened()
        await self.profiles.take_up()
        if wanted := self.arguments.retry:
            n = await retry.persistent("retry", frontier.retry, wanted)
            if "unlikely" in wanted:
                await retry.persistent("retry", frontier.forms.forget_shown)
            logger.info("queued %s again that had been given up", counted(n, "URI"))
        await retry.persistent("hosts to leave", leave_list.begin)
        self.ingests.renew_filters()
        self.blocked.changed.append(self.ingests.renew_filters)
        self._tasks.append(asyncio.create_task(leave_list.run()))
        await self.worker.open()

    @property
    def frontier(self) -> Frontier:
        """The frontier in Redis."""
        return self._connection.frontier

    @property
    def redis(self) -> Redis:
        """The connection to Redis."""
        return self._connection.frontier.redis

    @property
    def has_other_spiders(self) -> bool:
        """Whether spiders with other arguments take part in the crawl."""
        return len(self.profiles.arguments) > 1

    def leave_to_others(self, visit: Visit) -> None:
        """Put back requests of other spiders, whose callbacks are not here."""
        if not self.has_other_spiders:
            return
        for index in list(visit.pending):
            record = visit.records[index]
            if record.kind is Kind.REQUEST and record.profile != self.profiles.own:
                if not self.worker.left_to_others:
                    logger.warning("requests of other spiders wait for their workers")
                visit.give_back([index])
                visit.behind.add(index)
                visit.not_before_secs = max(visit.not_before_secs, _OTHERS_SECS)
                until = monotonic() + 2 * _OTHERS_SECS
                self.worker.left_to_others[visit.partition] = until

    def over_budget(self) -> dict[str, float]:
        """Return the statistics of URIs that this worker found beyond a budget."""
        added = self.worker.added
        counts = {_HOST_BUDGET: added.over_host, _DOMAIN_BUDGET: added.over_domain}
        return {name: n for name, n in counts.items() if n}

    def statistics(self) -> dict[str, float]:
        """Return the statistics of this worker, at its end."""
        worker, wanted = self.worker, self.ingests.wanted
        if_any = {
            "frontier/failed": worker.n_failed,
            "frontier/owed": worker.n_owed,
            "frontier/closed": worker.n_closed,
            "frontier/unlikely": wanted.n_unlikely if wanted else 0,
            "frontier/wildcards": self.addresses.n_wildcards,
            "ping/taken": self.seeds.n_pings_taken,
            "ping/refused": self.seeds.n_pings_refused,
            "frontier/epochs": worker.epochs.n_begun,
            "frontier/granted": worker.epochs.n_granted,
        }
        return {
            "frontier/new": worker.added.new,
            "frontier/seen": worker.added.seen,
            "frontier/lost_leases": worker.committer.lost_leases,
            **{f"link/{cause}": n for cause, n in asdict(self.links.rejected).items()},
            **{name: n for name, n in if_any.items() if n},
            **self.over_budget(),
        }

    async def close(self, *, forget: bool = False) -> None:
        """Disconnect after the worker; `forget` clears a crawl that is over."""
        for task in self._tasks:
            task.cancel()
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
        worker = self.worker
        return KeptRobots(
            self.frontier,
            self._connection.outage,
            options,
            is_alone=lambda: worker.is_alone,
        )
