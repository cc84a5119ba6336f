"""The usual places of the data of a site: VoID, sitemaps, catalogs and ResourceSync."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.content import head_of
from rdfcrawl.core.records import FollowUp, Kind, Record, Urgency
from rdfcrawl.core.source_tasks import SitemapTask
from rdfcrawl.core.tasks import RevisitedPage
from rdfcrawl.frontier.arguments.parsers import DCAT, DCAT_US, VOID
from rdfcrawl.sources import dcat_portals
from rdfcrawl.sources.harvest.discovery import GUESSES, NOTHING_FOUND, Discovery, found
from rdfcrawl.sources.harvest.protocol import read_task
from rdfcrawl.sources.sparql.recognition import PAGE_TYPES
from rdfcrawl.uri import is_of_web
from rdfcrawl.uri.hosts import origin_of, site_of

if TYPE_CHECKING:
    from rdfcrawl.core.records import Document
    from rdfcrawl.sources.harvest.consent import SitemapConsents
    from rdfcrawl.sources.harvest.found_sources import FoundSources
    from rdfcrawl.sources.harvest.protocol import HarvestContext

# The likeliest places of a description of all data come first.
_ORDER: Final = (VOID, Kind.SITEMAP, DCAT_US, Kind.RESOURCESYNC)
_PATHS: Final = {path: word for word, path in GUESSES.items()}
_EXCUSED: Final = Discovery(is_excused=True)
_NOT_THERE: Final = frozenset({401, 403, 404, 406, 410})
_MAX_SITES: Final = 100_000  # in memory


class SiteOffers:
    """Tries the usual places of each site, until a dataset covers some of its pages.

    A place is tried when the one before has been read. Sources: VoID (W3C Note 2011)
    section 7.2 (`/.well-known/void`); RFC 8615; Project Open Data Metadata Schema 1.1.

    Args:
        context: of the crawl.
        found_sources: those that later runs ask again.
    """

    def __init__(self, context: HarvestContext, found_sources: FoundSources) -> None:
        self._context = context
        self._run = context.run
        self._wanted = context.arguments.harvest
        self._found = found_sources
        self._begun: set[str] = set()  # origins
        self._portals: set[str] = set()  # origins whose catalog was requested

    async def find(self, document: Document, *, has_offers: bool) -> Discovery:
        """Return the records for the site of a document.

        Args:
            document: a page, or the response of a usual place.
            has_offers: it names descriptions of datasets, which are read first.
        """
        record, status = document.record, document.response.status
        discovery = NOTHING_FOUND
        if DCAT in self._wanted and origin_of(document.url) not in self._portals:
            discovery = await self._catalog(document)
        is_place = _place_of(record) is not None
        if is_place and status in _NOT_THERE:
            discovery += _EXCUSED
        if is_place or (status and not has_offers):
            discovery += await self.after(record)
        await self._found.note(discovery.follow_ups)
        return discovery

    async def after(self, record: Record) -> Discovery:
        """Return the record for the next usual place of the site of a record."""
        origin, is_named = origin_of(record.first_url), _is_named(record)
        place = None if is_named else _place_of(record)
        is_covered = self._context.session.ingests.own.covered.has_some_of(origin)
        if is_covered or not is_of_web(origin):
            return NOTHING_FOUND
        if place is None:
            if origin in self._begun:
                return NOTHING_FOUND
            _add(self._begun, origin)
        wanted = {VOID} if is_named else self._wanted
        number = 0 if place is None else _ORDER.index(place) + 1
        for word in _ORDER[number:]:
            if word in wanted and (root := await self._root(word, record)):
                follow_up = FollowUp(
                    root,
                    is_part_of_source=is_named,
                    urgency=Urgency.SOON,
                    change=f"run {self._run}" if self._run else "",
                )
                await self._found.note([follow_up])
                return found(follow_up)
        return NOTHING_FOUND

    async def _root(self, word: str | Kind, record: Record) -> Record | None:
        """Return the record for a usual place; None if it is not needed."""
        origin = origin_of(record.first_url)
        is_further = record.kind.is_source or isinstance(record.task, RevisitedPage)
        depth = record.depth + (not is_further)
        if word is Kind.SITEMAP:
            # Otherwise they are read already.
            if await self._consents.has_named_some(site_of(origin)):
                return None
            from rdfcrawl.sources.harvest.sitemap_robots import root_of

            root = root_of(origin, self._run, is_named=False)
        elif word is Kind.RESOURCESYNC:
            if depth > 1:  # not of a site that the operator has named
                return None
            from rdfcrawl.sources.harvest.resourcesync import described_at

            root = described_at(origin, self._run)
        else:
            if word == DCAT_US and await self._is_portal(origin):
                return None
            task = RevisitedPage(self._run)
            root = Record(origin + GUESSES[str(word)], Kind.PAGE, task=task)
        root = replace(root, depth=depth, parent=record.url)
        if _is_named(record):  # a part of the source, whatever links are followed
            return root
        ingest = self._context.session.ingests.of(record)
        return root if ingest.wants(root.url, depth) else None

    @cached_property
    def _consents(self) -> SitemapConsents:
        from rdfcrawl.sources.harvest.consent import SitemapConsents

        return SitemapConsents(self._context)

    async def _catalog(self, document: Document) -> Discovery:
        """Return the record for the catalog of the portal of a document."""
        response, record = document.response, document.record
        if not 200 <= document.status < 300:
            return NOTHING_FOUND
        is_page = response.media_type in PAGE_TYPES
        head = head_of(response, dcat_portals.LOOKED_AT_BYTES) if is_page else b""
        url = dcat_portals.catalog_url(document.url, head)
        is_catalog = url == document.url
        if not url or (is_catalog and not document.n_quads):
            return NOTHING_FOUND
        _add(self._portals, origin_of(url))
        task = RevisitedPage(self._run)
        page = Record(url, Kind.PAGE, record.depth + 1, record.url, task=task)
        change = f"run {self._run}" if self._run else ""
        catalog = FollowUp(page, urgency=Urgency.SOON, change=change)
        if not is_catalog:
            return found(catalog)
        if record.task is None:  # otherwise no later run may read it
            await self._found.note([catalog])
        return NOTHING_FOUND

    async def _is_portal(self, origin: str) -> bool:
        """Return whether the catalog of a site is known."""
        if origin in self._portals:
            return True
        urls = [origin + path for path in dcat_portals.CATALOG_PATHS]
        return DCAT in self._wanted and await self._found.knows_any(Kind.PAGE, urls)


def _is_named(record: Record) -> bool:
    """Return whether a record is of a source that the operator named."""
    return record.kind.is_source and not record.depth


def _place_of(record: Record) -> str | Kind | None:
    """Return the usual place that a record requests; None if it is another record."""
    payload = read_task(record).payload
    if isinstance(payload, SitemapTask):
        return Kind.SITEMAP if payload.is_guess else None
    url = record.first_url
    return _PATHS.get(url.removeprefix(origin_of(url)))


def _add(sites: set[str], origin: str) -> None:
    if len(sites) >= _MAX_SITES:
        sites.clear()
    sites.add(origin)
