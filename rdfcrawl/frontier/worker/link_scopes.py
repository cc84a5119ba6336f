"""Scopes and link filters of all spiders of a crawl, and datasets left out.

A scope grows with the seeds. Its entries, and the prefixes of the URLs of datasets, are
in Redis, shared by all workers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, cast

from rdfcrawl.core.records import Document, Record
from rdfcrawl.core.tasks import DumpPart
from rdfcrawl.frontier.queue.bands import ScoreBands
from rdfcrawl.frontier.queue.candidate_adder import DecisionLog
from rdfcrawl.frontier.queue.frontier_client import Frontier
from rdfcrawl.frontier.queue.host_rules import BlockedHosts
from rdfcrawl.frontier.queue.options import CrawlOptions
from rdfcrawl.frontier.queue.profiles import SpiderProfiles
from rdfcrawl.frontier.queue.tables import (
    MAX_DEFERRED,
    DeferredLinks,
    ExcludedPrefixes,
    StateStore,
)
from rdfcrawl.frontier.redis.errors import RedisRetry
from rdfcrawl.frontier.worker.link_ingest import LinkIngest
from rdfcrawl.frontier.worker.worker_state import LinkSender
from rdfcrawl.uri import PolitenessKey
from rdfcrawl.uri.link_filter import CrawlExtent, CrawlScope, LinkFilter

if TYPE_CHECKING:
    from rdfcrawl.frontier.worker.wanted_pages import WantedPages


class ProfileIngests:
    """The `LinkIngest` of each profile, and its scope.

    Attributes:
        wanted: judges pages, if any of the spiders wants certain statements.
    """

    def __init__(
        self,
        frontier: Frontier,
        options: CrawlOptions,
        profiles: SpiderProfiles,
        *,
        keys: PolitenessKey,
        blocked: BlockedHosts,
        scores: ScoreBands | None,
        retry: RedisRetry,
        decisions: DecisionLog | None = None,
    ) -> None:
        self._frontier = frontier
        self._redis = frontier.redis
        self._options = options
        self._profiles = profiles
        self._keys = keys
        self._blocked = blocked
        self._scores = scores
        self.wanted: WantedPages | None = None
        self._retry = retry
        self._decisions = decisions
        self._persistent = retry.persistent
        self._scopes: dict[int, CrawlScope] = {}
        self.by_profile: dict[int, LinkIngest] = {}
        self.own = self._of(profiles.own)

    def of(self, record: Record) -> LinkIngest:
        """Return the ingest of the spider that queued a record, or our own."""
        return self.by_profile.get(record.profile) or self.own

    def _of(self, number: int) -> LinkIngest:
        ingest = self.by_profile.get(number)
        if ingest is None:
            arguments = self._profiles.arguments[number]
            is_usual = arguments.budget == self._options.frontier.budget
            self._scopes[number] = CrawlScope(arguments.scope)
            ingest = self.by_profile[number] = LinkIngest(
                keys=self._keys,
                normal_form=self._options.normal_form,
                link_filter=self._link_filter(number),
                partitions=self._frontier.partitions,
                max_depth=arguments.depth,
                profile=number,
                budget=None if is_usual else arguments.budget,
                shared_with=next(iter(self.by_profile.values()), None),
            )
            ingest.decisions = self._decisions
            ingest.scores = self._scores
            if arguments.want:
                ingest.wanted = self.wanted = self.wanted or self._wanted_pages()
            if self._frontier.epochs.is_scheduled:
                ingest.use_epochs()
        return ingest

    def _wanted_pages(self) -> WantedPages:
        from rdfcrawl.frontier.worker.wanted_pages import WantedPages  # noqa: PLC0415 (few crawls)

        return WantedPages(
            self._frontier,
            self._profiles,
            self._keys,
            self._options.want,
            retry=self._retry,
            decisions=self._decisions,
        )

    def _link_filter(self, number: int) -> LinkFilter:
        arguments = self._profiles.arguments[number]
        return LinkFilter(
            self._scopes[number],
            arguments.allow,
            arguments.deny,
            arguments.domains,
            self._blocked.hosts,
            self._options.trap_limits,
            self._options.schemes,
            self._options.ignored_names,
        )

    def renew_filters(self) -> None:
        """Reject links to blocked hosts, and to no others."""
        for number, ingest in self.by_profile.items():
            ingest.set_filter(self._link_filter(number))

    def forget_recent(self) -> None:
        """Offer all links again, including recent ones."""
        for ingest in self.by_profile.values():
            ingest.forget_recent()

    async def learn_claimed(
        self, records: Sequence[Record], are_of_others: bool
    ) -> None:
        """Load the profiles of claimed records, and scopes that have grown.

        Args:
            records: of the next visits of this worker.
            are_of_others: other workers may have queued them; they are remembered as
                known.
        """
        if are_of_others:
            for record in records:  # before the first await
                self.of(record).note(record)
        is_new = await self._profiles.learn(records)
        if is_new or any(map(self._is_seed_out_of_scope, records)):
            for number in self._profiles.arguments:
                self._of(number)
            await self.learn_scopes()

    async def learn_all(self) -> None:
        """Load the profiles of all spiders of the crawl, and their scopes."""
        await self._profiles.learn_all()
        for number in self._profiles.arguments:
            self._of(number)
        await self.learn_scopes()

    def of_source(self, url: str) -> LinkIngest | None:
        """Return the ingest of a spider that wants a source, preferably our own."""
        known = (self.own, *self.by_profile.values())
        return next(
            (each for each in known if each.link_filter.admits_source(url)), None
        )

    def _is_seed_out_of_scope(self, record: Record) -> bool:
        """Return whether a seed is outside of the scope known here."""
        scope = self._scopes.get(record.profile)
        if scope is None or record.depth > 0:
            return False
        return not scope.covers(record.url)

    async def widen(self, seeds: Iterable[str]) -> None:
        """Add seeds to the scope of this worker's spider."""
        own = self._profiles.own
        scope = self._scopes[own]
        if scope.extent is CrawlExtent.ANY:
            return
        entries = frozenset(map(scope.entry, seeds)) - {""} - scope.entries
        if entries:
            name = self._profiles.scope_key(own)
            await self._persistent("scope", self._redis.sadd, name, *entries)
        await self._learn_scope(own)

    async def learn_scopes(self) -> None:
        """Load entries that other workers have added to the scopes."""
        for number in list(self._scopes):
            await self._learn_scope(number)

    async def _learn_scope(self, number: int) -> None:
        scope = self._scopes[number]
        if scope.extent is CrawlExtent.ANY:
            return
        name = self._profiles.scope_key(number)
        stored = await self._persistent("read the scope", self._redis.smembers, name)
        entries = frozenset(x.decode() for x in cast("set[bytes]", stored))
        if entries != scope.entries:
            self._scopes[number] = CrawlScope(scope.extent, entries)
            self.by_profile[number].set_filter(self._link_filter(number))

    async def restore(self) -> None:
        """Store the scopes again, as Redis may have lost entries."""
        for number, scope in list(self._scopes.items()):
            if scope.extent is not CrawlExtent.ANY and scope.entries:
                name = self._profiles.scope_key(number)
                await self._redis.sadd(name, *scope.entries)


_CRAWL: Final = "crawl:"  # the crawl, in place of a source
# Prefix -> dataset; "" if its data could not be fetched, so that its pages are crawled.
_TABLE: Final = "covered"


class WholeDatasets:
    """Covers URLs by the prefixes of datasets, and defers links to such URLs.

    Attributes:
        has_prefixes: this worker knows a dataset with prefixes.
    """

    def __init__(
        self,
        store: StateStore,
        ingests: ProfileIngests,
        links: LinkSender,
        prime: Callable[..., Awaitable[None]],
    ) -> None:
        self._store = store
        self._deferred = DeferredLinks(store)
        self._ingests = ingests
        self._links = links
        self._prime = prime
        self._released = ExcludedPrefixes()
        self.has_prefixes = False

    async def cover(self, prefixes: Iterable[str], dataset: str) -> None:
        """Skip URLs with these prefixes, which the dataset contains."""
        names = dict.fromkeys(prefixes, dataset)
        if names:
            await self._store.put(_CRAWL, _TABLE, names)
            # Prefixes of other workers are read periodically, as each dataset would
            # read all.
            self._ingests.own.covered.add(names)
            self.has_prefixes = True

    async def uncover(
        self, prefixes: Sequence[str], dataset: str, *, is_forgotten: bool = False
    ) -> bool:
        """Crawl URLs with these prefixes again, unless another dataset covers them.

        Return whether no prefix was removed.
        """
        names = await self._store.get_many(_CRAWL, _TABLE, prefixes)
        prefixes = [x for x in prefixes if names.get(x) in (dataset, "", None)]
        if not prefixes:
            return True
        if is_forgotten:
            await self._store.drop(_CRAWL, _TABLE, prefixes)
        else:
            await self._store.put(_CRAWL, _TABLE, dict.fromkeys(prefixes, ""))
        await self.learn()
        for prefix in prefixes:
            await self._offer(prefix)
        return not any([await self._deferred.is_full(x) for x in prefixes])

    async def learn(self) -> None:
        """Read prefixes that other workers have covered or uncovered."""
        found: dict[bool, set[str]] = {True: set(), False: set()}
        async for prefix, name in self._store.entries(_CRAWL, _TABLE):
            found[bool(name)].add(prefix)
        self._released.replace(found[False])
        self.has_prefixes = any(found.values())
        covered = self._ingests.own.covered
        if covered.prefixes != found[True]:
            covered.replace(found[True])
            self._ingests.forget_recent()

    def prefix_of(self, url: str) -> str:
        """Return the prefix of a covered URL; empty if it is not covered."""
        return self._ingests.own.covered.prefix_of(url)

    async def covered_by(self, prefix: str) -> str:
        """Return the dataset that covers URLs with a prefix; empty if none does."""
        return await self._store.get(_CRAWL, _TABLE, prefix) or ""

    async def released_prefix_of(self, url: str) -> str:
        """Return the prefix of a URL whose dataset could not be fetched; or ""."""
        prefix = self._ingests.own.covered.prefix_of(url)
        prefix = prefix or self._released.prefix_of(url)
        if prefix and await self._store.get(_CRAWL, _TABLE, prefix) == "":
            return prefix
        return ""

    def full(self, document: Document | None = None) -> set[str]:
        """Return the prefixes whose links in a document are no longer deferred."""
        limit = MAX_DEFERRED if document is None else _limit_of(document)
        return self._deferred.full(limit)

    async def defer(self, document: Document | None = None) -> None:
        """Store the covered links of a document.

        They are stored before the check that their prefixes are still covered:
        otherwise, links stored just after another worker uncovers a prefix would be
        lost.
        """
        waiting = self._ingests.own.take_deferred()
        if not waiting:
            return
        limit = MAX_DEFERRED if document is None else _limit_of(document)
        for prefix, records in waiting.items():
            await self._deferred.put(prefix, records, limit=limit)
        datasets = await self._store.get_many(_CRAWL, _TABLE, waiting)
        for prefix in waiting:
            if not datasets.get(prefix):
                await self.learn()
                await self._offer(prefix)

    async def _offer(self, prefix: str) -> None:
        """Queue links deferred under a prefix that no other prefix covers."""
        ingest = self._ingests.own
        async for group in self._deferred.groups(prefix):
            await self._prime(*(each.record.url for each in group))
            ingest.full = self._deferred.full()
            self._links.offer(ingest.uncovered(group))
            for other, waiting in ingest.take_deferred().items():
                await self._deferred.put(other, waiting)
            await self._links.room()


def _limit_of(document: Document) -> int:
    """Return how many URLs of a prefix may be deferred while a document adds some.

    A dump links to everything that it covers, and must leave room for other documents.
    """
    is_dump = isinstance(document.record.task, DumpPart)
    return MAX_DEFERRED // 2 if is_dump else MAX_DEFERRED
