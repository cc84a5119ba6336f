"""Pages of collections (Hydra, `Link`, TREE, LDES), within a run and in later runs.

A page is an ordinary record with a task that names the collection. The state store
keeps the pages of a collection under the URL of the first page, to detect loops and to
request the pages conditionally in later runs. An immutable page is fetched once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, replace
from typing import Final

from rdfcrawl.core.codec import decode, encode
from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.core.formats import HTML, Relation
from rdfcrawl.core.records import Document, FollowUp, Record
from rdfcrawl.core.tasks import CollectionPage
from rdfcrawl.downloader.client import HttpRequest, conditional_request
from rdfcrawl.sources.harvest.discovery import (
    NOTHING_FOUND,
    Discovery,
    DocumentScan,
    found,
)
from rdfcrawl.sources.harvest.last_copies import CRAWL, STORED, copy_key, new_copy
from rdfcrawl.sources.harvest.protocol import HarvestContext
from rdfcrawl.sources.paging import (
    PagingFacts,
    choose_next,
    is_immutable,
    requestable_pages,
)
from rdfcrawl.uri import host_of

MAX_ROOT_CHARS: Final = 4096  # of the URL of a collection, stored in each task
MAX_NODES: Final = 1_000_000  # pages of one collection
_CRAWL: Final = "crawl:"  # the crawl, in place of a source
_COLLECTIONS: Final = "collections"  # table of the crawl: their first pages
# Tables of a collection.
_PAGES: Final = "pages"  # URL -> PageState
_MEMBERS: Final = "members"  # run and digest of members -> number of the page


@dataclass(frozen=True, slots=True, kw_only=True)
class PageState:
    """State of a page.

    Attributes:
        number: see `CollectionPage`.
        depth: depth of the record.
        run: the run that read the page.
        etag, last_modified: validators of its response; empty after faults.
        is_done: later runs do not request the page.
    """

    number: int
    depth: int
    run: int = 0
    etag: str = ""
    last_modified: str = ""
    is_done: bool = False


class CollectionPages:
    """The collections of a crawl, shared by all workers."""

    def __init__(self, context: HarvestContext) -> None:
        self._run = context.run
        self._store = context.state_store

    async def request_for(self, record: Record) -> HttpRequest | None:
        """Return a conditional request for a page of an earlier run; None for others.

        A page of this run is requested unconditionally: its statements may be lost.
        """
        task = record.task
        if not isinstance(task, CollectionPage) or not task.run:
            return None
        text = await self._store.get(task.root, _PAGES, record.url)
        state = decode(text, PageState) if text else None
        if state is None or state.run >= task.run:
            return None
        return conditional_request(record.url, state.etag, state.last_modified)

    async def revisits(self) -> AsyncIterator[list[FollowUp]]:
        """Yield all pages that may have changed since the last run, in batches."""
        change = f"run {self._run}"
        async for root, _ in self._store.entries(_CRAWL, _COLLECTIONS):
            async for batch in self._store.batches(root, _PAGES):
                group: list[FollowUp] = []
                for url, text in batch.items():
                    state = decode(text, PageState)
                    if not state.is_done:
                        task = CollectionPage(self._run, state.number, root)
                        record = Record(url, depth=state.depth, parent=root, task=task)
                        group.append(FollowUp(record, change=change))
                yield group

    async def find(self, document: Document, scan: DocumentScan) -> Discovery:
        """Remember a page that was read completely; return the next pages."""
        record = document.record
        task = record.task if isinstance(record.task, CollectionPage) else None
        if not document.n_quads:
            if task is not None and document.status == 410:
                await self._mark_gone(task, record)
            return NOTHING_FOUND
        facts = scan.paging.facts(record.url, document.url)
        named = _next_of(facts, document)
        if task is None:
            if not (facts.is_page or named):
                return self._views(facts, document)
            task = CollectionPage(self._run, 1, record.url)
            copy = new_copy(document).kept()  # of an ordinary page so far
            key = copy_key(document.url)
            await self._store.put(CRAWL, STORED, {key: copy.text()})
        if len(task.root) > MAX_ROOT_CHARS:
            return NOTHING_FOUND
        log = FaultLog()
        await self._remember(task, facts, document)
        follow_ups = await self._choose(task, facts, named, document, log)
        return Discovery(tuple(follow_ups), tuple(log.all()))

    # -- next pages ---------------------------------------------------------------

    def _views(self, facts: PagingFacts, document: Document) -> Discovery:
        """Return the first view of a described collection; each view is complete."""
        if not facts.views:
            return NOTHING_FOUND
        task, depth = (
            CollectionPage(self._run, 1, facts.views[0]),
            document.record.depth,
        )
        first = Record(task.root, depth=depth + 1, parent=document.url, task=task)
        return found(FollowUp(first))

    async def _choose(
        self,
        task: CollectionPage,
        facts: PagingFacts,
        named: list[str],
        document: Document,
        log: FaultLog,
    ) -> list[FollowUp]:
        targets = dict.fromkeys(facts.nodes)
        for own in (document.url, document.record.url):
            targets.pop(own, None)
        if facts.is_cut:
            log.note(Reason.TOO_MANY_ENTRIES, "relations of one page")
        states = await self._states(task.root, [*named, *targets])
        if named and await self._is_new(task, facts, log):
            number = task.number + 1
            visited = {url for url, state in states.items() if state.number != number}
            following = choose_next(
                named, document.url, log, visited=visited, n_pages=task.number
            )
            if following:
                targets[following] = None
        if len(targets) + await self._store.size(task.root, _PAGES) > MAX_NODES:
            log.note(Reason.TOO_MANY_ENTRIES, f"more than {MAX_NODES} pages")
            targets = {url: None for url in targets if url in states}
        return await self._queue(task, targets, states, document)

    async def _queue(
        self,
        task: CollectionPage,
        targets: Iterable[str],
        states: dict[str, PageState],
        document: Document,
    ) -> list[FollowUp]:
        """Return the records of pages, after noting the pages for the next run.

        All pages of a collection on one host have the same depth.
        """
        next_task = replace(task, number=task.number + 1)
        depth = document.record.depth
        follow_ups = []
        new: dict[str, str] = {}
        for url in targets:
            is_near = host_of(url) == host_of(document.url)
            deep = depth if is_near else depth + 1
            record = Record(url, depth=deep, parent=document.url, task=next_task)
            follow_ups.append(FollowUp(record))
            if url not in states:
                new[url] = encode(PageState(number=next_task.number, depth=deep))
        await self._store.put(task.root, _PAGES, new)
        return follow_ups

    async def _is_new(
        self, task: CollectionPage, facts: PagingFacts, log: FaultLog
    ) -> bool:
        """Return whether a page has members that no earlier page had.

        Some servers return the last, the first or an empty page for any page number, so
        their URLs never repeat.
        """
        number = str(task.number)
        if facts.digest:
            key = f"{task.run} {facts.digest}"
            if await self._store.claim(task.root, _MEMBERS, key, number) != number:
                log.note(Reason.PAGING_LOOP, "the members of an earlier page")
                return False
        elif not facts.n_members and await self._store.size(task.root, _MEMBERS):
            log.note(Reason.PAGING_LOOP, "a page without members")
            return False
        return True

    # -- state -------------------------------------------------------------------------

    async def _remember(
        self, task: CollectionPage, facts: PagingFacts, document: Document
    ) -> None:
        state = PageState(number=task.number, depth=document.record.depth, run=task.run)
        response = document.response
        if not document.has_losses:
            state = replace(
                state,
                etag=response.etag,
                last_modified=response.last_modified,
                is_done=facts.is_immutable or is_immutable(response.cache_control),
            )
        entries = {document.record.url: encode(state)}
        if document.url != document.record.url:  # it was redirected there
            entries[document.url] = encode(replace(state, is_done=True))
        await self._store.put(_CRAWL, _COLLECTIONS, {task.root: ""})
        await self._store.put(task.root, _PAGES, entries)

    async def _mark_gone(self, task: CollectionPage, record: Record) -> None:
        """Stop requesting a page that is gone; its statements remain valid."""
        state = PageState(number=task.number, depth=record.depth, is_done=True)
        await self._store.put(task.root, _PAGES, {record.url: encode(state)})

    async def _states(self, root: str, urls: list[str]) -> dict[str, PageState]:
        texts = await self._store.get_many(root, _PAGES, urls)
        return {url: decode(text, PageState) for url, text in texts.items()}


def _next_of(facts: PagingFacts, document: Document) -> list[str]:
    """Return the next pages by statements and (except for HTML) by the `Link` header.

    The `rel="next"` of an HTML page is an ordinary link.
    """
    following = list(facts.following)
    if document.reading.format is not HTML:
        following += sorted(
            x.url for x in document.links if x.relation is Relation.NEXT
        )
    return requestable_pages(following, document.url)
