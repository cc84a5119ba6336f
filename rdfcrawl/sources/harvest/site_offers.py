"""Sources that a site may have, requested once: sitemaps, VoID, and catalogs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.content import head_of
from rdfcrawl.core.records import FollowUp, Kind, Record, Urgency
from rdfcrawl.core.source_tasks import RobotsTask
from rdfcrawl.core.tasks import RevisitedPage
from rdfcrawl.frontier.arguments.parsers import DCAT, DCAT_US, VOID
from rdfcrawl.sources import dcat_portals
from rdfcrawl.sources.harvest.discovery import GUESSES, NOTHING_FOUND, Discovery, found
from rdfcrawl.sources.harvest.protocol import read_task
from rdfcrawl.sources.sparql.recognition import PAGE_TYPES
from rdfcrawl.uri import is_of_web
from rdfcrawl.uri.hosts import origin_of

if TYPE_CHECKING:
    from rdfcrawl.core.records import Document
    from rdfcrawl.sources.harvest.found_sources import FoundSources
    from rdfcrawl.sources.harvest.protocol import HarvestContext

_PATHS: Final = tuple(GUESSES.values())
_EXCUSED: Final = Discovery(is_excused=True)
_NOT_THERE: Final = frozenset({401, 403, 404, 406, 410})
_MAX_SITES: Final = 100_000  # in memory


class SiteOffers:
    """Requests the sitemaps, VoID and catalog of each discovered site, once.

    The frontier drops repeated records. Sources: VoID (W3C Note 2011) section 7.2
    (`/.well-known/void`); RFC 8615; Project Open Data Metadata Schema 1.1.

    Args:
        context: of the crawl.
        found_sources: those that later runs ask again.
    """

    def __init__(self, context: HarvestContext, found_sources: FoundSources) -> None:
        self._run = context.run
        self._covered = context.session.ingests.own.covered
        wanted = context.arguments.harvest
        self._paths = [path for word, path in GUESSES.items() if word in wanted]
        self._wants_sitemaps = Kind.SITEMAP in wanted
        self._wants_lists = Kind.RESOURCESYNC in wanted
        self._wants_catalogs = DCAT in wanted
        self._found = found_sources
        self._known: set[str] = set()
        self._portals: set[str] = set()  # origins whose catalog was requested

    async def find(self, document: Document) -> Discovery:
        """Return the records for the site of a document, if the site is new."""
        url, status = document.record.url, document.response.status
        is_guess = url.endswith(_PATHS) and url.removeprefix(origin_of(url)) in _PATHS
        if is_guess and status in _NOT_THERE:
            return _EXCUSED
        discovery = NOTHING_FOUND
        if self._wants_catalogs and origin_of(document.url) not in self._portals:
            discovery = await self._catalog(document)
        if status and not is_guess:
            discovery += await self._of_site(document)
        return discovery

    def of_source(self, record: Record) -> Discovery:
        """Return the record for the VoID of a site named by the operator."""
        if record.kind is not Kind.SITEMAP:
            return NOTHING_FOUND
        task = read_task(record)
        if not (task.is_named and task.payload == RobotsTask()):
            return NOTHING_FOUND
        url = origin_of(record.url) + GUESSES[VOID]
        void = self._page(url, record, record.depth)
        return found(replace(void, is_part_of_source=True))

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
        catalog = self._page(url, record, record.depth + 1)
        if not is_catalog:
            return found(replace(catalog, urgency=Urgency.SOON))
        if record.task is None:  # otherwise no later run may read it
            await self._found.note([catalog])
        return NOTHING_FOUND

    async def _of_site(self, document: Document) -> Discovery:
        record = document.record
        origin = origin_of(record.url)
        if origin in self._known or not is_of_web(origin):
            return NOTHING_FOUND
        _add(self._known, origin)
        depth = record.depth + 1
        # Its sitemaps are read before its pages; a known dataset needs no guesses.
        is_known = self._wants_sitemaps and self._covered.has_some_of(origin)
        paths = [] if is_known else await self._guesses(document, origin)
        follow_ups = [self._page(origin + path, record, depth) for path in paths]
        if self._wants_sitemaps:
            from rdfcrawl.sources.harvest.sitemap import root_of

            root = root_of(origin, self._run, is_named=False)
            root = replace(root, depth=depth, parent=record.url)
            follow_ups.append(FollowUp(root, urgency=Urgency.SOON))
        # Of sites that the operator has named.
        if self._wants_lists and not (record.depth or is_known):
            from rdfcrawl.sources.harvest.resourcesync import described_at

            root = described_at(origin, self._run)
            root = replace(root, depth=depth, parent=record.url)
            follow_ups.append(FollowUp(root, urgency=Urgency.SOON))
        return found(*follow_ups)

    async def _guesses(self, document: Document, origin: str) -> list[str]:
        """Return the paths to try; the catalog of a known portal needs no guess."""
        is_portal = origin in self._portals
        if not is_portal and self._wants_catalogs and document.status == 304:
            urls = [origin + path for path in dcat_portals.CATALOG_PATHS]
            is_portal = await self._found.knows_any(Kind.PAGE, urls)
        needless = GUESSES[DCAT_US] if is_portal else ""
        return [path for path in self._paths if path != needless]

    def _page(self, url: str, record: Record, depth: int) -> FollowUp:
        """Return the record for a page that each run reads."""
        page = Record(url, Kind.PAGE, depth, record.url, task=RevisitedPage(self._run))
        return FollowUp(page, change=f"run {self._run}" if self._run else "")


def _add(sites: set[str], origin: str) -> None:
    if len(sites) >= _MAX_SITES:
        sites.clear()
    sites.add(origin)
