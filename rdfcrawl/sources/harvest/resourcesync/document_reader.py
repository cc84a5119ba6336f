"""Documents and dumps of a source: run or queue their steps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from rdfcrawl.core.errors import Fault, FaultLog, SourceFault
from rdfcrawl.core.formats import Relation
from rdfcrawl.core.records import Document, FollowUp, Urgency
from rdfcrawl.core.source_tasks import SyncCapability, SyncMode, SyncStep, SyncTask
from rdfcrawl.sources.harvest.emptied_lists import EmptiedLists
from rdfcrawl.sources.harvest.resourcesync.resources import ResourceWriter, check
from rdfcrawl.sources.harvest.response import iter_unpacked, unread_part
from rdfcrawl.sources.resourcesync.describe import describe, describe_document
from rdfcrawl.sources.resourcesync.documents import DocumentEntries, DocumentHeading
from rdfcrawl.sources.resourcesync.dumps import unpack
from rdfcrawl.sources.resourcesync.fixity import ExpectedBytes
from rdfcrawl.sources.resourcesync.mirror import (
    DeletedResource,
    DumpedResource,
    FollowStep,
    KnownResource,
    ListedResources,
    MirrorState,
    OpenedSet,
    RelatedLink,
    RunPart,
    StatedResource,
    Step,
    UnfetchedResource,
    commit,
    version_of,
)
from rdfcrawl.sources.resourcesync.plan import fallback, follow, superfluous
from rdfcrawl.sources.resourcesync.resources import links_of, source_id, task_of
from rdfcrawl.uri import host_of

if TYPE_CHECKING:
    from rdfcrawl.core.content import ByteSource
    from rdfcrawl.sources.harvest.resourcesync.mirror_index import MirrorIndex
    from rdfcrawl.sources.harvest.resourcesync.response import SyncResponse


_BATCH_SIZE: Final = 200
# They lead to lists, as does a document of which nothing is expected.
_ABOVE: Final = (None, SyncCapability.DESCRIPTION, SyncCapability.CAPABILITY_LIST)


class StepRunner:
    """Runs the steps of one document or part of a dump.

    `is_done`: the reading is complete, or continues in another record. `is_last`: it is
    the last one of the run.
    """

    def __init__(
        self,
        page: SyncResponse,
        task: SyncTask,
        memory: MirrorIndex,
        writer: ResourceWriter,
    ) -> None:
        self._page, self._task, self._memory, self._writer = page, task, memory, writer
        self._done: list[StatedResource] = []
        self._wanted: dict[str, int] = {}
        self.is_done = self.is_last = False

    async def do(
        self, begin: Callable[..., Iterator[Step]]
    ) -> AsyncIterator[Document | FollowUp]:
        """Run the steps; yield new and deleted resources, and follow-ups."""
        await self._memory.begin()
        async for group in _iter_steps(begin, self._memory):
            for step in group:
                async for document in self._do(step):
                    yield document
            await self._memory.remember(self._done)
            self._done.clear()
            await self._memory.note_requested(self._wanted)
            self._wanted.clear()
            for follow_up in self._page.take_follow_ups():
                yield follow_up
        await self._memory.end()

    async def _do(self, step: Step) -> AsyncIterator[Document]:
        page, writer = self._page, self._writer
        match step:
            case DeletedResource(version):
                yield await writer.remove(page, version)
                self._done.append(version)
            case UnfetchedResource(version, entry):
                document = page.derived(version.uri)
                page.describe(document, describe(version, entry=entry))
                yield document
                self._done.append(version)
            case DumpedResource(version):
                is_kept = False
                async for document in writer.add(page, step):
                    is_kept = True
                    yield document
                if is_kept:
                    self._done.append(version)
                else:
                    source, site = self._task.source, self._task.site
                    retry = task_of(version, source, site, uri=version.uri)
                    self._follow(FollowStep(version.uri, retry))
            case RunPart():
                async for document in self._end(step):
                    yield document
            case _:
                await self._note(step)

    async def _note(self, step: Step) -> None:
        match step:
            case ListedResources(run, uris):
                await self._memory.remember(self._done)
                self._done.clear()
                await self._memory.mark(run, uris)
            case RelatedLink(link):
                self._page.document.listed_links.add(link)
            case OpenedSet(_, url):
                await self._memory.open(url)
                await self._queue_owed()
            case FollowStep():
                self._follow(step)

    def _follow(self, step: FollowStep) -> None:
        task = step.task
        if task.do in (SyncStep.GET, SyncStep.PATCH):
            if task.as_of_us is not None:
                uri = version_of(task, step.url).uri
                before = self._wanted.get(uri, task.as_of_us)
                self._wanted[uri] = max(before, task.as_of_us)
            self._page.queue(step.url, task)
            return
        if task.cursor:
            self.is_done = True
        # The rest of a list comes after all other URIs of its host.
        urgency = Urgency.LATER if task.cursor else Urgency.SOON
        self._page.queue(step.url, task, urgency)

    async def _queue_owed(self) -> None:
        """Queue the resources that failed in earlier runs of the crawl."""
        if self._page.run:
            for url, task in await self._memory.owed():
                self._page.queue(url, task)

    async def _end(self, part: RunPart) -> AsyncIterator[Document]:
        """Keep a part, and the outcome of the run after the last part."""
        self.is_done = True
        memory = self._memory
        await memory.remember(self._done)
        self._done.clear()
        parts = await memory.put_part(part)
        if not parts:
            return
        self.is_last = True
        state, tasks = commit(await memory.state(), parts)
        if part.mode is SyncMode.AUDIT and (fault := await self._doubt(part, state)):
            self._page.log.note(fault.reason, fault.detail)
            state = await memory.state()  # so the next run compares once more
        elif part.mode is SyncMode.AUDIT:
            async for known in memory.resources():
                versions = _gone(known, part.run, state)
                for version in versions:
                    yield await self._writer.remove(self._page, version)
                await memory.remember(versions)
        for task in tasks if state.has_baseline else ():
            self._page.queue(state.url, task, Urgency.SOON)
        await memory.keep(state)

    async def _doubt(self, part: RunPart, state: MirrorState) -> Fault | None:
        """Return a fault if an audit misses too many resources."""
        n_left = n_gone = 0
        async for known in self._memory.resources():
            n_left += sum(each.run == part.run for each in known.values())
            n_gone += len(_gone(known, part.run, state))
        lists = EmptiedLists(self._page.context.state_store, self._page.run)
        name = f"resourcesync {part.source}"
        return await lists.doubt(name, n_left, n_left + n_gone, "resource")


async def _iter_steps(
    begin: Callable[..., Iterator[Step]], memory: MirrorIndex
) -> AsyncIterator[list[Step]]:
    """Yield steps in batches, read in a thread; finish a batch before the next.

    A `DumpedResource` is the last step of its batch. `begin` starts the reading.
    """
    loop = asyncio.get_running_loop()
    pending: dict[str, KnownResource] = {}  # by unfinished steps

    def look_up(uris: Sequence[str]) -> Mapping[str, KnownResource]:
        known = asyncio.run_coroutine_threadsafe(memory.known(uris), loop).result()
        known.update((uri, pending[uri]) for uri in uris if uri in pending)
        return known

    def take(steps: Iterator[Step]) -> list[Step]:
        group: list[Step] = []
        for step in islice(steps, _BATCH_SIZE):
            group.append(step)
            if isinstance(step, UnfetchedResource | DeletedResource):
                pending[step.version.uri] = step.version.known()
            elif isinstance(step, DumpedResource):
                break
        return group

    steps = await asyncio.to_thread(begin, lookup=look_up)
    try:
        while group := await asyncio.to_thread(take, steps):
            yield group
            pending.clear()
    finally:
        close = getattr(steps, "close", None)
        if close is not None:
            with suppress(ValueError):  # cancelled while the thread still reads
                close()


def _gone(
    known: dict[str, KnownResource], run: str, state: MirrorState
) -> list[StatedResource]:
    """Return the resources that an audit has not found."""
    return list(superfluous(known, lambda _: known, run=run, at_us=state.at_us))


class DocumentReader:
    """Reads documents and dumps; `writer` handles the resources of dumps."""

    def __init__(self, writer: ResourceWriter) -> None:
        self._writer = writer

    async def read(
        self, page: SyncResponse, task: SyncTask
    ) -> AsyncIterator[Document | FollowUp]:
        """Yield the resources and follow-ups of a document, and then the document."""
        document = page.document
        memory = page.memory(task.source or source_id(document.url))
        source = page.source and await asyncio.to_thread(_unpacked, page)
        is_done = False
        if source is not None:
            state, has_some = await memory.state_of(task.run)
            if has_some and task.mode is SyncMode.SYNC:
                task = replace(task, mode=SyncMode.AUDIT)
            charset, given = document.response.charset, _given(page, state)
            begin = partial(follow, source, task, charset=charset, **given)
            work = StepRunner(page, task, memory, self._writer)
            async for each in work.do(begin):
                yield each
            is_done = work.is_done
            heading = await asyncio.to_thread(heading_of, source, document)
            if heading and not task.cursor:
                await _descriptions(heading, page, memory)
            if work.is_last:  # whether or not it has read the documents that name them
                page.queue_pages(await memory.pages_about())
            lines = describe_document(heading) if heading and not task.cursor else ()
            page.describe(document, lines)
        if not is_done:
            await _fall_back(page, task, memory)
        yield document

    async def unpack(
        self, page: SyncResponse, task: SyncTask
    ) -> AsyncIterator[Document | FollowUp]:
        """Yield the resources in a part of a dump, and then the part."""
        document = page.document
        memory = page.memory(task.source)
        is_done, source = False, page.source
        fixity = ExpectedBytes.stated(task.hashes, task.length)
        if source is not None and await self._is_sound(page, source, fixity):
            state, _ = await memory.state_of(task.run)
            begin = partial(unpack, source, task, **_given(page, state))
            work = StepRunner(page, task, memory, self._writer)
            async for each in work.do(begin):
                yield each
            is_done = work.is_done
        if not is_done:
            await _fall_back(page, task, memory)
        yield document

    async def _is_sound(
        self, page: SyncResponse, source: ByteSource, fixity: ExpectedBytes
    ) -> bool:
        if page.document.faults:
            return False
        try:
            await asyncio.to_thread(check, source, fixity)
        except SourceFault as error:
            page.note(error)
            return False
        return True


async def _fall_back(page: SyncResponse, task: SyncTask, memory: MirrorIndex) -> None:
    """Queue the fallback for a source, if there is any; else it is incomplete."""
    following, url = fallback(task), (await memory.state()).url
    if following is not None and url:
        page.queue(url, following, Urgency.SOON)
    elif task.part or task.expected not in _ABOVE:
        fault = unread_part([*page.document.faults, *page.log.all()])
        page.log.note(fault.reason, fault.detail)


def _given(page: SyncResponse, state: MirrorState) -> dict[str, Any]:
    """Return the arguments of `follow` and `unpack`, except `lookup`."""
    document, policy = page.document, page.policy()
    return {"url": document.url, "log": page.log, "state": state, "policy": policy}


def _unpacked(page: SyncResponse) -> ByteSource | None:
    return next(iter_unpacked(page.document, page.log), None)


async def _descriptions(
    heading: DocumentHeading, page: SyncResponse, memory: MirrorIndex
) -> None:
    """Queue the pages about a source on its own host; withdraw dropped ones.

    A page is withdrawn if no document of the source names it any more.
    """
    document, files = page.document, page.context.datasets.files
    links = (x.url for x in links_of(heading) if x.relation is Relation.DESCRIBEDBY)
    urls = sorted({x for x in links if host_of(x) == host_of(document.url)})
    page.queue_pages(urls)
    await files.add((document.url, url) for url in urls)
    if (page.run or urls) and not any(x.is_loss for x in page.log.all()):
        dropped = await memory.describe(document.url, urls)
        resources = await memory.known(dropped)
        pages = [x for x in dropped if x not in resources or resources[x].is_gone]
        document.withdrawn += await files.drop(document.url, pages)


def heading_of(source: ByteSource, document: Document) -> DocumentHeading | None:
    """Return the heading of a ResourceSync document; None for others."""
    if not source.can_reopen:
        return None
    reading = DocumentEntries(
        source, url=document.url, log=FaultLog(), charset=document.response.charset
    )
    return reading.heading if reading.is_document else None
