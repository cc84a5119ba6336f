"""What a document or a part of a dump asks for: it is done, or queued."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.harvest.resourcesync.steps import iter_steps
from rdfcrawl.records import Urgency
from rdfcrawl.sitemaps.resourcesync.describe import describe
from rdfcrawl.sitemaps.resourcesync.mirror import version_of
from rdfcrawl.sitemaps.resourcesync.plan import superfluous
from rdfcrawl.sitemaps.resourcesync.runs import RunPart, commit
from rdfcrawl.sitemaps.resourcesync.steps import (
    DeletedResource,
    DumpedResource,
    FollowStep,
    ListedResources,
    OpenedSet,
    RelatedLink,
    UnfetchedResource,
)
from rdfcrawl.tasks.sync import SyncMode, SyncStep, SyncTask

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from rdfcrawl.harvest.resourcesync.mirror_index import MirrorIndex
    from rdfcrawl.harvest.resourcesync.resource_writer import ResourceWriter
    from rdfcrawl.harvest.resourcesync.response import SyncResponse
    from rdfcrawl.records import Document, FollowUp
    from rdfcrawl.sitemaps.resourcesync.mirror import (
        KnownResource,
        Lookup,
        MirrorState,
        StatedResource,
    )
    from rdfcrawl.sitemaps.resourcesync.steps import Step


class StepRunner:
    """What one document or part of a dump asks for.

    Args:
        page: the answer.
        task: of its record.
        memory: of the set of resources.
        writer: takes the resources.

    Attributes:
        is_done: it was read to its end, or goes on in another record.
    """

    def __init__(
        self,
        page: SyncResponse,
        task: SyncTask,
        memory: MirrorIndex,
        writer: ResourceWriter,
    ) -> None:
        self._writer, self._page, self._task = writer, page, task
        self._memory = memory
        self._done: list[StatedResource] = []
        self._wanted: dict[str, int] = {}
        self.is_done = False

    async def do(
        self, begin: Callable[[Lookup], Iterator[Step]]
    ) -> AsyncIterator[Document | FollowUp]:
        """Take the steps; yield the resources that came or went, and follow-ups."""
        await self._memory.begin()
        async for group in iter_steps(begin, self._memory):
            for step in group:
                async for document in self._do(step):
                    yield document
            await self._memory.remember(self._done)
            self._done.clear()
            await self._memory.want(self._wanted)
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
                    self._follow(_fetch(version, self._task))
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
            case RelatedLink(_, link):
                self._page.document.links.add(link)
            case OpenedSet(_, url):
                await self._memory.open(url)
                await self._ask_again()
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
        # The rest of a list waits until its host has nothing else to do.
        urgency = Urgency.LATER if task.cursor else Urgency.SOON
        self._page.queue(step.url, task, urgency)

    async def _ask_again(self) -> None:
        """Queue what could not be had in an earlier run of the crawl."""
        if not self._page.run:
            return
        for url, task in await self._memory.owed():
            self._page.queue(url, task)

    async def _end(self, part: RunPart) -> AsyncIterator[Document]:
        """Keep a part, and if it was the last one, what the run has led to."""
        self.is_done = True
        memory, page = self._memory, self._page
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
                    yield await self._writer.remove(page, version)
                await memory.remember(versions)
        for task in tasks:
            page.queue(state.url, task, Urgency.SOON)
        await memory.keep(state)


def _gone(
    known: dict[str, KnownResource], run: str, state: MirrorState
) -> list[StatedResource]:
    """Return the resources that an audit has not come by."""
    return list(superfluous(known, lambda _: known, run=run, at_us=state.at_us))


def _fetch(version: StatedResource, task: SyncTask) -> FollowStep:
    """Return the record of a resource that a dump has, but not so that it helps."""
    following = SyncTask(
        do=SyncStep.GET,
        source=task.source,
        site=task.site,
        run=version.run,
        uri=version.uri,
        change=None if version.is_snapshot else version.change,
        as_of_us=version.as_of_us,
        modified_us=version.modified_us,
        hashes=version.fixity.text,
        length=version.fixity.length,
        media_type=version.media_type,
        encoding=version.encoding,
    )
    return FollowStep(version.uri, following)
