"""The pages of datasets whose data could not be fetched.

They are requested while no access method gives the data. Until one does, they are noted
here; then they are withdrawn, as the data are in its files or graphs. So are pages that
were requested before their site had a dataset.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.records import GONE, Document, Kind, Record
from rdfcrawl.core.tasks import ListedPage, RefreshedPage
from rdfcrawl.frontier.queue.tables import MAX_DEFERRED

if TYPE_CHECKING:
    from rdfcrawl.frontier.session import CrawlSession
    from rdfcrawl.sources.harvest.page_fetches import PageFetches

# Of a prefix: URL of a page -> time of its request, Unix time (0: left to its sitemap),
# or `gone` and the run that withdrew it; and the URL of its document.
_PAGES: Final = "pages"


class ReleasedPages:
    """The pages below the prefixes of such datasets, shared by all workers."""

    def __init__(
        self, session: CrawlSession, fetches: PageFetches, revisit_secs: int
    ) -> None:
        self._session, self._fetches = session, fetches
        self._store = session.state_store
        self._revisit_secs = revisit_secs

    async def note(self, document: Document) -> None:
        """Note a document if it is a page that the data of a dataset replace.

        That is a page while they cannot be fetched, and one that was crawled before its
        dataset was known, when it is due.
        """
        record, is_dated = document.record, isinstance(document.record.task, ListedPage)
        is_due = isinstance(record.task, RefreshedPage)
        is_page = record.kind is Kind.PAGE and record.depth > 0  # and no seed
        if not is_page or not (is_dated or is_due or not record.task):
            return
        url = record.first_url
        datasets = self._session.datasets
        prefix = await datasets.released_prefix_of(url)
        prefix = prefix or (datasets.prefix_of(url) if is_due else "")
        if not prefix:
            return
        if document.status in GONE:
            await self._store.drop(prefix, _PAGES, [url])
        elif document.n_quads:
            secs = 0 if is_dated else document.response.started_ms // 1000
            entry = {url: f"{secs} {document.url}"}
            await self._store.put_up_to(prefix, _PAGES, entry, MAX_DEFERRED)

    async def note_listed(self, prefix: str, documents: Mapping[str, str]) -> None:
        """Note pages of a sitemap below a prefix that a dataset covers since."""
        entries = {url: f"0 {document}" for url, document in documents.items()}
        await self._store.put_up_to(prefix, _PAGES, entries, MAX_DEFERRED)

    async def defer_due(self, prefixes: Iterable[str], record: Record) -> None:
        """Have old pages requested once more, when their prefixes are released."""
        oldest = time.time() - self._revisit_secs
        for prefix in prefixes:
            async for batch in self._store.batches(prefix, _PAGES):
                ages = {url: text.partition(" ")[0] for url, text in batch.items()}
                due = [x for x, secs in ages.items() if secs.isdigit() and int(secs)]
                await self._defer([x for x in due if int(ages[x]) <= oldest], record)

    async def withdrawn(
        self, prefixes: Iterable[str], record: Record
    ) -> tuple[str, ...]:
        """Return the documents to withdraw, as all data of their dataset were read.

        If that fails in a later run, the pages are requested once more.
        """
        own, documents = f"gone {self._session.run} ", list[str]()
        for prefix in prefixes:
            async for batch in self._store.batches(prefix, _PAGES):
                past = [
                    url
                    for url, text in batch.items()
                    if text.startswith("gone") and not text.startswith(own)
                ]
                await self._store.drop(prefix, _PAGES, past)
                left = {
                    x: batch[x].rpartition(" ")[2] for x in batch.keys() - set(past)
                }
                gone = {url: own + document for url, document in left.items()}
                await self._store.put(prefix, _PAGES, gone)
                await self._fetches.drop(left)
                await self._defer(left, record)
                documents += left.values()
        return tuple(documents)

    async def _defer(self, urls: Iterable[str], record: Record) -> None:
        """Have pages requested when their prefixes are released."""
        ingest, run = self._session.ingests.own, self._session.run
        depth, parent, profile = max(1, record.depth), record.url, record.profile
        for url in urls:
            page = Record(url, Kind.PAGE, depth, parent, profile=profile)
            ingest.defers_queued(page, run)
        await self._session.datasets.defer()
