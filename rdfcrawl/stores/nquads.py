"""The default store: gzip-compressed N-Quads in segments.

Each document begins with its mark, a comment line. Readers of N-Quads skip it;
`reading` uses it to separate documents and their versions:

    #<TAB>document <http://example.org/me> 1790000000000
"""

from __future__ import annotations

import asyncio
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

from rdfcrawl.core.errors import StoreFault
from rdfcrawl.core.quad_chunks import check_statements
from rdfcrawl.stores.identity import ensure_identity, note_worker
from rdfcrawl.stores.recovery import RecoveryReport, recover
from rdfcrawl.stores.segments import OpenDocument, QuadSegments, SegmentLimits

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy.crawler import Crawler

    from rdfcrawl.core.quad_chunks import QuadChunk

_NOT_IN_MARK = re.compile(r"[\x00-\x20<>\ud800-\udfff]")


@lru_cache(maxsize=256)  # shared by the logs of statements and of links
def document_mark(graph: str, version_ms: int) -> bytes:
    r"""Return the line that begins a document.

    Raises:
        ValueError: `graph` is not an IRI.

    >>> document_mark("http://example.org/me", 1790000000000)
    b'#\tdocument <http://example.org/me> 1790000000000\n'
    """
    if _NOT_IN_MARK.search(graph):
        raise ValueError(f"not an IRI: {graph!r}")
    return f"#\tdocument <{graph}> {version_ms:d}\n".encode()


class NQuadsDocument:
    """Writer of one document into the segments; see `protocol.DocumentWriter`."""

    def __init__(self, segments: QuadSegments, document: OpenDocument) -> None:
        self._segments = segments
        self._document = document

    async def write(self, chunk: QuadChunk) -> None:
        """Write the next statements.

        Raises:
            StoreFault: the disk is full or broken; `abandon` the document.
            ValueError: the last line has no line end, or a line begins like a mark.
        """
        if chunk.packed is not None:
            self._segments.write_piece(self._document, chunk.packed)
            return
        check_statements(chunk.lines)
        self._segments.write(self._document, chunk.lines)

    async def end(self) -> None:
        """Commit the document to the segments; the next `flush` covers it."""
        self._segments.end(self._document)

    async def abandon(self) -> None:
        """Discard the document, unless ended."""
        self._segments.abandon(self._document)


class NQuadsStore:
    """Store of documents as N-Quads in gzip files; see `protocol.Store`.

    Args:
        directory: of the segments; workers may share it.
        worker: unique among the workers that write to `directory`.
        run: returns the number of the crawl's current run.

    Attributes:
        recovered: report of the repair by `open`.
    """

    def __init__(
        self,
        directory: Path,
        worker: str,
        limits: SegmentLimits | None = None,
        *,
        run: Callable[[], int] | None = None,
    ) -> None:
        self._directory = directory
        self._worker = worker
        self._limits = limits
        self._run = run
        self._segments: QuadSegments | None = None
        self.recovered = RecoveryReport()

    @classmethod
    def from_crawler(cls, crawler: Crawler, _uri: str) -> Self:
        """Return the store of a worker, in the folder of its crawl."""
        spider: Any = crawler.spider
        crawl = spider.options.crawl
        return cls(
            crawl.paths.quads,
            crawl.worker,
            spider.options.crawl.stores.segments,
            run=lambda: int(spider.session.run),
        )

    async def open(self) -> None:
        """Repair the segments without a live writer, and begin new ones.

        Raises:
            ConfigError: `worker` cannot be part of a file name.
            StoreFault: the directory cannot be created, read or written.
        """
        try:
            self.recovered = await asyncio.to_thread(recover, self._directory)
            self._segments = QuadSegments(self._directory, self._worker, self._limits)
            await asyncio.to_thread(ensure_identity, self._directory)
            if self._run is not None:
                note_worker(self._directory, self._run(), self._worker)
        except OSError as error:
            raise StoreFault(f"{self._directory}: {error}") from error

    @property
    def _opened(self) -> QuadSegments:
        if self._segments is None:
            raise StoreFault("the N-Quads store is not open")
        return self._segments

    async def begin(self, graph: str, version_ms: int) -> NQuadsDocument:
        """Open a document; several may be open at once.

        Raises:
            ValueError: `graph` is not an IRI.
        """
        segments = self._opened
        head = document_mark(graph, version_ms)
        return NQuadsDocument(segments, segments.begin(head))

    async def flush(self) -> None:
        """Make all ended documents durable on disk.

        Raises:
            StoreFault: the disk is full or broken.
        """
        await self._opened.flush()

    async def close(self) -> None:
        """Flush to disk, seal the segments, discard open documents."""
        if self._segments is not None:
            segments, self._segments = self._segments, None
            await segments.close()
