"""Documents and dumps of a source: runs or queues their steps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from rdfcrawl.core.errors import FaultLog, SourceFault
from rdfcrawl.core.formats import Relation
from rdfcrawl.core.records import Document, FollowUp, Kind, Record, Urgency
from rdfcrawl.core.source_tasks import SyncMode, SyncTask
from rdfcrawl.core.tasks import RevisitedPage
from rdfcrawl.sources.harvest.resourcesync.step_runner import StepRunner
from rdfcrawl.sources.harvest.response import iter_unpacked
from rdfcrawl.sources.resourcesync.describe import describe_document
from rdfcrawl.sources.resourcesync.documents import DocumentEntries, DocumentHeading
from rdfcrawl.sources.resourcesync.dumps import unpack
from rdfcrawl.sources.resourcesync.fixity import ExpectedBytes, FixityVerifier
from rdfcrawl.sources.resourcesync.plan import fallback, follow
from rdfcrawl.sources.resourcesync.resources import links_of, source_id
from rdfcrawl.uri import host_of

if TYPE_CHECKING:
    from rdfcrawl.core.content import ByteSource
    from rdfcrawl.sources.harvest.resourcesync.mirror_index import MirrorIndex
    from rdfcrawl.sources.harvest.resourcesync.resource_writer import ResourceWriter
    from rdfcrawl.sources.harvest.resourcesync.response import SyncResponse
    from rdfcrawl.sources.resourcesync.mirror import MirrorState

_PIECE_BYTES = 256 * 1024


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
                for about in _descriptions(heading, page):
                    yield about
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
    """Queue the fallback for a source, if there is any."""
    following, url = fallback(task), (await memory.state()).url
    if following is not None and url:
        page.queue(url, following, Urgency.SOON)


def _given(page: SyncResponse, state: MirrorState) -> dict[str, Any]:
    """Return the arguments of `follow` and `unpack`, except `lookup`."""
    document, policy = page.document, page.policy()
    return {"url": document.url, "log": page.log, "state": state, "policy": policy}


def _unpacked(page: SyncResponse) -> ByteSource | None:
    return next(iter_unpacked(page.document, page.log), None)


def _descriptions(heading: DocumentHeading, page: SyncResponse) -> Iterator[FollowUp]:
    """Yield the records of pages about a source on its own host, for each run."""
    record, run = page.record, page.context.run
    urls = {x.url for x in links_of(heading) if x.relation is Relation.DESCRIBEDBY}
    for url in sorted(urls):
        if host_of(url) == host_of(page.document.url):
            task = RevisitedPage(run)
            about = Record(url, Kind.PAGE, record.depth + 1, record.url, task=task)
            yield FollowUp(about, change=f"run {run}" if run else "")


def heading_of(source: ByteSource, document: Document) -> DocumentHeading | None:
    """Return the heading of a ResourceSync document; None for others."""
    if not source.can_reopen:
        return None
    reading = DocumentEntries(
        source, url=document.url, log=FaultLog(), charset=document.response.charset
    )
    return reading.heading if reading.is_document else None


def check(source: ByteSource, fixity: ExpectedBytes) -> None:
    """Check bytes against their stated fixity.

    Raises:
        SourceFault: `BAD_FIXITY`.
    """
    verifier = FixityVerifier(fixity)
    with source.open() as stream:
        while piece := stream.read(_PIECE_BYTES):
            verifier.update(piece)
    verifier.finish()
