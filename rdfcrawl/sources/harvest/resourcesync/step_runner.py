"""Steps of a document or of a part of a dump, run or queued."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.records import Document, FollowUp, Urgency
from rdfcrawl.core.source_tasks import SyncMode, SyncStep, SyncTask
from rdfcrawl.sources.resourcesync.describe import describe
from rdfcrawl.sources.resourcesync.mirror import version_of
from rdfcrawl.sources.resourcesync.plan import superfluous
from rdfcrawl.sources.resourcesync.resources import task_of
from rdfcrawl.sources.resourcesync.steps import (
    DeletedResource,
    DumpedResource,
    FollowStep,
    ListedResources,
    OpenedSet,
    RelatedLink,
    RunPart,
    UnfetchedResource,
    commit,
)

if TYPE_CHECKING:
    from rdfcrawl.sources.harvest.resourcesync.mirror_index import MirrorIndex
    from rdfcrawl.sources.harvest.resourcesync.resource_writer import ResourceWriter
    from rdfcrawl.sources.harvest.resourcesync.response import SyncResponse
    from rdfcrawl.sources.resourcesync.mirror import (
        KnownResource,
        MirrorState,
        StatedResource,
    )
    from rdfcrawl.sources.resourcesync.steps import Step


_BATCH_SIZE: Final = 200


class StepRunner:
    """Runs the steps of one document or part of a dump.

    `is_done`: the reading is complete, or continues in another record.
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
        self.is_done = False

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
        state, tasks = commit(await memory.state(), parts)
        if part.mode is SyncMode.AUDIT:
            async for known in memory.resources():
                versions = _gone(known, part.run, state)
                for version in versions:
                    yield await self._writer.remove(self._page, version)
                await memory.remember(versions)
        for task in tasks:
            self._page.queue(state.url, task, Urgency.SOON)
        await memory.keep(state)


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
