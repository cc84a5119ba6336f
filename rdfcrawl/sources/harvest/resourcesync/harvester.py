"""The harvester of ResourceSync: dispatches responses by the tasks of their records."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from rdfcrawl.core.source_tasks import SyncSearch, SyncStep, SyncTask
from rdfcrawl.downloader.client import HttpRequest
from rdfcrawl.downloader.spool import Spool
from rdfcrawl.sources.harvest.protocol import HarvestContext, Harvester, read_task
from rdfcrawl.sources.harvest.resourcesync.document_reader import DocumentReader
from rdfcrawl.sources.harvest.resourcesync.files import ResourceFiles
from rdfcrawl.sources.harvest.resourcesync.resource_fetcher import ResourceFetcher
from rdfcrawl.sources.harvest.resourcesync.resource_writer import ResourceWriter
from rdfcrawl.sources.harvest.resourcesync.response import SyncResponse
from rdfcrawl.sources.harvest.resourcesync.source_finder import SourceFinder, root_of
from rdfcrawl.sources.harvest.response import note_refused

if TYPE_CHECKING:
    from rdfcrawl.core.records import Document, FollowUp, Record


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
