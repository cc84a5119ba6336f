"""Resources of dumps, and tombstones, as documents."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import SourceFault
from rdfcrawl.sources.harvest.resourcesync.response import SyncResponse, is_rdf
from rdfcrawl.sources.resourcesync.describe import describe

if TYPE_CHECKING:
    from rdfcrawl.core.records import Document
    from rdfcrawl.downloader.spool import Spool
    from rdfcrawl.sources.harvest.resourcesync.files import ResourceFiles
    from rdfcrawl.sources.resourcesync.mirror import StatedResource
    from rdfcrawl.sources.resourcesync.steps import DumpedResource

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
