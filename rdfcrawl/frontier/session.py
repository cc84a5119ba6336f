"""Connect one worker to its crawl: Redis, frontier, worker tasks and link filters."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Self

from redis.exceptions import RedisError

from rdfcrawl.core.clock import now_ms
from rdfcrawl.core.counting import counted
from rdfcrawl.core.errors import Decision, passing_fault
from rdfcrawl.core.records import Document, FollowUp, Record, Urgency
from rdfcrawl.frontier.arguments.stored import CrawlMember
from rdfcrawl.frontier.frontier_connection import FrontierConnection, start_anew
from rdfcrawl.frontier.lost_logs import lost_logs, warn_of_lost_logs
from rdfcrawl.frontier.queue.blocked_hosts import BlockedHosts
from rdfcrawl.frontier.queue.candidate import JudgedLinks
from rdfcrawl.frontier.queue.decisions import DecisionLog
from rdfcrawl.frontier.queue.dns_cache import AddressBook, HostAddresses
from rdfcrawl.frontier.queue.host_clocks import HostClocks
from rdfcrawl.frontier.queue.kept_robots import KeepingOptions, KeptRobots
from rdfcrawl.frontier.queue.leave_list import LeaveList
from rdfcrawl.frontier.queue.pings import SitemapHosts, WaitingPings, follow_up_of
from rdfcrawl.frontier.queue.profiles import SpiderProfiles, keep_settings
from rdfcrawl.frontier.queue.score_bands import ScoreBands
from rdfcrawl.frontier.queue.start_urls import StartUrls
from rdfcrawl.frontier.queue.state_store import StateStore
from rdfcrawl.frontier.redis.batches import in_batches
from rdfcrawl.frontier.redis.client import raise_intset_limit
from rdfcrawl.frontier.redis.refusals import one_line
from rdfcrawl.frontier.redis.torn_logs import rewrite_torn_logs
from rdfcrawl.frontier.run_start import begin_run
from rdfcrawl.frontier.worker.host_turns import AddressDelay, HostTurns
from rdfcrawl.frontier.worker.link_ingest import LINK_BAND, LinkIngest
from rdfcrawl.frontier.worker.profile_ingests import ProfileIngests
from rdfcrawl.frontier.worker.whole_datasets import WholeDatasets
from rdfcrawl.frontier.worker.worker import FrontierWorker
from rdfcrawl.stores.identity import note_run
from rdfcrawl.uri import BadUri, HostGrouping, PolitenessKey

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from rdfcrawl.core.visits import Visit
    from rdfcrawl.frontier.arguments.crawl import CrawlArguments
    from rdfcrawl.frontier.queue.candidate import Candidate
    from rdfcrawl.frontier.queue.first_contents import FetchedContent
    from rdfcrawl.frontier.queue.options import CrawlOptions
    from rdfcrawl.frontier.worker.sleeping import WorkerSleep
    from rdfcrawl.frontier.worker.worker_state import WorkerHooks, WorkerTrouble
    from rdfcrawl.rdf.links.policy import EveryLink

logger = logging.getLogger(__name__)

_SEEDS_AT_ONCE = 500


class CrawlSession:
    """All that a worker needs of its crawl; `join` makes one."""

    run: int  # number of times that the crawl was finished before
    goes_by_address: bool  # each request goes to the address that its turn is for
    is_keyed_by_address: bool  # hosts of one address have one queue
    worker: FrontierWorker
    ingests: ProfileIngests
    ingest: LinkIngest  # of this worker's spider
    datasets: WholeDatasets  # those that are taken as a whole
    _keys: PolitenessKey
    _clocks: HostClocks
    _blocking: asyncio.Task[None] | None = None

    def __init__(
        self,
        options: CrawlOptions,
        arguments: CrawlArguments,
        connection: FrontierConnection,
        member: CrawlMember,
    ) -> None:
        self.options = options
        self.arguments = arguments
        self.frontier = connection.frontier
        self.redis = connection.frontier.redis
        retry = connection.outage
        # tables that pages of a source share
        self.state_store = StateStore(self.redis, self.frontier.key, retry)
        # addresses that hosts were connected to
        self.addresses = HostAddresses(self.redis, self.frontier.key("wildcards"))
        self.blocked = BlockedHosts()  # hosts that get no requests any more
        # what keeps this worker from requests; set by `FetchServices`
        self.trouble: WorkerTrouble | None = None
        # makes a record of a pushed seed, for spiders without documents
        self.request_of: Callable[[str], Record] | None = None
        # returns the tasks whose transfers make progress; set by `FetchServices`
        self.flowing: Callable[[], AbstractSet[object]] = frozenset
        self.link_policy: EveryLink | None = None  # of the user
        # called with documents whose facts are known
        self.done_documents: list[Callable[[Document], None]] = []
        self.decisions: DecisionLog | None = None  # that URIs are not queued
        self.profiles = SpiderProfiles(self.frontier, retry)
        self._member = member
        self._connection = connection
        self._persistent = retry.persistent
        self._unless_full = retry.persistent_unless_full
        self._n_restores = 0
        self._leave_list = LeaveList(self.frontier, self.blocked, options.leave_hosts)
        self._start_urls = StartUrls(self.redis, options.pushed)
        self._pings = WaitingPings(self.redis, self.frontier.scripts, options.crawl_id)
        self._sitemap_hosts = SitemapHosts(self.state_store)
        self.lost_logs: list[str] = []  # see `lost_logs.lost_logs`
        # pinged sitemaps that were queued here, and that are not wanted
        self.n_pings_taken = self.n_pings_refused = 0
        self._dns = AddressBook(
            self.frontier,
            retry,
            is_allowed=options.guard.allows_address,
        )

    @classmethod
    async def join(
        cls,
        options: CrawlOptions,
        arguments: CrawlArguments,
        settings: BaseSettings,
        hooks: WorkerHooks,
        *,
        member: CrawlMember | None = None,
    ) -> Self:
        """Connect to Redis, create or join the crawl, start the worker's tasks.

        Raises:
            ConfigError: a setting is wrong, Redis cannot be used, or the arguments
                contradict those that the crawl was begun with.
        """
        connection = await FrontierConnection.connect(options, settings, may_load=True)
        session = cls(options, arguments, connection, member or CrawlMember())
        try:
            with connection.explaining():
                await session._open(settings, hooks)
        except BaseException:
            await connection.close()
            raise
        return session

    async def _open(self, settings: BaseSettings, hooks: WorkerHooks) -> None:
        frontier, retry = self.frontier, self._connection.outage
        if not await frontier.live_workers():  # who have seen to it
            await rewrite_torn_logs(self.redis)
        if self.arguments.fresh:
            await start_anew(frontier, self.options.paths)
        await frontier.open()
        self.options = options = await keep_settings(frontier, self.options, settings)
        self._keys = PolitenessKey(options.keys.grouping, self._dns.address)
        self.is_keyed_by_address = options.keys.grouping is HostGrouping.IP
        self.goes_by_address = (
            self.is_keyed_by_address or options.address_delay_secs > 0
        )
        await self.profiles.enter(self._member)
        self.arguments = self.profiles.merged(self.arguments)
        self.lost_logs = await lost_logs(frontier, options, settings)
        warn_of_lost_logs(self.lost_logs)
        await frontier.keep_epochs()
        self.worker = FrontierWorker(
            frontier,
            options.work,
            hooks,
            outage=retry,
            take_seeds=self._take_pushed,
        )
        self.worker.claimer.prepare = self._learn
        self.worker.epochs.log = options.paths.epochs / f"{options.worker}.jsonl"
        self.worker.links.restore_shared = self._restore
        self._clocks = HostClocks(frontier, retry)
        self.run = await frontier.begin_run() if options.run is None else options.run
        self.worker.run_began_ms = await begin_run(frontier, self.run)
        if options.decisions.share:
            self.decisions = DecisionLog(options.decisions, options.normal_form)
            frontier.adder.decisions = self.decisions
        self.ingests = ProfileIngests(
            frontier,
            options,
            self.profiles,
            decisions=self.decisions,
            keys=self._keys,
            blocked=self.blocked,
            scores=ScoreBands.open(options.paths.root, options.scores),
            retry=retry,
        )
        self.ingest = self.ingests.own
        self.datasets = WholeDatasets(
            self.state_store, self.ingests, self.worker.links, self._prime
        )
        await self.ingests.learn_scopes()
        await self.datasets.learn()
        self._connection.opened()
        await self.profiles.take_up()
        await self._retry()
        await self._persistent("hosts to leave", self._leave_list.begin)
        self.ingests.renew_filters()
        self.blocked.changed.append(self.ingests.renew_filters)
        self._blocking = asyncio.create_task(self._leave_list.run())
        await self.worker.open()

    async def _retry(self) -> None:
        if not self.arguments.retry:
            return
        n_queued = await self._persistent(
            "retry", self.frontier.retry, self.arguments.retry
        )
        logger.info("queued %s again that had been given up", counted(n_queued, "URI"))

    def bears(self, error: BaseException, visit: Visit) -> bool:
        """Pause if our own system has refused something; return whether so.

        Args:
            error: that ended the processing of a document.
            visit: of the document. Its host is put off, unless a store has failed:
                then other writes are undone, and leave room.
        """
        fault = passing_fault(error)
        if fault is None or self.trouble is None:
            return False
        self.trouble.bear(fault)
        if fault is not error:
            least = self.trouble.put_off_secs
            visit.not_before_secs = max(visit.not_before_secs, least)
        return True

    def arguments_of(self, record: Record) -> CrawlArguments:
        """Return the arguments of the spider that queued a record."""
        return self.profiles.of(record)

    async def _learn(self, records: Sequence[Record]) -> None:
        """Note claimed records as queued, and read their arguments."""
        if not self.worker.is_alone:  # else all of them were offered here
            for record in records:  # at once: what Redis may lose from now on is told
                self.ingests.of(record).note(record)
        await self.ingests.learn(records)

    async def close(self, *, forget: bool = False) -> None:
        """Disconnect after the worker; `forget` clears a crawl that is over."""
        if self._blocking is not None:
            self._blocking.cancel()
        await self.addresses.close()
        await self._clocks.close()
        await self._dns.close()
        try:
            counts = await self._persistent("counts", self.frontier.counts)
            if counts.is_over or self.worker.is_over:
                await self._end(forget=forget and counts.is_over)
        except RedisError as error:
            if self.worker.gone is None:  # else it was told
                logger.warning("Redis is unreachable at the end: %s", one_line(error))
        finally:
            await self._connection.close()

    async def _end(self, *, forget: bool) -> None:
        if forget:
            await self._persistent("clear", self.frontier.clear, is_over=True)
        elif self.worker.has_started:  # else nothing may have been queued yet
            await self._persistent("end the run", self.frontier.end_run, self.run)
            note_run(self.options.paths.quads, self.run, now_ms())

    async def _restore(self) -> None:
        await self.frontier.counts()  # is each partition there?
        await self._dns.restore()
        await raise_intset_limit(self.redis)
        await rewrite_torn_logs(self.redis)
        await self.ingests.restore()

    async def add_seeds(self, seeds: Iterable[str]) -> int:
        """Queue seeds, which are requestable URLs; return the number of new ones."""
        n_new = 0
        for group in in_batches(seeds, _SEEDS_AT_ONCE):
            await self.ingests.widen(group)
            await self._prime(group)
            n_new += await self._add("seeds", [self.ingest.seed(x) for x in group])
        return n_new

    async def add_requests(self, requests: Sequence[tuple[Record, Urgency]]) -> None:
        """Queue requests of the spider; its start requests are seeds."""
        await self.ingests.widen(x.url for x, _ in requests if not x.depth)
        await self._prime(record.url for record, _ in requests)
        candidates = [self.ingest.request(*each) for each in requests]
        await self._add("add requests", candidates)

    async def add_sources(
        self, follow_ups: Sequence[FollowUp], *, widens: bool = True
    ) -> int:
        """Queue the first records of sources; return the number of new ones."""
        urls = [each.record.url for each in follow_ups]
        if widens:
            await self.ingests.widen(urls)
        await self._prime(urls)
        candidates = self.ingest.follow_ups(follow_ups).candidates
        await self.datasets.defer()
        return await self._add("sources", candidates)

    async def _add(self, what: str, candidates: Sequence[Candidate]) -> int:
        added = await self._persistent(what, self.frontier.add, candidates)
        self.worker.links.added_at_once(candidates)
        return added.new

    async def _take_pushed(self) -> int:
        """Queue what was pushed to the running crawl; return how much."""
        return await self._take_start_urls() + await self._take_pings()

    async def _take_pings(self) -> int:
        """Queue pinged sitemaps; return their number."""
        pings = await self._pings.peek(_SEEDS_AT_ONCE)
        if not pings:
            return 0
        await self.ingests.learn_all()
        await self._prime(pings)
        candidates: list[Candidate] = []
        for url, mark in pings.items():
            if (ingest := self.ingests.of_source(url)) is None:
                why = self.ingest.refusal(url, 0) or Decision.OUT_OF_SCOPE
                self.note_decision(why, [url], "")
                continue
            hosts = await self._sitemap_hosts.of(url)
            pinged = follow_up_of(url, mark, run=self.run, hosts=hosts)
            candidates += ingest.follow_ups([pinged], asked=url).candidates
        await self._add("pings", candidates)
        await self._pings.forget(pings)
        self.n_pings_taken += len(candidates)
        self.n_pings_refused += len(pings) - len(candidates)
        return len(pings)

    async def _take_start_urls(self) -> int:
        """Queue seeds pushed to the running crawl; return their number."""
        entries = await self._start_urls.peek()
        if not entries:
            await self.ingests.learn_scopes()
            await self.datasets.learn()
            return 0
        urls = self._requestable(map(self._start_urls.url_of, entries))
        if self.request_of is None:
            await self.add_seeds(urls)
        else:
            requests = [(self.request_of(url), Urgency.SOON) for url in urls]
            await self.add_requests(requests)
        await self._start_urls.remove(entries)
        return len(entries)

    def _requestable(self, seeds: Iterable[str]) -> Iterable[str]:
        for seed in seeds:
            try:
                self.ingest.seed(seed)
            except BadUri as fault:
                self.ingest.rejected.bad += 1
                logger.warning("start_urls: %r: %s", seed[:200], fault)
            else:
                yield seed

    def turns_away(self, document: Document, host: bytes, n_links: int) -> bool:
        """Return `LinkIngest.turns_away`: links to the host need not be offered."""
        if document.is_nofollow:
            return False
        record = document.record
        return self.ingests.of(record).turns_away(host, n_links, parent=record)

    async def add_links(
        self, document: Document, links: AbstractSet[bytes], *, is_last: bool = False
    ) -> JudgedLinks:
        """Offer the links of a document to the frontier; return the candidates.

        With `is_last`, they are queued behind the others of their hosts.
        """
        if document.is_nofollow:
            self.ingest.rejected.nofollow += len(links)
            self._note_links(Decision.NOFOLLOW, links, document)
            return JudgedLinks([], [])
        if self.link_policy is not None:
            urls = [link.decode("utf-8", "surrogateescape") for link in links]
            chosen = self.link_policy.choose(document, urls)
            wanted = links & {url.encode("utf-8", "surrogateescape") for url in chosen}
            self._note_links(Decision.NOT_CHOSEN, links - wanted, document)
            links = wanted
        if self._n_restores != self.frontier.state.n_restores:
            # Redis may have lost what it took last. The parents are crawled again, as
            # it lost their release too, and must find their links forgotten here.
            self._n_restores = self.frontier.state.n_restores
            self.ingests.forget_recent()
        if self.is_keyed_by_address:
            await self._prime([link.decode(errors="replace") for link in links])
        record = document.record  # `ingests.of`, for the hot path
        ingest = self.ingests.by_profile.get(record.profile) or self.ingest
        if ingest.covered.prefixes:
            ingest.full = self.datasets.full(document)
        judged = ingest.links(links, parent=record, url=document.url, is_last=is_last)
        self.worker.links.offer(judged.candidates)
        if ingest.deferred:
            await self.datasets.defer(document)
        return judged

    def _note_links(
        self, why: Decision, links: Iterable[bytes], document: Document
    ) -> None:
        if self.decisions is not None:
            urls = (link.decode(errors="replace") for link in links)
            self.decisions.note(why, urls, document.url)

    def note_decision(self, why: Decision, urls: Iterable[str], parent: str) -> None:
        """Log why URLs of a document are not queued, if decisions are logged."""
        if self.decisions is not None:
            self.decisions.note(why, urls, parent)

    async def add_follow_ups(
        self, document: Document, follow_ups: Sequence[FollowUp]
    ) -> JudgedLinks:
        """Offer follow-ups of a document to the frontier; return the candidates."""
        wanted = follow_ups
        if document.is_nofollow:  # what is a part of the source itself is no link
            wanted = [each for each in follow_ups if each.is_part_of_source]
            self.ingest.rejected.nofollow += len(follow_ups) - len(wanted)
            left = [x.record.url for x in follow_ups if not x.is_part_of_source]
            self.note_decision(Decision.NOFOLLOW, left, document.url)
        await self._prime([each.record.url for each in wanted])
        ingest = self.ingests.of(document.record)
        ingest.full = self.datasets.full(document)
        judged = ingest.follow_ups(wanted, asked=document.record.url)
        self.worker.links.offer(judged.candidates)
        await self.datasets.defer(document)
        return judged

    def add_outlinks(self, outlinks: Iterable[Record], known: Iterable[str]) -> None:
        """Offer redirect targets, and URLs that are only to be marked as seen."""
        self.worker.links.offer(
            self.ingests.of(record).candidate(record, LINK_BAND) for record in outlinks
        )
        self.worker.links.offer(self.ingest.seen_only(url) for url in known)

    async def is_new(self, url: str) -> bool:
        """Mark a URL as seen; return whether the URL was new."""
        await self._prime([url])
        return await self.worker.links.mark_seen(self.ingest.seen_only(url))

    async def first_urls(
        self, contents: Sequence[FetchedContent], most: int
    ) -> list[str]:
        """Return `FirstContents.ask`.

        Raises:
            RedisError: Redis is full, or unreachable to the end.
        """
        ask = self.frontier.contents.ask
        return await self._unless_full("compare contents", ask, contents, most)

    def wants_target(self, record: Record, target: str) -> bool:
        """Return `LinkIngest.wants_target`: the redirect of a record is followed."""
        return self.ingests.of(record).wants_target(record, target)

    def refuses(self, record: Record) -> bool:
        """Return `LinkIngest.refuses`: a queued record is denied."""
        return self.ingests.of(record).refuses(record)

    def turns(self, sleepers: WorkerSleep) -> HostTurns:
        """Return the source of turns for requests, until `sleepers` are stopped."""
        secs = self.options.address_delay_secs
        return HostTurns(
            self._clocks,
            self.frontier,
            self.worker,
            sleepers,
            key_of=self.key_of,
            prime=self.prime,
            found=self._dns.found if self.goes_by_address else None,
            addresses=AddressDelay(secs, self._dns.agreed) if secs > 0 else None,
        )

    def kept_robots(self, options: KeepingOptions) -> KeptRobots:
        """Return the rules of origins that all workers know."""
        return KeptRobots(self.frontier, self._connection.outage, options)

    def key_of(self, url: str) -> str:
        """Return the politeness key of a URL that was primed."""
        return self._keys.of(url)

    async def prime(self, url: str) -> None:
        """Look up the address of a URL's host, if `key_of` needs one."""
        await self._prime([url])

    async def _prime(self, urls: Iterable[str]) -> None:
        if self.is_keyed_by_address:
            await self._dns.prime(urls)
