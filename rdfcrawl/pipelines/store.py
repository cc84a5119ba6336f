"""Step two: N-Quads to the stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.frontier.visiting import visiting_spider
from rdfcrawl.options import segment_limits
from rdfcrawl.pipelines.changes import Digest, StoredDigests, may_come_again
from rdfcrawl.pipelines.chunks import closing
from rdfcrawl.pipelines.items import other
from rdfcrawl.provenance import graph_iri
from rdfcrawl.records import Document
from rdfcrawl.signals import flush_stores
from rdfcrawl.stores.nquads import NQuadsStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Self

    from scrapy.crawler import Crawler

    from rdfcrawl.stores.protocol import DocumentWriter, Store


class StorePipeline:
    """Writes each document's quads while they pass."""

    def __init__(self, store: Store, digests: StoredDigests) -> None:
        self._store = store
        self._digests = digests
        self._is_open = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of a crawler.

        Raises:
            NotConfigured: its spider makes no visits.
        """
        spider = visiting_spider(crawler)
        options = spider.options
        limits = segment_limits(crawler.settings)
        store = NQuadsStore(options.paths.quads, options.worker, limits)
        pipeline = cls(store, StoredDigests(spider))
        crawler.signals.connect(pipeline.flush, flush_stores)
        return pipeline

    async def open_spider(self) -> None:
        """Open the store, and repair what a crash has left in it."""
        await self._store.open()
        self._is_open = True

    async def flush(self) -> None:
        """Make durable what was written; called before visits are acknowledged."""
        if self._is_open:  # or was not closed well; else it has flushed everything
            written = self._digests.take()
            await self._store.flush()
            await self._digests.put(written)

    async def close_spider(self) -> None:
        """Flush and close the store."""
        await self._store.close()
        self._is_open = False

    async def process_item(self, item: object) -> object:
        """Tee a document's quads into the store; documents without any are not.

        What its source has deleted is replaced by nothing; what says the same as before
        is not written again. The statements are counted
        here, as a pipeline before this one may have made or changed some.
        """
        if not isinstance(item, Document):
            return other(item)
        document = item
        if document.is_deleted:
            await self._digests.forget(document)
            writer = await self._store.begin(
                graph_iri(document.url), document.started_ms
            )
            await writer.end()
        elif document.chunks is not None:
            document.chunks = self._tee(document, document.chunks)
        return document

    async def _tee(
        self, document: Document, chunks: AsyncIterator[bytes]
    ) -> AsyncIterator[bytes]:
        writer = None
        n_quads = 0
        digest = Digest() if may_come_again(document) else None
        try:
            async with closing(chunks):
                async for chunk in chunks:
                    if writer is None:
                        graph = graph_iri(document.url)
                        writer = await self._store.begin(graph, document.started_ms)
                    await writer.write(chunk)
                    n_quads += chunk.count(b"\n")
                    if digest is not None:
                        digest.add(chunk)
                    yield chunk
            document.n_quads = n_quads
            if writer is None and _replaces(document):
                writer = await self._store.begin(
                    graph_iri(document.url), document.started_ms
                )
            if writer is not None:
                await self._end(document, writer, digest)
        except BaseException:
            if writer is not None:
                await writer.abandon()
            raise

    async def _end(
        self, document: Document, writer: DocumentWriter, digest: Digest | None
    ) -> None:
        if digest is not None and await self._digests.is_stored(document, digest):
            document.is_unchanged = True
            await writer.abandon()
        else:
            await writer.end()


def _replaces(document: Document) -> bool:
    """Tell whether a document without statements may have had some before."""
    record = document.record
    is_same = document.status == 304
    is_whole = not (document.faults or document.is_partial or is_same)
    return is_whole and bool(record.kind.is_source or record.change)
