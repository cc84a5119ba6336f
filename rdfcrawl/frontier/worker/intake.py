"""Intake of links and follow-ups of documents, and of seeds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, TypeVar

from rdfcrawl.core.batches import in_batches
from rdfcrawl.core.errors import Decision
from rdfcrawl.core.records import Document, FollowUp, Record, Urgency
from rdfcrawl.frontier.queue.candidate import Candidate, JudgedLinks, RejectedLinks
from rdfcrawl.frontier.queue.candidate_adder import DecisionLog
from rdfcrawl.frontier.queue.host_addresses import HostKeys
from rdfcrawl.frontier.queue.inbox import (
    PushedSeed,
    SitemapHosts,
    StartUrls,
    WaitingPings,
    follow_up_of,
)
from rdfcrawl.frontier.queue.queued_records import UnqueueableError
from rdfcrawl.frontier.redis.server_state import ServerState
from rdfcrawl.frontier.worker.link_ingest import LINK_BAND
from rdfcrawl.frontier.worker.link_scopes import ProfileIngests, WholeDatasets
from rdfcrawl.frontier.worker.worker import FrontierWorker
from rdfcrawl.frontier.worker.worker_state import LinkSender
from rdfcrawl.rdf.links.policy import EveryLink
from rdfcrawl.uri import BadUri

T = TypeVar("T")
logger = logging.getLogger(__name__)

_BATCH_SIZE: Final = 500


@dataclass(slots=True, kw_only=True, eq=False)
class LinkIntake:
    """Takes the links of documents.

    Attributes:
        state: state of the Redis servers.
        ingests: filter links by the arguments of their spider.
        datasets: datasets whose pages are deferred.
        sender: queues links in batches.
        keys: politeness keys of hosts.
        policy: link policy of the user.
        decisions: log of links that are not queued.
    """

    state: ServerState
    ingests: ProfileIngests
    datasets: WholeDatasets
    sender: LinkSender
    keys: HostKeys
    policy: EveryLink | None
    decisions: DecisionLog | None
    _n_restores: int = 0

    @property
    def rejected(self) -> RejectedLinks:
        """Numbers of links that were not queued, by cause."""
        return self.ingests.own.rejected

    async def room(self) -> None:
        """Wait while there are too many unsent links."""
        await self.sender.room()

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
            self.rejected.nofollow += len(links)
            self._note_links(Decision.NOFOLLOW, links, document)
            return JudgedLinks([], [])
        if self.policy is not None:
            links = self._chosen(document, links, self.policy)
        if self._n_restores != self.state.n_restores:
            # Redis may have lost its latest writes. The parents are crawled again, as
            # their release is lost, too, and their links must be offered again.
            self._n_restores = self.state.n_restores
            self.ingests.forget_recent()
        if self.keys.is_by_address:
            await self.keys.prime(*(x.decode(errors="replace") for x in links))
        record, ingests = document.record, self.ingests
        ingest = ingests.by_profile.get(record.profile) or ingests.own
        if ingest.covered.prefixes:
            ingest.full = self.datasets.full(document)
        judged = ingest.links(links, parent=record, url=document.url, is_last=is_last)
        self.sender.offer(judged.candidates)
        if ingest.deferred:
            await self.datasets.defer(document)
        return judged

    def _chosen(
        self, document: Document, links: AbstractSet[bytes], policy: EveryLink
    ) -> AbstractSet[bytes]:
        urls = [link.decode("utf-8", "surrogateescape") for link in links]
        chosen = policy.choose(document, urls)
        wanted = links & {url.encode("utf-8", "surrogateescape") for url in chosen}
        self._note_links(Decision.NOT_CHOSEN, links - wanted, document)
        return wanted

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
        if document.is_nofollow:  # parts of a source are not links
            wanted = [each for each in follow_ups if each.is_part_of_source]
            self.rejected.nofollow += len(follow_ups) - len(wanted)
            left = [x.record.url for x in follow_ups if not x.is_part_of_source]
            self.note_decision(Decision.NOFOLLOW, left, document.url)
        await self.keys.prime(*(each.record.url for each in wanted))
        ingest = self.ingests.of(document.record)
        ingest.full = self.datasets.full(document)
        judged = ingest.follow_ups(wanted, source_url=document.record.url)
        self.sender.offer(judged.candidates)
        await self.datasets.defer(document)
        return judged

    async def add_now(self, record: Record, follow_up: FollowUp) -> bool:
        """Queue a follow-up of a record that waits for it; return whether it is new.

        While Redis is full, it waits like other links, and the record does not.
        """
        await self.keys.prime(follow_up.record.url)
        ingest = self.ingests.of(record)
        judged = ingest.follow_ups([follow_up], source_url=record.url)
        return await self.sender.add_now(judged.candidates)

    def add_outlinks(self, outlinks: Iterable[Record], known: Iterable[str]) -> None:
        """Offer redirect targets, and URLs that are only marked as seen."""
        ingests = self.ingests
        self.sender.offer(
            ingests.of(record).candidate(record, LINK_BAND) for record in outlinks
        )
        self.sender.offer(ingests.own.seen_only(url) for url in known)

    async def is_new(self, url: str) -> bool:
        """Mark a URL as seen; return whether it was new."""
        await self.keys.prime(url)
        return await self.sender.mark_seen(self.ingests.own.seen_only(url))

    def wants_target(self, record: Record, target: str) -> bool:
        """Return `LinkIngest.wants_target`: the redirect of a record is followed."""
        return self.ingests.of(record).wants_target(record, target)

    def refuses(self, record: Record) -> bool:
        """Return `LinkIngest.refuses`: a queued record is denied."""
        return self.ingests.of(record).refuses(record)


@dataclass(slots=True, kw_only=True, eq=False)
class SeedIntake:
    """Queues seeds, in separate round trips.

    Attributes:
        worker: claims the seeds next.
        ingests: filter seeds, and widen the scope by them.
        datasets: datasets whose pages are deferred.
        links: logs refusals.
        keys: politeness keys of hosts.
        run: number of the run.
        request_of: returns the record of a pushed seed, by its URL and fields, for
            spiders without documents.
        start_urls: seeds pushed to the running crawl.
        pings: pinged sitemaps.
        sitemap_hosts: hosts of each sitemap.
        n_pings_taken: number of pinged sitemaps queued here.
        n_pings_refused: number of pinged sitemaps that no spider wants.
    """

    worker: FrontierWorker
    ingests: ProfileIngests
    datasets: WholeDatasets
    links: LinkIntake
    keys: HostKeys
    run: int
    request_of: Callable[..., Record] | None
    start_urls: StartUrls
    pings: WaitingPings
    sitemap_hosts: SitemapHosts
    n_pings_taken: int = 0
    n_pings_refused: int = 0
    _has_warned: bool = False

    async def add_seeds(self, seeds: Iterable[str]) -> int:
        """Queue seeds, which are requestable URLs; return the number of new ones."""
        n_new, ingest = 0, self.ingests.own
        for group in in_batches(seeds, _BATCH_SIZE):
            await self.ingests.widen(group)
            await self.keys.prime(*group)
            n_new += await self._add("seeds", [ingest.seed(x) for x in group])
        return n_new

    async def add_requests(self, requests: Sequence[tuple[Record, Urgency]]) -> None:
        """Queue requests of the spider; its start requests are seeds."""
        await self.ingests.widen(x.url for x, _ in requests if not x.depth)
        await self.keys.prime(*(record.url for record, _ in requests))
        ingest = self.ingests.own
        await self._add("add requests", [ingest.request(*each) for each in requests])

    async def add_sources(
        self, follow_ups: Sequence[FollowUp], *, widens: bool = True
    ) -> int:
        """Queue the first records of sources; return the number of new ones."""
        urls = [each.record.url for each in follow_ups]
        if widens:
            await self.ingests.widen(urls)
        await self.keys.prime(*urls)
        candidates = self.ingests.own.follow_ups(follow_ups).candidates
        await self.datasets.defer()
        return await self._add("sources", candidates)

    async def _add(self, what: str, candidates: Sequence[Candidate]) -> int:
        worker = self.worker
        added = await worker.persistent(what, worker.frontier.add, candidates)
        worker.links.note_added(candidates)
        return added.new

    async def take_pushed(self) -> int:
        """Queue URLs pushed to the running crawl; return their number."""
        return await self._take_start_urls() + await self._take_pings()

    async def _take_pings(self) -> int:
        """Queue pinged sitemaps; return their number."""
        pings = await self.pings.peek(_BATCH_SIZE)
        if not pings:
            return 0
        ingests = self.ingests
        await ingests.learn_all()
        await self.keys.prime(*pings)
        candidates: list[Candidate] = []
        for url, mark in pings.items():
            if (ingest := ingests.of_source(url)) is None:
                why = ingests.own.refusal(url, 0) or Decision.OUT_OF_SCOPE
                self.links.note_decision(why, [url], "")
                continue
            hosts = await self.sitemap_hosts.of(url)
            pinged = follow_up_of(url, mark, run=self.run, hosts=hosts)
            candidates += ingest.follow_ups([pinged], source_url=url).candidates
        await self._add("pings", candidates)
        await self.pings.forget(pings)
        self.n_pings_taken += len(candidates)
        self.n_pings_refused += len(pings) - len(candidates)
        return len(pings)

    async def _take_start_urls(self) -> int:
        """Queue seeds pushed to the running crawl; return their number."""
        entries = await self.start_urls.peek()
        if not entries:
            await self.ingests.learn_scopes()
            await self.datasets.learn()
            return 0
        pushed = map(self.start_urls.read, entries)
        if self.request_of is None:
            await self.add_seeds(self._requestable(pushed, self._url_alone))
        else:
            found = self._requestable(pushed, self.request_of)
            await self.add_requests([(record, Urgency.SOON) for record in found])
        await self.start_urls.remove(entries)
        return len(entries)

    def _requestable(
        self, pushed: Iterable[PushedSeed], make: Callable[..., T]
    ) -> Iterable[T]:
        ingest = self.ingests.own
        for seed, fields in pushed:
            try:
                found = make(ingest.seed_url(seed), **fields)
            except (BadUri, UnqueueableError, TypeError, ValueError) as fault:
                ingest.rejected.bad += 1
                name = self.start_urls.name
                logger.warning("%s: %r: %s", name, seed[:200], fault)
            else:
                yield found

    def _url_alone(self, url: str, /, **fields: object) -> str:
        if fields and not self._has_warned:
            self._has_warned = True
            logger.warning(
                "%s: %s: no effect: documents are requested by their URL alone",
                self.start_urls.name,
                ", ".join(sorted(fields))[:200],
            )
        return url
