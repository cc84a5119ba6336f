"""ResourceSync as a source: find its description, dispatch its responses.

Tries the description of a site, then its front page and its robots.txt. For a list, the
documents above it are read, because they also name the changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from rdfcrawl.core.content import head_of
from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.records import Document, FollowUp, Kind, Record, Urgency
from rdfcrawl.core.source_tasks import (
    SourceTask,
    SyncCapability,
    SyncMode,
    SyncSearch,
    SyncStep,
    SyncTask,
)
from rdfcrawl.downloader.client import HttpRequest
from rdfcrawl.downloader.spool import Spool
from rdfcrawl.rdf.html.page import ParsedPage
from rdfcrawl.sources.harvest.protocol import HarvestContext, Harvester, read_task
from rdfcrawl.sources.harvest.resourcesync.document_reader import (
    DocumentReader,
    heading_of,
)
from rdfcrawl.sources.harvest.resourcesync.resources import (
    ResourceFetcher,
    ResourceFiles,
    ResourceWriter,
)
from rdfcrawl.sources.harvest.resourcesync.response import SyncResponse
from rdfcrawl.sources.harvest.response import iter_unpacked, note_refused, read_robots
from rdfcrawl.sources.resourcesync.discovery import (
    RELATION,
    of_header,
    of_heading,
    of_page,
    of_site,
    of_sitemaps,
)
from rdfcrawl.sources.resourcesync.documents import DocumentHeading
from rdfcrawl.uri import BadUri, requestable
from rdfcrawl.uri.hosts import origin_of

_ABOVE: Final = frozenset({SyncCapability.DESCRIPTION, SyncCapability.CAPABILITY_LIST})
_HEAD_BYTES: Final = 256 * 1024  # of a page that may name a source
_MAX_SITEMAPS: Final = 100


def root_of(url: str, run: int, *, is_named: bool = True) -> Record:
    """Return the first record of a synchronization.

    `url` is a front page, a document of ResourceSync, or a page that names one.
    """
    is_site = url.removeprefix(origin_of(url)) in ("", "/")
    find = SyncSearch("site" if is_site else "given")
    address = of_site(url).url if is_site else url
    task = SourceTask(run, is_named, payload=find)
    return Record(address, Kind.RESOURCESYNC, task=task)


def described_at(site: str, run: int) -> Record:
    """Return the record of the description that a site may have."""
    task = SourceTask(run, payload=SyncSearch("only"))
    return Record(of_site(site).url, Kind.RESOURCESYNC, task=task)


def listed_at(document: Document, url: str, run: int) -> FollowUp:
    """Return the follow-up for a document of ResourceSync that `document` names."""
    task = SourceTask(run, payload=SyncSearch("list"))
    depth = document.record.depth + 1
    record = Record(url, Kind.RESOURCESYNC, depth, document.url, task=task)
    return FollowUp(record, urgency=Urgency.SOON)


def named_by(document: Document) -> list[str]:
    """Return the ResourceSync links in the HTML head or the HTTP header."""
    urls = []
    response = document.response
    if RELATION in response.http_links.lower():
        urls = [each.url for each in of_header(response.http_links, base=document.url)]
    is_page = not response.media_type or "html" in response.media_type
    head = head_of(response, _HEAD_BYTES) if is_page else b""
    if RELATION.encode() in head.lower():
        page = ParsedPage(
            head,
            url=document.url,
            media_type=document.media_type,
            charset=document.response.charset,
        )
        urls += [each.url for each in of_page(page)]
    return list(dict.fromkeys(urls))


class SourceFinder:
    """Looks for sources; `lists` reads the documents that are found."""

    def __init__(self, lists: DocumentReader) -> None:
        self._lists = lists

    async def harvest(
        self, page: SyncResponse, find: SyncSearch
    ) -> AsyncIterator[Document | FollowUp]:
        """Yield the response, after its content if it is a document of a source."""
        document = page.document
        heading = await asyncio.to_thread(_heading, page)
        if not self._is_readable(page, find, heading):
            yield document
            return
        mode = SyncMode.SYNC
        if page.context.arguments.audit and read_task(page.record).is_named:
            mode = SyncMode.AUDIT
        async for each in self._lists.read(
            page, SyncTask(mode=mode, run=str(page.run))
        ):
            yield each

    def _is_readable(
        self, page: SyncResponse, find: SyncSearch, heading: DocumentHeading | None
    ) -> bool:
        """Return whether to read a response; if not, queue the next search."""
        capability = heading.facts.capability if heading is not None else None
        match find.step:
            case "site" | "above" | "only" if capability in _ABOVE:
                return True
            case "only":
                _excuse(page.document)
            case "site":
                _excuse(page.document)
                self._find(
                    page, origin_of(page.record.first_url) + "/", SyncSearch("page")
                )
            case "above":
                self._find(page, find.below, SyncSearch("below"))
            case "below" if heading is not None:
                return True
            case "list" | "given" if heading is not None and capability is not None:
                return self._is_top(page, heading)
            case "page" | "given":
                return self._page(page, find, heading)
            case "robots":
                self._robots(page)
            case _:
                page.log.note(Reason.BAD_ANSWER, "not a document of ResourceSync")
        return False

    def _is_top(self, page: SyncResponse, heading: DocumentHeading) -> bool:
        """Return whether no document above must be read first; otherwise queue it."""
        above = [x for x in of_heading(heading) if x.expected in _ABOVE]
        if heading.facts.capability in _ABOVE or not above:
            return True
        self._find(page, above[0].url, SyncSearch("above", heading.url))
        return False

    def _page(
        self, page: SyncResponse, find: SyncSearch, heading: DocumentHeading | None
    ) -> bool:
        urls = named_by(page.document)
        for url in urls:
            self._find(page, url, SyncSearch("list"))
        if urls:
            return False
        if find.step == "given":
            if heading is None:
                page.log.note(Reason.BAD_ANSWER, "not a document of ResourceSync")
            return heading is not None  # a plain sitemap also lists resources
        _excuse(page.document)
        self._find(
            page, origin_of(page.record.first_url) + "/robots.txt", SyncSearch("robots")
        )
        return False

    def _robots(self, page: SyncResponse) -> None:
        rules = read_robots(page.document)
        found = of_sitemaps(rules.sitemaps[:_MAX_SITEMAPS], base=page.document.url)
        for each in found:
            self._find(page, each.url, SyncSearch("list"))
        if not found:
            _excuse(page.document)
            page.log.note(Reason.BAD_ANSWER, "a site without ResourceSync")

    def _find(self, page: SyncResponse, url: str, find: SyncSearch) -> None:
        try:
            page.queue(requestable(url), find, Urgency.SOON)
        except BadUri as error:
            page.note(error)


def _heading(page: SyncResponse) -> DocumentHeading | None:
    """Return the heading of a ResourceSync document; None for others."""
    if page.source is None:
        return None
    try:
        for source in iter_unpacked(page.document, page.log):
            return heading_of(source, page.document)
    except SourceFault as error:
        page.note(error)
    return None


def _excuse(document: Document) -> None:
    """Clear the faults of a response if its site only lacks ResourceSync."""
    if 200 <= document.status < 500:
        document.faults.clear()


class ResourceSyncHarvester(Harvester):
    """See `protocol.Harvester`."""

    def __init__(self, context: HarvestContext) -> None:
        self._context = context
        folder = context.options.files
        files = None if folder is None else ResourceFiles(folder)
        spool = Spool(context.crawl.paths.spool, memory_limit_bytes=0)
        self._lists = DocumentReader(ResourceWriter(files, spool))
        self._resources = ResourceFetcher(files)
        self._finder = SourceFinder(self._lists)

    def root(self, url: str, *, is_named: bool = True) -> Record:
        """Return the first record of a synchronization."""
        return root_of(url, self._context.run, is_named=is_named)

    async def request_for(self, record: Record) -> HttpRequest | None:
        """Return a request for the stated media type of a resource, if any."""
        task = read_task(record).payload
        if not isinstance(task, SyncTask) or task.do is not SyncStep.GET:
            return None
        if not task.media_type:
            return None
        # The stated hashes are of one representation.
        return HttpRequest(url=record.url, accept=f"{task.media_type}, */*;q=0.1")

    async def harvest(self, document: Document) -> AsyncIterator[Document | FollowUp]:
        """Yield the new resources in a response, and tombstones of deleted ones."""
        page = SyncResponse(document.harvested(), context=self._context)
        async for each in self._harvest(page):
            if each is page.document:
                note_refused(page, self._context.session)
                page.document.faults += page.log.all()
                for follow_up in page.take_follow_ups():
                    yield follow_up
            yield each
        for follow_up in page.take_follow_ups():
            yield follow_up

    def _harvest(self, page: SyncResponse) -> AsyncIterator[Document | FollowUp]:
        task = read_task(page.record).payload
        if isinstance(task, SyncSearch):
            return self._finder.harvest(page, task)
        if not isinstance(task, SyncTask):
            task = SyncTask()
        match task.do:
            case SyncStep.READ:
                return self._lists.read(page, task)
            case SyncStep.UNPACK:
                return self._lists.unpack(page, task)
            case SyncStep.GET:
                return self._resources.get(page, task)
            case SyncStep.PATCH:
                return self._resources.patch(page, task)
