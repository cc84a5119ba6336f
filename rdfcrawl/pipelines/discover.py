"""Step three: N-Quads to links."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rdfcrawl.spiders.base import check_spider

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

    from rdfcrawl.frontier.session import CrawlSession
    from rdfcrawl.records import Document
    from rdfcrawl.spiders.base import RdfSpider

_MOST_LINKS_HELD = 50_000


class DiscoverPipeline:
    """Reads a document's quads to their end and hands its links to the frontier."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of a crawler.

        Raises:
            NotConfigured: it runs none of our spiders.
        """
        check_spider(crawler)
        return cls(crawler)

    def open_spider(self) -> None:
        """Take the policy of the spider and the session of the scheduler."""
        spider = cast("RdfSpider", self._crawler.spider)
        self._scan = spider.arguments.follow.scan
        self._session = cast("CrawlSession", spider.session)

    async def process_item(self, document: Document) -> Document:
        """Collect the links, a set per some 50,000, so that a dump needs no more."""
        if document.chunks is None:
            return document
        links: set[bytes] = set()
        async for chunk in document.chunks:
            links |= self._scan(chunk)
            if len(links) >= _MOST_LINKS_HELD:
                document.n_links += await self._session.add_links(document, links)
                links.clear()
                await self._session.worker.room()
        if links:
            document.n_links += await self._session.add_links(document, links)
        return document
