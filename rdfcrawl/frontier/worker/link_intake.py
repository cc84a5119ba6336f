"""Filter links and follow-ups of documents, and add them to the frontier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import Decision
from rdfcrawl.frontier.queue.candidate import JudgedLinks, RejectedLinks
from rdfcrawl.frontier.worker.link_ingest import LINK_BAND

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from rdfcrawl.core.records import Document, FollowUp, Record
    from rdfcrawl.frontier.queue.decisions import DecisionLog
    from rdfcrawl.frontier.redis.server_state import ServerState
    from rdfcrawl.frontier.worker.host_keys import HostKeys
    from rdfcrawl.frontier.worker.link_sender import LinkSender
    from rdfcrawl.frontier.worker.profile_ingests import ProfileIngests
    from rdfcrawl.frontier.worker.whole_datasets import WholeDatasets
    from rdfcrawl.rdf.links.policy import EveryLink


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
