"""The discovered sources of a crawl, which later runs ask again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.records import FollowUp, Kind, Record
from rdfcrawl.core.source_tasks import CustomTask, RobotsTask, SitemapTask, SourceTask
from rdfcrawl.core.tasks import RevisitedPage
from rdfcrawl.core.visits import decode_record, encode_record
from rdfcrawl.frontier.arguments.parsers import DATASETS
from rdfcrawl.sources.harvest.discovery import FOUND
from rdfcrawl.sources.harvest.protocol import read_task

if TYPE_CHECKING:
    from rdfcrawl.core.records import Document
    from rdfcrawl.sources.harvest.protocol import HarvestContext

_MAX_SOURCES: Final = 100_000
_CRAWL: Final = "crawl:"  # the crawl, in place of a source


class FoundSources:
    """The discovered sources of a crawl, shared by all workers."""

    def __init__(self, context: HarvestContext) -> None:
        self._store = context.state_store
        self._run = context.run
        self._wanted = context.arguments.harvest
        self._noted: set[str] = set()  # by this worker

    async def note(self, follow_ups: Iterable[FollowUp]) -> None:
        """Keep the first records of sources, before they are queued."""
        entries = {}
        for each in follow_ups:
            key = _key(each.record.kind, each.record.url)
            if key not in self._noted:
                entries[key] = encode_record(each.record)
        if entries:
            self._noted.update(entries)
            await self._store.put_up_to(_CRAWL, FOUND, entries, _MAX_SOURCES)

    async def note_offer(self, document: Document) -> None:
        """Keep the record of sitemaps that were read before the pages of a site.

        Of those that are read only for datasets, each one with some is kept.
        """
        record, task = document.record, read_task(document.record)
        is_read = _is_offer(record) and document.n_quads > 0
        if is_read or (task.payload == RobotsTask() and not task.is_named):
            await self.note([FollowUp(record)])

    async def knows_any(self, kind: Kind, urls: Iterable[str]) -> bool:
        """Return whether a source of one of these URLs was noted."""
        keys = [_key(kind, each) for each in urls]
        return bool(await self._store.get_many(_CRAWL, FOUND, keys))

    async def revisits(self) -> AsyncIterator[list[FollowUp]]:
        """Yield the first records of all sources for this run, in batches."""
        async for batch in self._store.batches(_CRAWL, FOUND):
            records = (decode_record(k.partition(" ")[2], x) for k, x in batch.items())
            yield [self._of_run(each) for each in records if self._is_wanted(each)]

    def _is_wanted(self, record: Record) -> bool:
        """Return whether a record is still wanted, or was named by the operator."""
        if _is_offer(record):
            return DATASETS in self._wanted
        if record.kind is not Kind.CUSTOM:
            return record.kind is Kind.PAGE or record.kind in self._wanted
        task = read_task(record)
        payload = task.payload
        name = payload.harvester if isinstance(payload, CustomTask) else ""
        return task.is_named or name in self._wanted

    def _of_run(self, record: Record) -> FollowUp:
        """Return a record for this run."""
        task = record.task
        if isinstance(task, SourceTask | RevisitedPage):
            record = replace(record, task=replace(task, run=self._run))
        return FollowUp(record, change=f"run {self._run}")


def _key(kind: Kind, url: str) -> str:
    return f"{int(kind)} {url}"


def _is_offer(record: Record) -> bool:
    """Return whether a sitemap is read only for the datasets in it."""
    payload = read_task(record).payload
    return isinstance(payload, SitemapTask) and payload.only_datasets
