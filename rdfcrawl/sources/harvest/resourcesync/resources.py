"""Single resources: requested, in dumps, patched, and kept as files on demand.

A file is in a folder of its host. Its name is the percent-encoded URI, which has no
slashes and is not just dots, so a URI cannot escape the folder.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlsplit

from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.downloader.spool import Spool
from rdfcrawl.sources.harvest.resourcesync.response import SyncResponse, is_rdf
from rdfcrawl.sources.resourcesync.describe import describe
from rdfcrawl.sources.resourcesync.fixity import (
    ExpectedBytes,
    FixityVerifier,
    check_bytes,
)
from rdfcrawl.sources.resourcesync.mirror import (
    DumpedResource,
    StatedResource,
    is_settled,
    next_attempt,
    version_of,
)
from rdfcrawl.sources.resourcesync.patch import MAX_BYTES, apply_patch
from rdfcrawl.stores.files import synced_file

if TYPE_CHECKING:
    from rdfcrawl.core.records import Document
    from rdfcrawl.core.source_tasks import SyncTask
    from rdfcrawl.sources.harvest.resourcesync.mirror_index import MirrorIndex


_SHORT_BYTES: Final = 64 * 1024  # hashed faster than a thread starts


class ResourceFetcher:
    """Handles responses for resources; `files` keeps copies, if given."""

    def __init__(self, files: ResourceFiles | None) -> None:
        self._files = files

    async def get(self, page: SyncResponse, task: SyncTask) -> AsyncIterator[Document]:
        """Yield a resource that is still outstanding and matches its stated fixity."""
        document = page.document
        version = version_of(task, page.record.first_url)
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
        version = replace(version_of(task, page.record.first_url), media_type="")
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
        if following := next_attempt(task, page.record.first_url):
            page.queue(*following)
        else:
            await memory.owe(version.uri, page.record.first_url, task)


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


_PIECE_BYTES: Final = 256 * 1024


class ResourceWriter:
    """Writes and removes the bytes of resources, in files if configured.

    `spool` is for large resources until the crawl has read them.
    """

    def __init__(self, files: ResourceFiles | None, spool: Spool) -> None:
        self._files = files
        self._spool = spool

    async def remove(self, page: SyncResponse, version: StatedResource) -> Document:
        """Return the tombstone of a resource."""
        if self._files is not None:
            await asyncio.to_thread(self._files.remove, version.uri)
        return page.derived(version.uri, is_deleted=True)

    async def add(
        self, page: SyncResponse, content: DumpedResource
    ) -> AsyncIterator[Document]:
        """Yield a resource of a dump, unless its bytes could not be stored."""
        document = page.derived(content.version.uri)
        document.response.media_type = content.version.media_type
        document.response.body = content.source.data
        spooled: Path | None = None
        if document.response.body is None and self._files is None:
            spooled = self._spool.new_path()
        try:
            await asyncio.to_thread(self._keep, document, content, spooled)
            if not is_rdf(document, content.source.head()):
                page.describe(document, describe(content.version))
        except (OSError, SourceFault) as error:
            page.note(error)
        else:
            yield document
        finally:
            if spooled is not None:
                spooled.unlink(missing_ok=True)

    def _keep(
        self, document: Document, content: DumpedResource, spooled: Path | None
    ) -> None:
        """Put the bytes of a resource into a permanent or a spooled file."""
        version = content.version
        path = spooled
        if self._files is not None:
            path = self._files.write(version.uri, content.source, version.fixity)
        elif spooled is not None:
            with content.source.open() as stream, spooled.open("xb") as file:
                shutil.copyfileobj(stream, file, _PIECE_BYTES)
        if document.response.body is None:
            document.response.path = path
            document.response.n_bytes = path.stat().st_size if path else 0
        else:
            document.response.n_bytes = len(document.response.body)


_MAX_NAME: Final = 200  # file systems allow 255 bytes
PARTIAL: Final = ".partial"


def path_of(folder: Path, uri: str) -> Path:
    """Return the path of a resource's file.

    >>> from pathlib import Path
    >>> path_of(Path("/f"), "http://example.org:8080/a/../b?c=%2F").as_posix()
    '/f/example.org%3A8080/http%3A%2F%2Fexample.org%3A8080%2Fa%2F..%2Fb%3Fc%3D%252F'
    """
    host = quote(urlsplit(uri).netloc, safe="")
    if not host.strip("."):
        host = "_"
    return folder / _short(host) / _short(quote(uri, safe=""))


class ResourceFiles:
    """The files of one folder, created on demand; call the methods in a thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, uri: str, source: ByteSource, fixity: ExpectedBytes) -> Path:
        """Replace the bytes of a resource; return the path.

        Raises:
            SourceFault: `BAD_FIXITY`: other bytes than stated; the former file is kept.
            OSError: the disk is full or broken.
        """
        path, verifier = path_of(self._folder, uri), FixityVerifier(fixity)
        # Opening it removes the partial files of dead processes.
        with Spool(self._folder / PARTIAL, memory_limit_bytes=0) as spool:
            partial = spool.new_path()
            with synced_file(partial) as file, source.open() as stream:
                while piece := stream.read(_PIECE_BYTES):
                    verifier.update(piece)
                    file.write(piece)
                verifier.finish()
            path.parent.mkdir(parents=True, exist_ok=True)
            partial.replace(path)
        return path

    def read(self, uri: str, max_bytes: int) -> bytes:
        """Return the first bytes of a resource's file.

        Raises:
            OSError: there is no file.
        """
        with path_of(self._folder, uri).open("rb") as file:
            return file.read(max_bytes)

    def remove(self, uri: str) -> None:
        """Delete the file of a resource."""
        path_of(self._folder, uri).unlink(missing_ok=True)


def _short(name: str) -> str:
    """Return a name that is short enough, and unique."""
    if len(name) <= _MAX_NAME:
        return name
    digest = blake2b(name.encode(), digest_size=16).hexdigest()
    return f"~{digest}-{name[: _MAX_NAME - 50]}"  # unique by its tilde


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
