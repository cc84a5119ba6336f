"""Discovery of sources, datasets and further pages in documents."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Final

from rdfcrawl.core import formats
from rdfcrawl.core.content import head_of
from rdfcrawl.core.errors import Reason
from rdfcrawl.core.formats import HTML, Relation
from rdfcrawl.core.records import GONE, Document, FollowUp, Kind, Record, Urgency
from rdfcrawl.core.source_tasks import SourceTask
from rdfcrawl.core.tasks import (
    CollectionPage,
    DumpPart,
    ListedPage,
    PortalFile,
    RefreshedPage,
    RevisitedPage,
)
from rdfcrawl.downloader.client import HttpRequest, conditional_request
from rdfcrawl.frontier.arguments.parsers import DATASETS, DCAT, OAI_PMH
from rdfcrawl.frontier.arguments.seeds import iter_seeds
from rdfcrawl.sources.access import AccessMethod
from rdfcrawl.sources.ckan import portal
from rdfcrawl.sources.harvest.discovery import (
    GUESSES,
    NOTHING_FOUND,
    Discovery,
    DocumentScan,
    combined,
    found,
)
from rdfcrawl.sources.harvest.page_fetches import PageFetches, shortfall_of
from rdfcrawl.sources.sparql import recognition
from rdfcrawl.sources.sparql.recognition import ERROR_STATUSES, PAGE_TYPES, TABLE_TYPES
from rdfcrawl.uri.hosts import origin_of

if TYPE_CHECKING:
    from rdfcrawl.sources.harvest.collections import CollectionPages
    from rdfcrawl.sources.harvest.found_sources import FoundSources
    from rdfcrawl.sources.harvest.protocol import HarvestContext
    from rdfcrawl.sources.harvest.site_offers import SiteOffers


_MAX_ENDPOINTS: Final = 100_000  # named by the operator
_MAX_OFFERS: Final = 100_000  # in memory
_OF_SITES: Final = {*GUESSES, DCAT, Kind.SITEMAP, Kind.RESOURCESYNC}  # in `harvest`
_GUESSED: Final = tuple(GUESSES.values())


class DocumentDiscovery:
    """Runs the discoverers, in the order in which their follow-ups are queued.

    Args:
        context: of the crawl.
        harvest: reads the response of a source; see `Harvester.harvest`.
    """

    def __init__(
        self,
        context: HarvestContext,
        harvest: Callable[[Document], AsyncIterator[Document | FollowUp]],
    ) -> None:
        self._run = context.run
        self.follow = context.arguments.follow
        self._sources = RecognizedSources(context)
        self._context = context
        wanted = context.arguments.harvest
        self._wants_endpoints = Kind.SPARQL in wanted
        self._wants_offers = not _OF_SITES.isdisjoint(wanted)
        self._harvest = harvest
        self._endpoints = context.arguments.endpoints
        self._known_offers: set[str] = set()

    async def find(self, document: Document, scan: DocumentScan) -> Discovery:
        """Return the discoveries in a completely read document, except its links."""
        task, kind = document.record.task, document.record.kind
        response = document.response
        if kind.is_source:
            return await self._of_source(document)
        discoveries = []
        if not document.is_nofollow:
            is_shown = response.error_body or response.media_type in LOOKED_AT
            is_shown = is_shown or document.reading.format is formats.OAI_PMH
            is_seed = self._sources.wants_sitemaps and not document.record.depth
            if is_shown or is_seed or self._sources.wants_lists:  # rare
                discoveries.append(
                    await self._noted(await self._sources.find(document))
                )
            described = NOTHING_FOUND
            if scan.has_any or (self._run and await self._may_withdraw(document)):
                described = await self._described(document, scan)
            if self._wants_offers or document.record.url.endswith(_GUESSED):
                # Datasets come first: known ones make usual places needless.
                has_offers = any(map(_is_offer, described.follow_ups))
                discoveries.append(
                    await self._sites.find(document, has_offers=has_offers)
                )
            discoveries.append(described)
            may_be_page = scan.has_pages or isinstance(task, CollectionPage)
            if not may_be_page and document.reading.format is not HTML:
                # On an HTML page, it is an ordinary link.
                links, listed = document.reading.links, document.listed_links
                may_be_page = bool(links or listed) and any(  # few have any
                    x.relation is Relation.NEXT for x in (*links, *listed)
                )
            if may_be_page and self.follow.wants_datasets:
                discoveries.append(await self._collections.find(document, scan))
        if task is not None or kind is Kind.DUMP:
            discoveries.append(await self._of_task(document))
        if self._context.session.datasets.has_prefixes:
            await self._context.datasets.ways.pages.note(document)
        some = [each for each in discoveries if each is not NOTHING_FOUND]
        return self._without_named(combined(some)) if some else NOTHING_FOUND

    async def _may_withdraw(self, document: Document) -> bool:
        """Return whether an earlier version of a page may have described datasets."""
        task = document.record.task
        if isinstance(task, RevisitedPage | PortalFile):
            return True
        if not isinstance(task, ListedPage | RefreshedPage | CollectionPage):
            return False
        may_withdraw = document.status < 300 or document.status in GONE
        return may_withdraw and self.follow.wants_datasets

    async def _has_moved(self, document: Document) -> bool:
        """Return whether a page is redirected elsewhere than in the last run.

        The place may be a page to log in: the next run believes it, and the former URL
        speaks for itself.
        """
        task = document.record.task
        if isinstance(task, RefreshedPage):
            return task.read_at not in ("", document.url)
        if isinstance(task, CollectionPage):  # the former place is not known
            return document.url != document.record.url
        return bool(await self._fetches.left_by(document))

    async def _of_task(self, document: Document) -> Discovery:
        """Return the records that replace a dump, or the former URL of a page."""
        discovery, task = NOTHING_FOUND, document.record.task
        is_file = document.record.kind is Kind.DUMP or isinstance(task, DumpPart)
        if is_file and (lack := shortfall_of(document)):
            discovery = await self._context.datasets.instead_of_file(document, lack)
        elif isinstance(task, DumpPart) and _is_taken(document):
            discovery = await self._context.datasets.replaced_by(document, task)
        elif isinstance(task, PortalFile) and task.run and not shortfall_of(document):
            discovery = await self._context.datasets.files.read_file(document)
        if isinstance(task, RefreshedPage):
            return discovery + _left_behind(document, task)
        if left := await self._fetches.left_by(document):
            if isinstance(task, DumpPart | PortalFile):
                files = self._context.datasets.files
                withdrawn = await files.withdraw_left(document, left)
                if withdrawn is not None:
                    return discovery + withdrawn
            record = document.record
            further = Record(left, record.kind, record.depth, record.url)
            discovery += found(FollowUp(further, change=f"run {self._run}"))
        return discovery

    async def _of_source(self, document: Document) -> Discovery:
        """Return the records for the site of a source, and for waiting pages."""
        discovery = NOTHING_FOUND
        await self._found.note_offer(document)
        lost = any(fault.reason is Reason.LEASES_LOST for fault in document.faults)
        if lost and document.record.kind is Kind.SITEMAP:  # not harvested
            n_faults = len(document.faults)
            async for part in self._harvest(document):
                if isinstance(part, FollowUp):
                    discovery += found(part)
                else:
                    discovery += Discovery(faults=tuple(part.faults[n_faults:]))
        return discovery

    async def request(self, record: Record) -> HttpRequest | None:
        """Return the conditional request for a page of an earlier run, or None.

        A doubted list of datasets is read once more, even if it is unchanged.
        """
        if self._run and await self._context.datasets.is_doubted(record.url):
            return None
        if isinstance(record.task, RefreshedPage):
            return _refreshing(record, record.task)
        if isinstance(record.task, CollectionPage):
            return await self._collections.request_for(record)
        return await self._fetches.request_for(record)

    async def revisits(self) -> AsyncIterator[list[FollowUp]]:
        """Yield the records that a later run repeats, in batches."""
        if not self._run:
            return
        repeated = (
            self._collections.revisits(),
            self._found.revisits(),
            self._context.datasets.revisits(),
        )
        for groups in repeated:
            async for group in groups:
                yield list(self._without_named(found(*group)).follow_ups)

    async def _noted(self, discovery: Discovery) -> Discovery:
        """Return a discovery, after noting its sources for later runs."""
        if discovery.follow_ups:
            await self._found.note(discovery.follow_ups)
        return discovery

    async def _described(self, document: Document, scan: DocumentScan) -> Discovery:
        """Return the records of the datasets in the statements of a document."""
        findings = scan.accesses.read(document.url)
        if scan.has_services and scan.services.has_some:
            own = scan.services.own_endpoint(document.url)
            replaced = scan.services.replaced(document.url)
            findings = findings.with_service(own, replaced)
        left_out = Discovery(not_rdf=findings.left_out)
        if scan.has_any and scan.accesses.datasets:
            left_out += await self._offered(document, scan.accesses.datasets)
        if not self._wants_endpoints:
            findings = findings.without(AccessMethod.SPARQL)
        if findings.is_empty and (not self._run or await self._has_moved(document)):
            return left_out  # none to withdraw
        datasets = self._context.datasets
        return left_out + await datasets.described(findings, document)

    async def _offered(self, document: Document, urls: Iterable[str]) -> Discovery:
        """Return the documents about the datasets of a page, before other pages."""
        if DATASETS not in self._context.arguments.harvest:
            return NOTHING_FOUND
        record, task = document.record, RevisitedPage(self._run)
        offers = [
            FollowUp(
                Record(url, Kind.PAGE, record.depth + 1, document.url, task=task),
                urgency=Urgency.SOON,
                change=f"run {self._run}" if self._run else "",
            )
            for url in urls
            if url not in self._known_offers
            and url != document.url
            and origin_of(url) == origin_of(document.url)
        ]
        if len(self._known_offers) >= _MAX_OFFERS:
            self._known_offers.clear()
        self._known_offers.update(each.record.url for each in offers)
        return await self._noted(found(*offers))

    def _without_named(self, found: Discovery) -> Discovery:
        """Return a discovery without the endpoints named by the operator."""
        named = self._named_endpoints
        if not named:
            return found
        kept = tuple(
            each
            for each in found.follow_ups
            if each.record.kind is not Kind.SPARQL or each.record.url not in named
        )
        return replace(found, follow_ups=kept)

    @cached_property
    def _fetches(self) -> PageFetches:
        return PageFetches(self._context.state_store)

    @cached_property
    def _found(self) -> FoundSources:
        from rdfcrawl.sources.harvest.found_sources import FoundSources

        return FoundSources(self._context)

    @cached_property
    def _sites(self) -> SiteOffers:
        from rdfcrawl.sources.harvest.site_offers import SiteOffers

        return SiteOffers(self._context, self._found)

    @cached_property
    def _collections(self) -> CollectionPages:
        from rdfcrawl.sources.harvest.collections import CollectionPages

        return CollectionPages(self._context)

    @cached_property
    def _named_endpoints(self) -> frozenset[str]:
        named = islice(iter_seeds(self._endpoints), _MAX_ENDPOINTS)
        return frozenset(x for x in named if isinstance(x, str))


def _is_offer(follow_up: FollowUp) -> bool:
    """Return whether a follow-up is the description of datasets that a page names."""
    return isinstance(follow_up.record.task, RevisitedPage)


def _is_taken(document: Document) -> bool:
    """Return whether the statements of a dump are stored, of this run or the last."""
    return document.status == 304 or document.n_quads > 0


def _refreshing(record: Record, task: RefreshedPage) -> HttpRequest | None:
    return conditional_request(
        record.url, task.etag, task.last_modified, read_at=task.read_at
    )


def _left_behind(document: Document, task: RefreshedPage) -> Discovery:
    """Return the record of the former URL of a page that is now read elsewhere.

    No other record requests that URL, and only its response can say that it is gone.
    """
    status = document.status
    has_response = 200 <= status < 400 and status != 304
    is_gone = task.is_gone(status, document.response.started_ms)
    is_left = task.read_at not in ("", document.url) and task.is_stored
    if not (is_left and (has_response or is_gone)):
        return NOTHING_FOUND
    own = RefreshedPage(is_stored=True, is_left=True)
    parent = document.record
    record = Record(task.read_at, parent.kind, parent.depth, parent.url, task=own)
    return found(FollowUp(record, change=parent.change))


LOOKED_AT: Final = PAGE_TYPES | TABLE_TYPES
_HEAD_BYTES: Final = max(recognition.HEAD_BYTES, portal.LOOKED_AT_BYTES)


_find_list: Final = re.compile(
    rb"<(?:[\w.-]{1,32}:)?(?:urlset|sitemapindex|rss|feed)[\s>]"
).search
_LIST_BYTES: Final = 1024


def _is_list(document: Document) -> bool:
    """Return whether a document is a seed that begins like a sitemap or feed."""
    is_page = document.record.depth or "html" in document.media_type
    return not is_page and bool(_find_list(head_of(document.response, _LIST_BYTES)))


class RecognizedSources:
    """Recognizes the sources of documents, without requests."""

    def __init__(self, context: HarvestContext) -> None:
        harvest = context.arguments.harvest
        self._wanted = frozenset(x for x in harvest if isinstance(x, Kind))
        self.wants_lists = Kind.RESOURCESYNC in harvest  # any page may name a list
        self.wants_sitemaps = Kind.SITEMAP in harvest  # a seed may be one
        self._run = context.run
        self._context = context

    async def find(self, document: Document) -> Discovery:
        """Return the sources of a document, except those replaced by dumps."""
        response = document.response
        is_page = "html" in (response.media_type or "html")
        follow_ups: list[FollowUp] = []
        if self.wants_lists and (response.http_links or is_page):
            from rdfcrawl.sources.harvest.resourcesync import listed_at, named_by

            urls = named_by(document)
            follow_ups += [listed_at(document, url, self._run) for url in urls]
        if document.reading.format is formats.OAI_PMH:
            follow_ups += self._repositories(document)
        depth, task = document.record.depth + 1, SourceTask(self._run)
        for kind, url in _sources_of(document, self._wanted):
            record = Record(url, kind, depth, document.url, task=task)
            is_taken = kind is Kind.SPARQL and (
                await self._context.datasets.is_taken_otherwise(url)
            )
            if not is_taken:
                follow_ups.append(FollowUp(record))
        if is_feed := self.wants_sitemaps and _is_list(document):
            record = Record(document.url, Kind.SITEMAP, depth, document.url, task=task)
            follow_ups.append(FollowUp(record, urgency=Urgency.SOON))
        return replace(found(*follow_ups), is_excused=is_feed)

    def _repositories(self, document: Document) -> list[FollowUp]:
        """Return the first record of a repository, if it is wanted or a seed."""
        from rdfcrawl.sources.harvest.oaipmh import is_of_list, root_of

        record = document.record
        is_seed = not (record.parent or record.depth or record.task)
        is_wanted = is_seed or OAI_PMH in self._context.arguments.harvest
        if not (is_wanted and is_of_list(document.url)):
            return []
        root = root_of(document.url, self._run, is_named=is_seed)
        root = replace(root, depth=record.depth, parent=document.url)
        return [FollowUp(root, is_part_of_source=is_seed)]


def _sources_of(
    document: Document, wanted: AbstractSet[Kind]
) -> Iterator[tuple[Kind, str]]:
    """Yield kinds and URLs of the sources recognized in a response.

    Statements about endpoints are handled by the registry (`datasets`).
    """
    response = document.response
    if response.error_body:
        is_source, head = response.status in ERROR_STATUSES, response.error_body
    else:
        is_source = response.media_type in LOOKED_AT
        head = head_of(response, _HEAD_BYTES) if is_source else b""
        is_page = Kind.CKAN in wanted and response.media_type in PAGE_TYPES
        if head and is_page and (url := portal.recognize(document.url, head)):
            yield Kind.CKAN, url
    if head and is_source and Kind.SPARQL in wanted:
        url = recognition.recognize(
            document.url,
            status=document.status,
            headers={"content-type": document.media_type},
            head=head[: recognition.HEAD_BYTES],
        )
        if url:
            yield Kind.SPARQL, url
