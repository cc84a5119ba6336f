"""Step three: extract links from N-Quads, pages and headers."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from scrapy.utils.misc import build_from_crawler

from rdfcrawl.harvest.discovery import NOTHING_FOUND
from rdfcrawl.links import EveryLink
from rdfcrawl.pipelines.chunks import close_chunks
from rdfcrawl.pipelines.harvesting import harvesting_spider
from rdfcrawl.pipelines.items import pass_through
from rdfcrawl.pipelines.store import StoreTee
from rdfcrawl.records import Document
from rdfcrawl.setting_values import check_method, load_setting
from rdfcrawl.uri import CRAWLED_SCHEMES

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from rdfcrawl.extraction.bulk import BulkPart, FoundLinks
    from rdfcrawl.frontier.session import CrawlSession
    from rdfcrawl.harvest.discovery import Discovery
    from rdfcrawl.harvest.scan import DocumentScan
    from rdfcrawl.links import LinkPolicy
    from rdfcrawl.pipelines.harvesting import HarvestingSpider

_MOST_LINKS_HELD = 8_000  # they stay in the processor's cache
_BULK_BYTES = 32 * 1024  # of one chunk: few documents are so large


class DiscoverPipeline:
    """Pipeline that reads all quads of a document and queues its links."""

    def __init__(
        self, spider: HarvestingSpider, link_policy: EveryLink | None = None
    ) -> None:
        self._spider = spider
        self._link_policy = link_policy  # of the user's
        self._session: CrawlSession
        self._own_policies: dict[tuple[LinkPolicy, tuple[str, ...]], LinkPolicy] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of a crawler.

        Raises:
            NotConfigured: its spider makes no visits.
        """
        spider = harvesting_spider(crawler)
        found = link_policy_class(crawler.settings)
        if found is EveryLink:
            return cls(spider)
        return cls(spider, build_from_crawler(found, crawler))

    def open_spider(self) -> None:
        """Take the session, which the scheduler has opened before."""
        self._session = cast("CrawlSession", self._spider.session)
        self._session.link_policy = self._link_policy
        self._schemes = self._session.options.schemes

    async def process_item(self, item: object) -> object:
        """Collect the links, some thousands at once, so that dumps need no more memory.

        `Document.links` is complete when the quads are read.
        """
        if not isinstance(item, Document):
            return pass_through(item)
        document = item
        discovery = self._spider.harvesters_of(document.record).discovery
        scan = discovery.scan()
        links: set[bytes] = set()
        if document.chunks is not None:
            await self._read(document, document.chunks, scan, links)
            document.chunks = None  # they hold the body, and the document itself
        # First, as they know more of what they lead to than links do.
        found = await discovery.find(document, scan)
        if found is not NOTHING_FOUND:
            await self._take(document, found)
        if links:
            await self._add_links(document, links)
        return document

    async def _add_links(self, document: Document, links: set[bytes]) -> None:
        document.n_links += await self._session.add_links(document, links)

    async def _take(self, document: Document, found: Discovery) -> None:
        """Queue the discovered follow-ups, and account for faults."""
        if found.is_excused:
            document.faults.clear()
        document.faults += found.faults
        self._session.left_out(found.n_not_rdf)
        if follow_ups := found.follow_ups:
            document.n_follow_ups += len(follow_ups)
            document.n_links += await self._session.add_follow_ups(document, follow_ups)

    async def _read(
        self,
        document: Document,
        chunks: AsyncIterator[bytes],
        scan: DocumentScan | None,
        links: set[bytes],
    ) -> None:
        """Read all chunks; the rest of `links` is still to be added."""
        follow = self._session.arguments_of(document.record).follow
        if self._schemes.own:
            follow = self._with_own(follow, document.record.url)
        whole = None
        try:
            if isinstance(chunks, StoreTee) and document.response.path is None:
                whole = chunks.whole()  # as of most documents
            if whole is None:
                await self._read_on(document, chunks, follow, scan, links)
            elif document.is_followed:
                _look_through(whole, follow, scan, links)
        except BaseException:
            await close_chunks(chunks)
            raise
        if document.links:
            links |= follow.choose(document.links)

    def _with_own(self, follow: LinkPolicy, url: str) -> LinkPolicy:
        """Return a policy that finds the schemes of the user's a document may name."""
        schemes = self._schemes.of_links(url) - CRAWLED_SCHEMES
        own = tuple(sorted(schemes))
        found = self._own_policies.get((follow, own))
        if found is None:
            found = replace(follow, own_schemes=own)
            self._own_policies[follow, own] = found
        return found

    async def _read_on(
        self,
        document: Document,
        chunks: AsyncIterator[bytes],
        follow: LinkPolicy,
        scan: DocumentScan | None,
        links: set[bytes],
    ) -> None:
        """Read chunks as they come, or the parts of a child."""
        if document.response.path is not None and isinstance(chunks, StoreTee):
            parts = chunks.parts(follow, wants_telling=scan is not None)
            if parts is not None:
                await self._read_parts(document, parts, follow, scan, links)
                return
        async for chunk in chunks:
            if document.is_followed:
                _look_through(chunk, follow, scan, links)
                if len(links) >= _MOST_LINKS_HELD:
                    await self._hand_on(document, links)

    async def _read_parts(
        self,
        document: Document,
        parts: AsyncGenerator[BulkPart],
        follow: LinkPolicy,
        scan: DocumentScan | None,
        links: set[bytes],
    ) -> None:
        """Read all parts that a child has scanned."""
        async with aclosing(parts):
            async for part in parts:
                if part.links is not None:
                    self._add(document, part.links, links)
                    if part.lines and scan is not None:
                        if part.is_telling or scan.has_any:
                            scan.feed(part.lines)
                        links -= scan.urls
                elif document.is_followed:
                    _look_through(part.lines, follow, scan, links)
                if len(links) >= _MOST_LINKS_HELD:
                    await self._hand_on(document, links)

    def _add(self, document: Document, found: FoundLinks, links: set[bytes]) -> None:
        """Add the links of a part, except those to a host that is out of scope."""
        if found.others:
            links.update(found.others.split(b"\n"))
        of_host, host, n_of_host, _ = found
        if of_host and not self._session.turns_away(document, host, n_of_host):
            links.update(of_host.split(b"\n"))

    async def _hand_on(self, document: Document, links: set[bytes]) -> None:
        await self._add_links(document, links)
        links.clear()
        await self._session.worker.room()


def link_policy_class(settings: BaseSettings) -> type[EveryLink]:
    """Return the class that chooses among the links of documents.

    Raises:
        ConfigError: the setting names no class, or one without `choose`.
    """
    path = settings.get("LINK_POLICY_CLASS")
    found = load_setting("LINK_POLICY_CLASS", "class", path)
    check_method(f"LINK_POLICY_CLASS={path}", found, "choose", 2)
    return cast("type[EveryLink]", found)


def _look_through(
    chunk: bytes, follow: LinkPolicy, scan: DocumentScan | None, links: set[bytes]
) -> None:
    """Add the links of a chunk, and scan its statements for data elsewhere."""
    if scan is None:
        links |= follow.scan(chunk)
    elif scan.has_any or len(chunk) < _BULK_BYTES:
        links |= follow.scan(chunk)
        scan.feed(chunk)
    else:
        found, is_telling = follow.scan_bulk(chunk)
        links |= found
        if is_telling:
            scan.feed(chunk)
    if scan is not None and scan.has_any:
        links -= scan.urls  # they are asked for as what they are
