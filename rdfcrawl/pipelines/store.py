"""Step two: write N-Quads to the stores."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Self

from rdfcrawl.core.errors import (
    ConfigError,
    CrawlGone,
    Fault,
    RdfcrawlError,
    Reason,
    StoreFault,
    passing_fault,
)
from rdfcrawl.core.formats import HTML
from rdfcrawl.core.records import GONE, Document, Kind
from rdfcrawl.pipelines.changes import (
    KeptStore,
    StatementsDigest,
    StoredCopies,
    lost_copy,
    may_be_revisited,
    moved_from,
)
from rdfcrawl.pipelines.items import (
    DurablePipeline,
    close_chunks,
    harvesting_spider,
    pass_through,
)
from rdfcrawl.rdf.graphs import graph_iri
from rdfcrawl.sources.harvest.last_copies import new_copy
from rdfcrawl.stores.options import build_store, check_writer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.crawler import Crawler

    from rdfcrawl.core.content import QuadChunk
    from rdfcrawl.core.last_copies import NewCopy
    from rdfcrawl.stores.protocol import DocumentWriter, Store


class StorePipeline(DurablePipeline):
    """Pipeline that writes the quads of each document as they pass."""

    def __init__(
        self, store: Store, copies: StoredCopies, kept_store: KeptStore
    ) -> None:
        self._store = store
        self._kept_store = kept_store
        self.copies = copies
        self._writer_class: type | None = None  # checked class

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of a crawler whose spider makes visits.

        Raises:
            ConfigError: the settings of the store are wrong.
        """
        spider = harvesting_spider(crawler)
        stores = spider.options.crawl.stores
        store, kept_store = build_store(crawler, stores), KeptStore(spider, stores.uri)
        return cls(store, StoredCopies(spider), kept_store).connected(crawler)

    async def open_spider(self) -> None:
        """Open the store, and repair the damage of a crash.

        Raises:
            ConfigError: the store cannot be opened, or the crawl has another one.
            StoreFault: the store cannot be reached or read.
        """
        await self._kept_store.check()
        try:
            await self._store.open()
        except RdfcrawlError:
            raise
        except Exception as error:
            raise ConfigError(f"STORE: {_message(self._store, error)}") from error
        self._is_open = True

    async def flush(self) -> StoreFault | CrawlGone | None:
        """Make all ended documents durable, before visits are acknowledged.

        Returns:
            The reason of a failure. Scrapy would log an exception with a traceback.
        """
        written = self.copies.take() if self._is_open else {}
        fault = await super().flush()
        return fault or await self._attempt(partial(self.copies.put, written))

    async def _sync(self) -> None:
        await self._store.flush()
        await self._kept_store.keep()

    async def _end(self) -> None:
        await self._store.close()

    def _as_fault(self, error: Exception) -> StoreFault:
        """Return any exception as a fault: user-defined stores may raise any."""
        if isinstance(error, StoreFault):
            return error
        return passing_fault(error) or StoreFault(_message(self._store, error))

    async def process_item(self, item: object) -> object:
        """Tee a document's quads into the store; documents without quads pass.

        A deleted document is removed; an unchanged one is not written again. Statements
        are counted here, after changes by earlier pipelines.
        """
        if not isinstance(item, Document):
            return pass_through(item)
        document = item
        if document.is_deleted:
            if document.record.kind is Kind.WARC:
                # An archive also has pages that were never there.
                document.is_deleted = await self.copies.has(document)
            await self.forget(document)
        elif document.chunks is not None:
            document.chunks = StoreTee(self, document, document.chunks)
        return document

    async def open_document(self, document: Document) -> DocumentWriter:
        """Open a document in the store.

        Raises:
            StoreFault: the store refuses writes, or has no writer.
        """
        started_ms = document.response.started_ms
        writer = await self._store.begin(graph_iri(document.url), started_ms)
        # otherwise, each document would be given up
        if type(writer) is not self._writer_class:
            try:
                check_writer(type(self._store), type(writer))
            except ConfigError as error:
                raise StoreFault(str(error)) from error
            self._writer_class = type(writer)
        return writer

    async def lost(self, document: Document) -> str:
        """Return the URL of a stored page that is gone or was read elsewhere; or ""."""
        if url := lost_copy(document):
            return url
        url = moved_from(document)
        if not (url and self.copies.may_have(document)):
            return ""
        return url if await self.copies.has(document.part(url)) else ""

    async def forget(self, document: Document) -> None:
        """Delete a document in the store."""
        await self.copies.forget(document)
        writer = await self.open_document(document)
        await writer.end()

    async def delete_stored(self, document: Document, url: str) -> None:
        """Delete the stored statements of a page that is gone or has moved.

        Args:
            document: the response.
            url: of the document with the statements.
        """
        document.is_deleted = document.status in GONE
        if not document.is_deleted or url != document.url:
            document.replaced = url
        await self.forget(document if url == document.url else document.part(url))

    async def end(
        self, document: Document, writer: DocumentWriter, new: NewCopy | None
    ) -> None:
        """Commit a document to the store, unless it is unchanged."""
        if new is not None and await self.copies.is_stored(document, new):
            document.has_same_statements = True
            await writer.abandon()
            return
        await writer.end()
        if new is not None:
            self.copies.note(document, new)

    async def is_doubtful(self, document: Document, new: NewCopy) -> bool:
        """Return whether the last good copy stays; note the reason as a fault."""
        why = await self.copies.doubt(document, new)
        if why:
            document.faults.append(Fault(Reason.COPY_KEPT, why))
            document.is_doubtful, document.n_quads = True, 0
        return bool(why)


class StoreTee:
    """The quads of a document, written to the store as they pass.

    The document is in the store after the last quad is read.
    """

    __slots__ = "_chunks", "_digest", "_document", "_n_quads", "_pipeline", "_writer"

    def __init__(
        self,
        pipeline: StorePipeline,
        document: Document,
        chunks: AsyncIterator[QuadChunk],
    ) -> None:
        self._pipeline, self._document, self._chunks = pipeline, document, chunks
        self._writer: DocumentWriter | None = None
        self._digest = StatementsDigest()
        self._n_quads = 0

    def __aiter__(self) -> StoreTee:
        return self

    async def __anext__(self) -> QuadChunk:
        try:
            async for chunk in self._chunks:
                # Chunks of a user's pipeline or harvester may be empty.
                if not (chunk.n_quads or chunk.lines):
                    continue
                self._n_quads += chunk.n_quads
                if self._document.withheld is Reason.NOINDEX:
                    return chunk  # read only for its links
                if self._writer is None:
                    self._writer = await self._pipeline.open_document(self._document)
                await self._writer.write(chunk)
                self._digest.add(chunk)
                return chunk
            document = self._document
            if document.reading.format is HTML or not document.facts.text_hash:
                self._note_hash()
            await self._end()
        except BaseException:
            await self.aclose()
            raise
        raise StopAsyncIteration

    async def _end(self) -> None:
        document = self._document
        document.n_quads = self._n_quads
        new = None
        if may_be_revisited(document):
            new = new_copy(document, self._digest.stored(), self._pipeline.copies.run)
            is_judged = 200 <= document.status < 300 and not document.withheld
            if is_judged and await self._pipeline.is_doubtful(document, new):
                await self.aclose()
                return
        record = document.record
        may_lose = record.task or record.chain or document.url != record.url
        lost = await self._pipeline.lost(document) if may_lose else ""
        writer = self._writer
        if document.withheld:  # of a page, known at its end
            await self.aclose()
            writer = None
            if may_be_revisited(document):
                await self._pipeline.forget(document)
        elif document.status in GONE:
            if writer is None and self._pipeline.copies.may_have(document):
                document.is_deleted = await self._pipeline.copies.has(document)
                await self._pipeline.forget(document)
        elif writer is None and lost != document.url and _replaces(document):
            writer = self._writer = await self._pipeline.open_document(document)
        if writer is not None:
            await self._pipeline.end(document, writer, new)
            self._writer = None
        if lost:
            await self._pipeline.delete_stored(document, lost)

    def _note_hash(self) -> None:
        """Hash statements, unless the text hash is theirs."""
        document = self._document
        is_hashed = document.reading.format is HTML or document.record.kind.is_of_url
        if self._writer and document.facts.content_hash and is_hashed:
            found = self._digest.compared(graph_iri(document.url))
            document.facts = document.facts._replace(statements_hash=found)

    async def aclose(self) -> None:
        """Discard the document; the store keeps none of it."""
        writer, self._writer = self._writer, None
        try:
            if writer is not None:
                await writer.abandon()
        finally:
            await close_chunks(self._chunks)


def _message(store: Store, error: Exception) -> str:
    return f"{type(store).__qualname__}: {error or repr(error)}"


def _replaces(document: Document) -> bool:
    """Return whether a document without statements may replace earlier ones."""
    is_empty = all(fault.reason is Reason.EMPTY for fault in document.faults)
    is_whole = is_empty and not document.is_partial and document.status != 304
    return is_whole and document.record.kind is Kind.SPARQL
