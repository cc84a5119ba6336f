"""Seeds of a spider, and seeds pushed to the running crawl."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.counting import in_batches
from rdfcrawl.core.errors import Decision
from rdfcrawl.core.records import FollowUp, Record, Urgency
from rdfcrawl.frontier.queue.pings import follow_up_of
from rdfcrawl.uri import BadUri

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rdfcrawl.frontier.queue.candidate import Candidate
    from rdfcrawl.frontier.queue.pings import SitemapHosts, WaitingPings
    from rdfcrawl.frontier.queue.start_urls import StartUrls
    from rdfcrawl.frontier.worker.host_keys import HostKeys
    from rdfcrawl.frontier.worker.link_intake import LinkIntake
    from rdfcrawl.frontier.worker.profile_ingests import ProfileIngests
    from rdfcrawl.frontier.worker.whole_datasets import WholeDatasets
    from rdfcrawl.frontier.worker.worker import FrontierWorker

logger = logging.getLogger(__name__)

_BATCH_SIZE: Final = 500


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
        request_of: returns the record of a pushed seed, for spiders without documents.
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
    request_of: Callable[[str], Record] | None
    start_urls: StartUrls
    pings: WaitingPings
    sitemap_hosts: SitemapHosts
    n_pings_taken: int = 0
    n_pings_refused: int = 0

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
        urls = self._requestable(map(self.start_urls.url_of, entries))
        if self.request_of is None:
            await self.add_seeds(urls)
        else:
            requests = [(self.request_of(url), Urgency.SOON) for url in urls]
            await self.add_requests(requests)
        await self.start_urls.remove(entries)
        return len(entries)

    def _requestable(self, seeds: Iterable[str]) -> Iterable[str]:
        ingest = self.ingests.own
        for seed in seeds:
            try:
                url = ingest.seed_url(seed)
            except BadUri as fault:
                ingest.rejected.bad += 1
                logger.warning("start_urls: %r: %s", seed[:200], fault)
            else:
                yield url
