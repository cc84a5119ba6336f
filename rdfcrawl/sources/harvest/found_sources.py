"""Discovered sources, which later runs harvest like named ones.

The first record of each source is kept in Redis.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.records import FollowUp, Kind, Record
from rdfcrawl.core.task_records import decode_record, encode_record
from rdfcrawl.core.tasks.pages import RevisitedPage
from rdfcrawl.core.tasks.source import SourceTask

if TYPE_CHECKING:
    from rdfcrawl.sources.harvest.protocol import HarvestContext

MAX_SOURCES: Final = 100_000
_CRAWL: Final = "crawl:"  # the crawl, in place of a source
_FOUND: Final = "found sources"  # table of the crawl: kind and URL -> the record


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
            key = f"{int(each.record.kind)} {each.record.url}"
            if key not in self._noted:
                entries[key] = encode_record(each.record)
        if entries:
            self._noted.update(entries)
            await self._store.put_up_to(_CRAWL, _FOUND, entries, MAX_SOURCES)

    async def revisits(self) -> AsyncIterator[list[FollowUp]]:
        """Yield the first records of all sources for this run, in batches."""
        async for batch in self._store.batches(_CRAWL, _FOUND):
            records = (decode_record(k.partition(" ")[2], x) for k, x in batch.items())
            yield [
                self._of_run(each)
                for each in records
                if each.kind is Kind.PAGE or each.kind in self._wanted
            ]

    def _of_run(self, record: Record) -> FollowUp:
        """Return a record for this run."""
        task = record.task
        if isinstance(task, SourceTask | RevisitedPage):
            record = replace(record, task=replace(task, run=self._run))
        return FollowUp(record, change=f"run {self._run}")
