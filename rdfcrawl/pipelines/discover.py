"""Step three: N-Quads, pages and headers to links."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rdfcrawl.frontier.visiting import visiting_spider
from rdfcrawl.pipelines.chunks import give_up
from rdfcrawl.pipelines.items import other
from rdfcrawl.records import Document

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Self

    from scrapy.crawler import Crawler

    from rdfcrawl.frontier.session import CrawlSession
    from rdfcrawl.frontier.visiting import VisitingSpider
    from rdfcrawl.sources.scan import Scan

_MOST_LINKS_HELD = 8_000  # they stay in the processor's cache
_BULK_BYTES = 32 * 1024  # of one chunk: few documents are so large


class DiscoverPipeline:
    """Reads a document's quads to their end and hands its links to the frontier."""

    def __init__(self, spider: VisitingSpider) -> None:
        self._spider = spider
        self._session: CrawlSession

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of a crawler.

        Raises:
            NotConfigured: its spider makes no visits.
        """
        return cls(visiting_spider(crawler))

    def open_spider(self) -> None:
        """Take the session, which the scheduler has opened before."""
        self._session = cast("CrawlSession", self._spider.session)

    async def process_item(self, item: object) -> object:
        """Collect the links, a set per some 50,000, so that a dump needs no more.

        What `Document.links` holds is known when the quads are read to their end.
        """
        if not isinstance(item, Document):
            return other(item)
        document = item
        sources = self._spider.sources_of(document.record)
        scan = sources.scan()
        links: set[bytes] = set()
        if document.chunks is not None:
            await self._read(document, document.chunks, scan, links)
            document.chunks = None  # they hold the body, and the document itself
        # First, as they know more of what they lead to than links do.
        document.children += await sources.beyond(document, scan)
        if document.children:
            document.n_links += await self._session.add_children(document)
        if links:
            document.n_links += await self._session.add_links(document, links)
        return document

    async def _read(
        self,
        document: Document,
        chunks: AsyncIterator[bytes],
        scan: Scan | None,
        links: set[bytes],
    ) -> None:
        """Read to the end; what is left in `links` is still to be added."""
        follow = self._session.arguments_of(document.record).follow
        find = follow.scan
        try:
            async for chunk in chunks:
                if not document.is_followed:
                    continue
                if scan is None:
                    links |= find(chunk)
                elif scan.has_any or len(chunk) < _BULK_BYTES:
                    links |= find(chunk)
                    scan.feed(chunk)
                else:
                    found, is_telling = follow.scan_bulk(chunk)
                    links |= found
                    if is_telling:
                        scan.feed(chunk)
                if scan is not None and scan.has_any:
                    links -= scan.urls  # they are asked for as what they are
                if len(links) >= _MOST_LINKS_HELD:
                    document.n_links += await self._session.add_links(document, links)
                    links.clear()
                    await self._session.worker.room()
        except BaseException:
            await give_up(chunks)
            raise
        if document.links:
            links |= follow.choose(document.links)
