"""One worker's connection to its crawl: Redis, frontier, worker and intake together."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Literal, Protocol, cast

from redis.exceptions import RedisError

from rdfcrawl.arguments.stored import CrawlMember
from rdfcrawl.errors import passing_fault
from rdfcrawl.frontier.batches import in_batches
from rdfcrawl.frontier.blocked_hosts import BlockedHosts
from rdfcrawl.frontier.deferred import MAX_DEFERRED, DeferredLinks
from rdfcrawl.frontier.dns_cache import AddressBook
from rdfcrawl.frontier.frontier_connection import FrontierConnection, start_anew
from rdfcrawl.frontier.host_turns import HostClocks, HostTurns
from rdfcrawl.frontier.leave_list import LeaveList
from rdfcrawl.frontier.link_ingest import JudgedLinks, LinkIngest
from rdfcrawl.frontier.profiles import SpiderProfiles
from rdfcrawl.frontier.redis_client import raise_intset_limit
from rdfcrawl.frontier.redis_retry import one_line
from rdfcrawl.frontier.shape import keep_settings
from rdfcrawl.frontier.start_urls import StartUrls, seed_of
from rdfcrawl.frontier.state_store import StateStore
from rdfcrawl.frontier.wildcard_dns import HostAddresses
from rdfcrawl.frontier.worker import FrontierWorker
from rdfcrawl.links.filter import CrawlExtent, CrawlScope, LinkFilter
from rdfcrawl.records import Urgency
from rdfcrawl.tasks.pages import DumpPart
from rdfcrawl.uri import BadUri, HostGrouping, PolitenessKey

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from typing import Any, Self

    from scrapy.settings import BaseSettings

    from rdfcrawl.arguments.crawl import CrawlArguments
    from rdfcrawl.errors import StoreFault
    from rdfcrawl.frontier.client import Frontier
    from rdfcrawl.frontier.host_turns import Sleepers
    from rdfcrawl.frontier.options import CrawlOptions
    from rdfcrawl.links.policy import EveryLink
    from rdfcrawl.records import Document, FollowUp, Record, Visit

logger = logging.getLogger(__name__)

_SEEDS_AT_ONCE = 500
_CRAWL = "crawl:"  # stands for the crawl itself where a source is asked for
_COVERED = "covered"  # table: prefix -> dataset


class WorkerTrouble(Protocol):
    """What keeps a worker from its work, and is not a host's fault."""

    @property
    def is_pausing(self) -> bool:
        """Whether no request is made for now."""
        ...

    @property
    def keeps_from_writing(self) -> bool:
        """Whether stores would be tried in vain."""
        ...

    @property
    def put_off_secs(self) -> float:
        """How long a host waits whose document was too much for the disk just now."""
        ...

    def bear(self, fault: StoreFault) -> None:
        """Pause until what could not be written may be tried again."""
        ...


class CrawlSession:
    """Everything that a worker needs of its crawl; `join` makes one.

    Attributes:
        state_store: what the pages of sources know of each other.
        leaving: hosts that nothing is asked of any more.
        neighbours: which hosts have one address.
        trouble: what keeps this worker from asking anybody; set by `FetchServices`.
        request_of: makes a request of a seed that is pushed, for spiders that make no
            documents.
        flowing: gives the tasks whose transfers come forward; set by `FetchServices`.
        goes_by_address: hosts of one address share a delay.
        run: how often the crawl was over before and was run again.
    """

    def __init__(
        self,
        options: CrawlOptions,
        arguments: CrawlArguments,
        link: FrontierConnection,
        member: CrawlMember,
    ) -> None:
        self.options = options
        self.arguments = arguments
        self._member = member
        self.frontier = link.frontier
        self.redis = link.frontier.redis
        self._link = link
        self._persistent = link.outage.persistent
        self._n_restores = 0
        self.state_store = StateStore(self.redis, self.frontier.key, link.outage)
        self.neighbours = HostAddresses(self.redis, self.frontier.key("wildcards"))
        self._deferred = DeferredLinks(self.state_store)
        self.leaving = BlockedHosts()
        self._leave_list = LeaveList(self.frontier, self.leaving, options.leave_hosts)
        self._looking: asyncio.Task[None] | None = None
        self.run = 0
        self.trouble: WorkerTrouble | None = None
        self.request_of: Callable[[str], Record] | None = None
        self.flowing: Callable[[], AbstractSet[object]] = frozenset
        self._start_urls = StartUrls(self.redis, options.crawl_id)
        self._addresses = AddressBook(
            _Agreed(self.frontier, self._persistent),
            is_allowed=lambda address: not options.guard.refuses_address(address),
        )
        self.goes_by_address: bool
        self._keys: PolitenessKey
        self.profiles = SpiderProfiles(link.frontier, link.outage)
        self._scopes: dict[int, CrawlScope] = {}
        self._intakes: dict[int, LinkIngest] = {}
        self.link_policy: EveryLink | None = None  # of the user's
        self.worker: FrontierWorker
        self.clocks: HostClocks
        self.intake: LinkIngest

    @classmethod
    async def join(
        cls,
        options: CrawlOptions,
        arguments: CrawlArguments,
        settings: BaseSettings,
        *,
        member: CrawlMember | None = None,
        flush_stores: Callable[[], Awaitable[None]],
        wake: Callable[[], None],
        figures: Callable[[], dict[str, float]],
        account_for: Callable[[Sequence[Record]], Awaitable[None]],
    ) -> Self:
        """Connect to Redis, create or join the crawl, start the worker's tasks.

        Raises:
            ConfigError: a setting is wrong, Redis cannot be used, or the arguments
                contradict those that the crawl was begun with.
        """
        link = await FrontierConnection.connect(options, settings)
        session = cls(options, arguments, link, member or CrawlMember())
        try:
            with link.explaining():
                await session._open(
                    settings,
                    flush_stores=flush_stores,
                    wake=wake,
                    figures=figures,
                    account_for=account_for,
                )
        except BaseException:
            await link.close()
            raise
        return session

    async def _open(
        self,
        settings: BaseSettings,
        *,
        flush_stores: Callable[[], Awaitable[None]],
        wake: Callable[[], None],
        figures: Callable[[], dict[str, float]],
        account_for: Callable[[Sequence[Record]], Awaitable[None]],
    ) -> None:
        if self.arguments.fresh:
            await start_anew(self.frontier, self.options.paths)
        await self.frontier.open()
        options = self.options = await keep_settings(
            self.frontier, self.options, settings
        )
        self._keys = PolitenessKey(options.keys.grouping, self._addresses.address)
        self.goes_by_address = options.keys.grouping is HostGrouping.IP
        await self.profiles.enter(self._member)
        self.arguments = self.profiles.merged(self.arguments)
        self.worker = FrontierWorker(
            self.frontier,
            options.work,
            outage=self._link.outage,
            flush_stores=flush_stores,
            take_seeds=self._take_start_urls,
            wake=wake,
            figures=figures,
            account_for=account_for,
        )
        self.clocks = HostClocks(self.frontier, self._persistent)
        self.worker.claimer.prepare = self._learn
        self.worker.links.restore_shared = self._restore
        if options.run is None:
            self.run = await self.frontier.begin_run()
        else:
            self.run = options.run
        self.intake = self._intake_of(self.profiles.own)
        await self._learn_scopes()
        await self._learn_covered()
        self._link.opened()
        await self.profiles.take_up()
        await self._retry()
        await self._persistent("hosts to leave", self._leave_list.begin)
        self._leave()
        self.leaving.changed.append(self._leave)
        self._looking = asyncio.create_task(self._leave_list.run())
        await self.worker.open()

    async def _retry(self) -> None:
        """Queue anew what was given up, as far as the operator wants that."""
        if not self.arguments.retry:
            return
        n_queued = await self._persistent(
            "retry", self.frontier.retry, self.arguments.retry
        )
        logger.info("%d URIs that were given up are queued again", n_queued)

    # -- arguments -----------------------------------------------------------------

    def bears(self, error: BaseException, visit: Visit) -> bool:
        """Pause if it is our own system that has refused; tell whether it is.

        Args:
            error: that ended what was done with a document.
            visit: of the document; its host is put off, unless it was a store that
                failed: what else was written is given back, and leaves room.
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
        """Get to know by which arguments records are dealt with, and what is queued."""
        if not self.worker.is_alone:  # else all of them were offered here
            for record in records:  # at once: what Redis may lose from now on is told
                self._intake_for(record).note(record)
        is_new = await self.profiles.learn(records)
        if is_new or any(map(self._is_strange_seed, records)):
            for number in self.profiles.arguments:
                self._intake_of(number)
            await self._learn_scopes()

    def _is_strange_seed(self, record: Record) -> bool:
        """Tell whether a seed is in no scope: another worker has widened it since."""
        scope = self._scopes.get(record.profile)
        if scope is None or record.depth > 0:
            return False
        return not scope.covers(record.url)

    def _intake_of(self, number: int) -> LinkIngest:
        intake = self._intakes.get(number)
        if intake is None:
            arguments = self.profiles.arguments[number]
            budget = arguments.budget
            is_usual = budget == self.options.frontier.budget
            self._scopes[number] = CrawlScope(arguments.scope)
            intake = self._intakes[number] = LinkIngest(
                keys=self._keys,
                normal_form=self.options.normal_form,
                link_filter=self._link_filter(number),
                partitions=self.frontier.partitions,
                max_depth=arguments.depth,
                profile=number,
                budget=None if is_usual else budget,
                beside=next(iter(self._intakes.values()), None),
            )
        return intake

    def _intake_for(self, record: Record) -> LinkIngest:
        return self._intakes.get(record.profile) or self.intake

    async def close(self, *, forget: bool = False) -> None:
        """Let go of Redis; the worker must have been closed.

        Args:
            forget: clear the frontier if the crawl is over.
        """
        if self._looking is not None:
            self._looking.cancel()
        await self.neighbours.close()
        await self.clocks.close()
        await self._addresses.close()
        try:
            if (await self._persistent("counts", self.frontier.counts)).is_over:
                await self._end(forget=forget)
        except RedisError as error:
            if self.worker.gone is None:  # else it was told
                logger.warning("Redis is unreachable at the end: %s", one_line(error))
        finally:
            await self._link.close()

    async def _end(self, *, forget: bool) -> None:
        if forget:
            await self._persistent("clear", self.frontier.clear, is_over=True)
        elif self.worker.has_started:  # else nothing may have been queued yet
            await self._persistent("end the run", self.frontier.end_run, self.run)

    async def _restore(self) -> None:
        """Bring back what Redis may have lost of what all workers share."""
        await self._addresses.restore()
        await raise_intset_limit(self.redis)
        for number, scope in list(self._scopes.items()):
            if scope.extent is not CrawlExtent.ANY and scope.entries:
                name = self.profiles.scope_key(number)
                await self.redis.sadd(name, *scope.entries)

    # -- seeds ---------------------------------------------------------------------

    async def add_seeds(self, seeds: Iterable[str]) -> int:
        """Queue seeds, which are requestable URLs; return how many were new."""
        new = 0
        for group in in_batches(seeds, _SEEDS_AT_ONCE):
            await self._widen_scope(group)
            await self._prime(group)
            candidates = [self.intake.seed(seed) for seed in group]
            added = await self._persistent("seeds", self.frontier.add, candidates)
            self.worker.links.added_at_once(candidates)
            new += added.new
        return new

    async def add_requests(self, requests: Sequence[tuple[Record, Urgency]]) -> None:
        """Queue requests of the spider; those that it begins with are seeds."""
        await self._widen_scope(x.url for x, _ in requests if not x.depth)
        await self._prime(record.url for record, _ in requests)
        candidates = [self.intake.request(*each) for each in requests]
        await self._persistent("add requests", self.frontier.add, candidates)
        self.worker.links.added_at_once(candidates)

    async def add_sources(
        self, follow_ups: Sequence[FollowUp], *, widens: bool = True
    ) -> int:
        """Queue what sources begin with; return how many records were new.

        Args:
            follow_ups: the records.
            widens: the scope of the crawl, to what is around them.
        """
        urls = [each.record.url for each in follow_ups]
        if widens:
            await self._widen_scope(urls)
        await self._prime(urls)
        candidates = self.intake.follow_ups(follow_ups).candidates
        await self._defer()
        added = await self._persistent("sources", self.frontier.add, candidates)
        self.worker.links.added_at_once(candidates)
        return added.new

    async def _widen_scope(self, seeds: Iterable[str]) -> None:
        """Take seeds into the crawl's scope, which all of its workers share."""
        own = self.profiles.own
        scope = self._scopes[own]
        if scope.extent is CrawlExtent.ANY:
            return
        entries = frozenset(map(scope.entry, seeds)) - {""} - scope.entries
        if entries:
            name = self.profiles.scope_key(own)
            await self._persistent("scope", self.redis.sadd, name, *entries)
        await self._learn_scope(own)

    def _leave(self) -> None:
        """Turn away links to hosts that are left alone, and to no others."""
        for number, intake in self._intakes.items():
            intake.narrow(self._link_filter(number))

    async def _learn_scopes(self) -> None:
        """Take over what other workers have added to the scopes meanwhile."""
        for number in list(self._scopes):
            await self._learn_scope(number)

    async def _learn_scope(self, number: int) -> None:
        scope = self._scopes[number]
        if scope.extent is CrawlExtent.ANY:
            return
        name = self.profiles.scope_key(number)
        stored = await self._persistent("read the scope", self.redis.smembers, name)
        everything = frozenset(x.decode() for x in cast("set[bytes]", stored))
        if everything != scope.entries:
            self._scopes[number] = CrawlScope(scope.extent, everything)
            self._intakes[number].narrow(self._link_filter(number))

    def _link_filter(self, number: int) -> LinkFilter:
        arguments = self.profiles.arguments[number]
        return LinkFilter(
            self._scopes[number],
            arguments.allow,
            arguments.deny,
            arguments.domains,
            self.leaving.hosts,
            self.options.trap_limits,
            self.options.schemes,
        )

    async def _take_start_urls(self) -> int:
        """Add what was pushed to the running crawl; return how many there were."""
        entries = await self._start_urls.peek(_SEEDS_AT_ONCE)
        if not entries:
            await self._learn_scopes()
            await self._learn_covered()
            return 0
        urls = self._requestable(map(seed_of, entries))
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
                self.intake.seed(seed)
            except BadUri as fault:
                self.intake.turned.bad += 1
                logger.warning("start_urls: %r: %s", seed[:200], fault)
            else:
                yield seed

    # -- what is taken as a whole ------------------------------------------------------

    async def cover(self, prefixes: Iterable[str], dataset: str) -> None:
        """Leave out URLs with these prefixes: a dataset has them all."""
        prefixes = list(prefixes)
        if not prefixes:
            return
        await self.state_store.put(_CRAWL, _COVERED, dict.fromkeys(prefixes, dataset))
        await self._learn_covered()

    async def uncover(self, prefixes: Sequence[str]) -> bool:
        """Crawl URLs with these prefixes again; return whether all are known still."""
        if not prefixes:
            return True
        await self.state_store.drop(_CRAWL, _COVERED, prefixes)
        await self._learn_covered()
        for prefix in prefixes:
            await self._offer_deferred(prefix)
        return not any([await self._deferred.is_full(x) for x in prefixes])

    async def _offer_deferred(self, prefix: str) -> None:
        """Queue what was put off below a prefix; what another one covers waits on."""
        async for group in self._deferred.groups(prefix):
            await self._prime([each.record.url for each in group])
            self.intake.full = self._deferred.full()
            self.worker.links.offer(self.intake.again(group))
            for other, waiting in self.intake.take_put_off().items():
                await self._deferred.put(other, waiting)
            await self.worker.links.room()

    async def _defer(self, limit: int = MAX_DEFERRED) -> None:
        """Keep what a document has led to and is covered.

        First it is kept, and then looked whether it is still covered: or what is kept
        just after another worker has uncovered the prefix would be forgotten.
        """
        waiting = self.intake.take_put_off()
        if not waiting:
            return
        for prefix, records in waiting.items():
            await self._deferred.put(prefix, records, limit=limit)
        datasets = await self.state_store.get_many(_CRAWL, _COVERED, waiting)
        for prefix, dataset in zip(waiting, datasets, strict=True):
            if dataset is None:
                await self._learn_covered()
                await self._offer_deferred(prefix)

    async def _learn_covered(self) -> None:
        """Take over what other workers have covered meanwhile."""
        found = [
            prefix async for prefix, _ in self.state_store.entries(_CRAWL, _COVERED)
        ]
        if self.intake.covered.prefixes != frozenset(found):
            self.intake.covered.replace(found)
            self._forget_recent()

    def _forget_recent(self) -> None:
        for intake in self._intakes.values():
            intake.forget_recent()

    # -- links ---------------------------------------------------------------------

    def turns_away(self, document: Document, host: bytes, n_links: int) -> bool:
        """Return `LinkIngest.turns_away`: links to the host need not be offered."""
        if document.is_nofollow:
            return False
        record = document.record
        return self._intake_for(record).turns_away(host, n_links, parent=record)

    async def add_links(
        self, document: Document, links: AbstractSet[bytes]
    ) -> JudgedLinks:
        """Offer the links of a document to the frontier; return which went on."""
        if document.is_nofollow:
            self.intake.turned.nofollow += len(links)
            return JudgedLinks([], [])
        if self.link_policy is not None:
            urls = [link.decode("utf-8", "surrogateescape") for link in links]
            chosen = self.link_policy.choose(document, urls)
            links = links & {url.encode("utf-8", "surrogateescape") for url in chosen}
        if self._n_restores != self.frontier.state.n_restores:
            # Redis may have lost what it took last. The parents are crawled again, as
            # it lost their release too, and must find their links forgotten here.
            self._n_restores = self.frontier.state.n_restores
            self._forget_recent()
        if self.goes_by_address:
            await self._prime([link.decode(errors="replace") for link in links])
        record = document.record
        intake = self._intakes.get(record.profile) or self.intake
        if intake.covered.prefixes:
            intake.full = self._deferred.full(_limit_of(document))
        judged = intake.links(links, parent=record, url=document.url)
        self.worker.links.offer(judged.candidates)
        if intake.put_off:
            await self._defer(_limit_of(document))
        return judged

    async def add_follow_ups(
        self, document: Document, follow_ups: Sequence[FollowUp]
    ) -> JudgedLinks:
        """Offer follow-ups of a document to the frontier; return which went on."""
        wanted = follow_ups
        if document.is_nofollow:  # what is a part of the source itself is no link
            wanted = [each for each in follow_ups if each.is_part_of_source]
            self.intake.turned.nofollow += len(follow_ups) - len(wanted)
        await self._prime([each.record.url for each in wanted])
        limit = _limit_of(document)
        intake = self._intake_for(document.record)
        intake.full = self._deferred.full(limit)
        judged = intake.follow_ups(wanted, asked=document.record.url)
        self.worker.links.offer(judged.candidates)
        await self._defer(limit)
        return judged

    def left_out(self, n_not_rdf: int) -> None:
        """Count files of datasets that are declared to be something else than RDF."""
        self.intake.turned.no_rdf += n_not_rdf

    async def begin(self, visit: Visit, what: Literal["asked", "read"]) -> None:
        """Write down what is about to be done with a suspect; see `Frontier.begin`."""
        await self.worker.begin(visit, what)

    async def is_new(self, url: str) -> bool:
        """Mark a URL as seen; return whether it had not been."""
        if self.goes_by_address:
            await self._prime([url])
        return await self.worker.links.mark_seen(self.intake.seen_only(url))

    def wants(self, record: Record, url: str, depth: int) -> bool:
        """Return `LinkIngest.wants`: the URL that a record leads to is followed."""
        return self._intake_for(record).wants(url, depth)

    def wants_target(self, record: Record, target: str) -> bool:
        """Return `LinkIngest.wants_target`: the redirect of a record is followed."""
        return self._intake_for(record).wants_target(record, target)

    def refuses(self, record: Record) -> bool:
        """Tell whether a queued record is denied; see `LinkIngest.refuses`."""
        return self._intake_for(record).refuses(record)

    def turns(self, sleepers: Sleepers) -> HostTurns:
        """Return what gives requests their turns, until `sleepers` are stopped."""
        return HostTurns(
            self.clocks,
            self.frontier,
            self.worker,
            sleepers,
            key_of=self.key_of,
            prime=self.prime,
            found=self._addresses.found if self.goes_by_address else None,
        )

    async def prime(self, url: str) -> None:
        """Look up what `key_of` needs, which cannot wait."""
        await self._prime([url])

    def key_of(self, url: str) -> str:
        """Return the politeness key of a URL; it must have been primed."""
        return self._keys.of(url)

    def add_outlinks(self, outlinks: Iterable[Record], known: Iterable[str]) -> None:
        """Offer redirect targets, and URLs that are only to be marked as seen."""
        self.worker.links.offer(
            self._intake_for(record).redirected(record) for record in outlinks
        )
        self.worker.links.offer(self.intake.seen_only(url) for url in known)

    async def _prime(self, urls: Iterable[str]) -> None:
        if self.goes_by_address:
            await self._addresses.prime(urls)


class _Agreed:
    """The addresses that the workers of a crawl agree on, however Redis fares."""

    def __init__(self, frontier: Frontier, persistent: Callable[..., Any]) -> None:
        self._frontier = frontier
        self._persistent = persistent

    async def addresses(self, hosts: Iterable[str]) -> dict[str, str]:
        """See `SharedAddresses.addresses`."""
        call = partial(self._frontier.addresses, list(hosts))
        found: dict[str, str] = await self._persistent(call, what="read addresses")
        return found

    async def agree(self, found: Mapping[str, str]) -> dict[str, str]:
        """See `SharedAddresses.agree`."""
        call = partial(self._frontier.agree, found)
        agreed: dict[str, str] = await self._persistent(call, what="keep addresses")
        return agreed


def _limit_of(document: Document) -> int:
    """Return how many URLs may wait below a prefix for a document to add to them.

    A dump names all that it covers: it must leave room for what others name.
    """
    is_dump = isinstance(document.record.task, DumpPart)
    return MAX_DEFERRED // 2 if is_dump else MAX_DEFERRED
