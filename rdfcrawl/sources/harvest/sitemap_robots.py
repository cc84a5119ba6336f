"""The robots.txt of sites, which name their sitemaps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from rdfcrawl.core.records import GONE, Document, FollowUp, Kind, Record, Urgency
from rdfcrawl.core.source_tasks import RobotsTask, SitemapTask, SourceTask
from rdfcrawl.sources.harvest.budgeted_pages import BudgetedPages
from rdfcrawl.sources.harvest.consent import SitemapConsents, sites_of_robots
from rdfcrawl.sources.harvest.cross_host_checks import ROBOTS, CrossHostChecks
from rdfcrawl.sources.harvest.protocol import HarvestContext, has_moved, read_task
from rdfcrawl.sources.harvest.response import (
    HarvestedResponse,
    read_robots,
    robots_instead,
)
from rdfcrawl.sources.harvest.sitemap_reading import (
    SitemapParts,
    SitemapState,
    key_of,
    likely_first,
)
from rdfcrawl.uri import BadUri, requestable
from rdfcrawl.uri.hosts import origin_of, site_of

_MAX_OFFERED: Final = 3  # sitemaps of a host that are read for datasets, with indexes


def root_of(url: str, run: int, *, is_named: bool = True) -> Record:
    """Return the first record of the harvest of a site or a sitemap.

    A site has the URL of its front page or robots.txt.
    """
    origin = origin_of(url)
    is_site = url.removeprefix(origin) in ("", "/", ROBOTS)
    task = SourceTask(run, is_named, RobotsTask() if is_site else None)
    return Record(origin + ROBOTS if is_site else url, Kind.SITEMAP, task=task)


class SitemapRobots:
    """Reads the robots.txt of sites, for their sitemaps and consents."""

    def __init__(
        self,
        context: HarvestContext,
        consents: SitemapConsents,
        checks: CrossHostChecks,
        parts: SitemapParts,
        budgeted: BudgetedPages,
    ) -> None:
        self._run, self._store = context.run, context.state_store
        self._consents, self._checks = consents, checks
        self._parts, self._budgeted = parts, budgeted

    async def take(self, response: HarvestedResponse, task: RobotsTask) -> None:
        """Queue the sitemaps of a site, by default `/sitemap.xml`."""
        origin = origin_of(response.record.url)
        urls = await self.consent(response)
        is_guessed = not (urls or task.only_datasets)
        guesses = [f"{origin}/sitemap.xml"] if is_guessed else []
        if task.only_datasets:
            urls = likely_first(urls)[:_MAX_OFFERED]
        urls = urls or guesses.copy()
        instead = [x.record.url for x in robots_instead(response.document)]
        site = site_of(origin)
        named = SitemapTask(
            robots_hosts=(site,),
            is_confirming=task.is_confirming,
            only_datasets=task.only_datasets,
        )
        if named.wants_entries:
            urls += await self._named_before(response, urls, named)
        await self._checks.mark_robots_read(site, [*urls, *instead])
        await self._budgeted.expect(urls, named)
        await self._budgeted.mark_robots_read(response.record.url, named)
        n_below = _MAX_OFFERED - len(urls) if task.only_datasets else 0
        for url in urls:
            child = replace(named, is_guess=url in guesses, n_below=n_below)
            n_below = 0
            response.follow_ups.append(sitemap_of(response.document, url, child))
        await self._checks.mark_read(response.record.url, [site], response)

    async def _named_before(
        self, response: HarvestedResponse, urls: Iterable[str], named: SitemapTask
    ) -> list[str]:
        """Return the sitemaps that a robots.txt no longer names, for one more visit.

        Only the response of a sitemap can say that it is gone.
        """
        robots, document = response.record.url, response.document
        since_run = (await self._parts.before(robots)).since_run
        await self._store.gather(
            self._parts.note(robots, since_run, url, key_of(url, named)) for url in urls
        )
        if document.status not in (200, *GONE) or document.faults:
            return []
        state = SitemapState(since_run=self._run)
        gone = [part.url async for part in self._parts.gone(robots, since_run)]
        await self._parts.put(robots, state)
        return gone

    async def consent(self, response: HarvestedResponse) -> list[str]:
        """Note the consents in a robots.txt; return the sitemaps in it.

        A site without a response gives no consent, unless another robots.txt is
        requested instead.
        """
        document = response.document
        sitemaps = read_robots(document).sitemaps
        if document.status in GONE:  # not a fault
            document.faults.clear()
        named = list(dict.fromkeys(_requestable(sitemaps, document)))
        if instead := robots_instead(document):
            response.follow_ups.extend(instead)
        elif not has_moved(document):
            sites = sites_of_robots(document)
            await self._consents.mark_robots_read(sites, named, response)
        return named


def sitemap_of(document: Document, url: str, task: SitemapTask) -> FollowUp:
    """Return the record of a sitemap that a document names."""
    record = document.record
    # `is_named` is left out, so that a sitemap has the same record in both cases.
    own = SourceTask(read_task(record).run, payload=task)
    child = Record(url, Kind.SITEMAP, record.depth, record.url, task=own)
    return FollowUp(child, is_part_of_source=True, urgency=Urgency.SOON)


def _requestable(texts: tuple[str, ...], document: Document) -> Iterator[str]:
    for text in texts:
        try:
            yield requestable(text, document.url)
        except BadUri as error:
            document.faults.append(error.fault)
