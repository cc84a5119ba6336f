"""Statements of sitemaps about other hosts, and confirmation by the hosts.

A dataset with data on other hosts waits until the sitemaps of these hosts are read;
unconfirmed statements are recorded but not followed.

Source: Semantic Sitemaps, first revision, section 2.1.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.codec import decode, encode
from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.core.records import Document, FollowUp, Kind, Record
from rdfcrawl.core.source_tasks import RobotsTask, SourceTask
from rdfcrawl.core.tasks import RevisitedPage
from rdfcrawl.sources.harvest.known_datasets import KnownDataset
from rdfcrawl.sources.sitemaps.access import (
    CrossHostStatement,
    believed,
    claims_about_others,
    is_confirmed,
    ways_to_dataset,
)
from rdfcrawl.sources.sitemaps.description import dataset_iri
from rdfcrawl.sources.sitemaps.entry import may_list
from rdfcrawl.sources.sitemaps.semantic import SitemapDataset, Slicing
from rdfcrawl.uri.hosts import site_of

if TYPE_CHECKING:
    from rdfcrawl.sources.harvest.consent import SitemapConsents
    from rdfcrawl.sources.harvest.discovery import Discovery
    from rdfcrawl.sources.harvest.protocol import HarvestContext
    from rdfcrawl.sources.harvest.response import HarvestedResponse

ROBOTS: Final = "/robots.txt"

# Tables of a site (`site_of`); those of one run have its number in their names.
_OWN: Final = "own"  # its datasets -> run that read them
_STATE: Final = "site"  # `robots` -> run that read it
_READING: Final = "reading"  # in a run: its unread sitemaps
_READ: Final = "done"  # in a run: sitemaps that were read or failed
_WAITING: Final = "waiting"  # in a run: datasets of others about this site
_MAX_DATASETS: Final = 1000  # of one site, and waiting for one
_MAX_SITES: Final = 100  # requested because of one sitemap


class CrossHostChecks:
    """Statements about other hosts, shared by all workers of a crawl.

    Notes stay until the run is over, so a repeated record finds the same state.
    """

    def __init__(self, context: HarvestContext, consents: SitemapConsents) -> None:
        self._store = context.state_store
        self._run = context.run
        self._reading = f"{_READING} {self._run}"
        self._read = f"{_READ} {self._run}"
        self._waiting = f"{_WAITING} {self._run}"
        self._crawl = context.crawl.crawl_id
        self._datasets = context.datasets
        self._trust = context.arguments.trust
        self._consents = consents

    async def mark_robots_read(self, site: str, sitemaps: Iterable[str]) -> None:
        """Note the sitemaps in the robots.txt of a site."""
        for table in (_READING, _READ, _WAITING):
            await self._store.clear(site, f"{table} {self._run - 1}")
        await self.expect(sitemaps, [site])
        await self._store.put(site, _STATE, {"robots": str(self._run)})

    async def expect(self, sitemaps: Iterable[str], sites: Iterable[str]) -> None:
        """Note sitemaps that will be read, for their sites."""
        urls = list(sitemaps)
        for site in sites:
            await self._store.put(site, self._reading, dict.fromkeys(urls, ""))
            # In this order, because a sitemap may be read in the meantime.
            read = await self._store.get_many(site, self._read, urls)
            await self._store.drop(site, self._reading, read)

    async def mark_read(
        self, sitemap: str, sites: Iterable[str], response: HarvestedResponse
    ) -> None:
        """Mark a sitemap that was read or failed."""
        for site in sites:
            await self._store.put(site, self._read, {sitemap: ""})
            await self._store.drop(site, self._reading, [sitemap])
            if not await self._is_known(site):
                continue
            texts = {x async for x, _ in self._store.entries(site, self._waiting)}
            await self._decide_all(sorted(texts), response)

    async def mark_unchanged(
        self, sites: Iterable[str], sitemap: str, response: HarvestedResponse
    ) -> None:
        """Mark a sitemap that has not changed since the last run.

        The data of its datasets may have changed. `sitemap` is its URL after redirects,
        and `response` shows that it is unchanged.
        """
        _add(await self._datasets.of_unchanged(sitemap, response.record), response)
        for site in sites:
            texts = [text async for text, _ in self._of_sitemap(site, sitemap)]
            await self._store.put(site, _OWN, dict.fromkeys(texts, str(self._run)))

    async def withdraw(
        self,
        datasets: Iterable[SitemapDataset],
        sitemap: str,
        response: HarvestedResponse,
        *,
        has_others: bool = False,
    ) -> None:
        """Drop the descriptions by a completely read sitemap, except `datasets`.

        One that has other entries is not empty.
        """
        kept = [dataset_iri(dataset, sitemap) for dataset in datasets]
        found = await self._datasets.withdraw(
            sitemap, kept, response.document, n_others=int(has_others)
        )
        _add(found, response)

    async def prune_after_read(self, sites: Iterable[str], document: Document) -> None:
        """Drop datasets of earlier runs that a sitemap no longer has."""
        for site in sites:
            entries = self._of_sitemap(site, document.response.requested[-1])
            texts = [text async for text, run in entries if run != str(self._run)]
            await self._store.drop(site, _OWN, texts)

    async def _of_sitemap(
        self, site: str, sitemap: str
    ) -> AsyncIterator[tuple[str, str]]:
        """Yield the datasets of a site in one sitemap, and their runs."""
        async for text, run in self._store.entries(site, _OWN):
            if _from_text(text)[1] == sitemap:
                yield text, run

    async def take(
        self,
        datasets: Iterable[SitemapDataset],
        response: HarvestedResponse,
        sites: tuple[str, ...],
        *,
        only_confirms: bool,
    ) -> None:
        """Queue the datasets of a sitemap, or make them wait for other hosts.

        The robots.txt of each of `sites` lists the sitemap. With `only_confirms`, the
        datasets only confirm statements of others.
        """
        texts = [_to_text(x, response.final_url, sites) for x in datasets]
        for site in sites:
            await self._put(site, _OWN, texts, response.log)
        if not only_confirms:
            await self._decide_all(texts, response)

    async def _decide_all(
        self, texts: Iterable[str], response: HarvestedResponse
    ) -> None:
        """Decide about datasets; those with different names share round trips."""
        first: dict[str, str] = {}
        repeated: list[str] = []
        for text in texts:
            dataset, sitemap, _ = _from_text(text)
            if first.setdefault(dataset_iri(dataset, sitemap), text) is not text:
                repeated.append(text)
        await self._store.gather(self._decide(x, response) for x in first.values())
        for text in repeated:
            await self._decide(text, response)

    async def _decide(self, text: str, response: HarvestedResponse) -> None:
        """Queue a dataset, unless the sitemaps of a host in it are not read yet."""
        dataset, sitemap, sites = _from_text(text)
        document = response.document
        refused = await self._refused(text, response)
        if refused is None:
            return
        kept = believed(dataset, refused, response.log)
        response.follow_ups.extend(
            _part(part.url, document) for part in kept.parts_left
        )
        slicings = (endpoint.slicing for endpoint in kept.endpoints)
        known = KnownDataset(
            name=dataset_iri(dataset, sitemap),
            ways=ways_to_dataset(kept, seed=self._crawl),
            prefixes=kept.prefixes,
            samples=kept.samples,
            lastmod=dataset.lastmod,
            changefreq=dataset.changefreq,
            described_by=next(filter(None, slicings), Slicing.CBD),
        )
        found = await self._datasets.register(known, document, source=sitemap)
        _add(found, response)
        if dataset.uri and may_list(dataset.uri, sitemap, sites):
            response.follow_ups.append(self._itself(dataset.uri, document))

    async def _refused(
        self, text: str, response: HarvestedResponse
    ) -> list[CrossHostStatement] | None:
        """Return statements that their hosts do not confirm; None to wait for one."""
        dataset, sitemap, sites = _from_text(text)
        log = response.log
        refused: list[CrossHostStatement] = []
        is_waiting = False
        for claim in claims_about_others(dataset, sitemap, sites):
            site = site_of(claim.url)
            if self._trust.covers(claim.url):
                continue
            # In this order, because the host may be read in the meantime.
            await self._put(site, self._waiting, [text], log)
            is_known = await self._is_known(site)
            if is_confirmed(claim, dataset, sitemap, await self._own(site)):
                continue
            if await self._consents.is_given(site, sitemap):
                continue  # also a sitemap of that site
            if is_known:
                refused.append(claim)
            elif self._request_robots(claim.url, response):
                is_waiting = True
            else:
                log.note(
                    Reason.TOO_MANY_ENTRIES, "hosts in the statements of a sitemap"
                )
                refused.append(claim)
        return None if is_waiting else refused

    def _itself(self, uri: str, document: Document) -> FollowUp:
        """Return the record of the page about a dataset, requested in each run."""
        depth, parent, run = document.record.depth + 1, document.record.url, self._run
        task = RevisitedPage(run)
        page = Record(uri.partition("#")[0], Kind.PAGE, depth, parent, task=task)
        return FollowUp(page, change=f"run {run}" if run else "")

    async def _is_known(self, site: str) -> bool:
        """Return whether all sitemaps of a site are read."""
        if await self._store.get(site, _STATE, "robots") != str(self._run):
            return False
        return await self._store.size(site, self._reading) == 0

    async def _put(
        self, site: str, table: str, texts: Sequence[str], log: FaultLog
    ) -> None:
        """Note datasets of a site, up to a limit."""
        entries = dict.fromkeys(texts, str(self._run))
        for _ in await self._store.put_up_to(site, table, entries, _MAX_DATASETS):
            log.note(Reason.TOO_MANY_ENTRIES, f"datasets of {site}")

    async def _own(self, site: str) -> list[SitemapDataset]:
        return [
            _from_text(text)[0]
            async for text, run in self._store.entries(site, _OWN)
            if run == str(self._run)
        ]

    def _request_robots(self, url: str, response: HarvestedResponse) -> bool:
        """Queue the robots.txt of a site; return whether the limit allows it."""
        scheme, _, rest = url.partition("://")
        origin = f"{scheme}://{rest.partition('/')[0]}"
        task = SourceTask(self._run, payload=RobotsTask(is_confirming=True))
        depth, parent = response.record.depth, response.document.url
        record = Record(origin + ROBOTS, Kind.SITEMAP, depth, parent, task=task)
        requested = {x.record.url for x in response.follow_ups if x.record.task == task}
        if record.url not in requested:
            if len(requested) >= _MAX_SITES:
                return False
            response.follow_ups.append(FollowUp(record, is_part_of_source=True))
        return True


def _add(found: Discovery, response: HarvestedResponse) -> None:
    response.follow_ups.extend(found.follow_ups)
    response.document.faults += found.faults
    response.document.withdrawn += found.withdrawn


def _part(url: str, document: Document) -> FollowUp:
    """Return the record of a part of an otherwise missing dataset."""
    depth, parent = document.record.depth + 1, document.record.url
    return FollowUp(Record(url, Kind.DUMP, depth, parent), is_part_of_source=True)


@dataclass(frozen=True, slots=True)
class ListedDataset:
    """A dataset in the state store.

    `sitemap` is a URL after redirects; the robots.txt of each of `sites` lists it.
    """

    dataset: SitemapDataset
    sitemap: str
    sites: tuple[str, ...]


def _to_text(dataset: SitemapDataset, sitemap: str, sites: tuple[str, ...]) -> str:
    kept = replace(dataset, language="", others=())
    return encode(ListedDataset(kept, sitemap, sites))


def _from_text(text: str) -> tuple[SitemapDataset, str, tuple[str, ...]]:
    listed = decode(text, ListedDataset)
    return listed.dataset, listed.sitemap, listed.sites
