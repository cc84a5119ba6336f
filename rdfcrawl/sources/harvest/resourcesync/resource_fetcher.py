"""Single requests for resources: the resource itself, a mirror, or a patch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.sources.harvest.resourcesync.document_reader import check
from rdfcrawl.sources.harvest.resourcesync.response import SyncResponse, is_rdf
from rdfcrawl.sources.resourcesync.describe import describe
from rdfcrawl.sources.resourcesync.fixity import ExpectedBytes, check_bytes
from rdfcrawl.sources.resourcesync.mirror import is_settled, next_attempt, version_of
from rdfcrawl.sources.resourcesync.patch import MAX_BYTES, apply_patch

if TYPE_CHECKING:
    from rdfcrawl.core.records import Document
    from rdfcrawl.core.source_tasks import SyncTask
    from rdfcrawl.sources.harvest.resourcesync.files import ResourceFiles
    from rdfcrawl.sources.harvest.resourcesync.mirror_index import MirrorIndex
    from rdfcrawl.sources.resourcesync.mirror import StatedResource

_SHORT_BYTES: Final = 64 * 1024  # hashed faster than a thread starts


class ResourceFetcher:
    """Handles responses for resources; `files` keeps copies, if given."""

    def __init__(self, files: ResourceFiles | None) -> None:
        self._files = files

    async def get(self, page: SyncResponse, task: SyncTask) -> AsyncIterator[Document]:
        """Yield a resource that is still outstanding and matches its stated fixity."""
        document = page.document
        version = version_of(task, page.requested_url)
        memory = page.memory(task.source)
        if await _is_settled(memory, version):
            document.faults.clear()  # a later version is known
            yield document
            return
        source = page.source
        if source is None or not await self._is_kept(page, version, source):
            await self._try_next(page, task, version, memory)
            yield document
            return
        document.url = version.uri
        media_type = document.media_type or version.media_type
        document.response = replace(document.response, media_type=media_type)
        if is_rdf(document, source.head()):
            document.is_read = False
        else:
            page.describe(document, describe(version))
        yield document
        await memory.remember([version])
        await memory.mark_fetched(version.uri)

    async def patch(
        self, page: SyncResponse, task: SyncTask
    ) -> AsyncIterator[Document]:
        """Yield a resource after its patch, and then the patch."""
        document = page.document
        version = replace(version_of(task, page.requested_url), media_type="")
        memory = page.memory(task.source)
        if await _is_settled(memory, version):
            document.faults.clear()
            yield document
            return
        try:
            after = await self._patched(page, task, version)
        except (OSError, SourceFault) as error:
            page.note(error)
            await self._try_next(page, task, version, memory)
            yield document
            return
        derived = page.derived(version.uri)
        derived.response.body, derived.response.n_bytes = after, len(after)
        if not is_rdf(derived, after[:4096]):
            page.describe(derived, describe(version))
        yield derived
        await memory.remember([version])
        await memory.mark_fetched(version.uri)
        yield document

    async def _is_kept(
        self, page: SyncResponse, version: StatedResource, source: ByteSource
    ) -> bool:
        """Keep the bytes if they match the stated fixity; return whether they do."""
        if page.document.faults:
            return False
        try:
            if self._files is not None:
                await asyncio.to_thread(
                    self._files.write, version.uri, source, version.fixity
                )
            elif source.data is not None and len(source.data) <= _SHORT_BYTES:
                check_bytes(source.data, version.fixity)
            else:
                await asyncio.to_thread(check, source, version.fixity)
        except (OSError, SourceFault) as error:
            page.note(error)
            return False
        return True

    async def _patched(
        self, page: SyncResponse, task: SyncTask, version: StatedResource
    ) -> bytes:
        patch = page.source
        if self._files is None or patch is None or page.document.faults:
            raise SourceFault(Reason.INCOMPLETE, "no patch, or no bytes to patch")
        return await asyncio.to_thread(_patch, self._files, patch, task, version)

    async def _try_next(
        self,
        page: SyncResponse,
        task: SyncTask,
        version: StatedResource,
        memory: MirrorIndex,
    ) -> None:
        """Queue the next attempt: at another URL, or in the next run of the crawl."""
        if following := next_attempt(task, page.requested_url):
            page.queue(*following)
        else:
            await memory.owe(version.uri, page.requested_url, task)


async def _is_settled(memory: MirrorIndex, version: StatedResource) -> bool:
    known = (await memory.known([version.uri])).get(version.uri)
    wanted_us = await memory.latest_requested(version.uri)
    return is_settled(version, known, wanted_us=wanted_us)


def _patch(
    files: ResourceFiles, patch: ByteSource, task: SyncTask, version: StatedResource
) -> bytes:
    """Apply a patch to the stored bytes; return the result.

    Raises:
        SourceFault: the patch is invalid, or no bytes are stored.
    """
    limit = MAX_BYTES + 1
    try:
        before = files.read(version.uri, limit)
    except OSError as error:
        detail = f"no bytes to patch: {error.strerror}"
        raise SourceFault(Reason.INCOMPLETE, detail) from error
    with patch.open() as stream:
        data = stream.read(limit)
    check_bytes(data, ExpectedBytes.stated(task.patch_hashes, task.patch_length))
    after = apply_patch(before, data, media_type=task.media_type, fixity=version.fixity)
    files.write(version.uri, ByteSource(after), version.fixity)
    return after
