"""What one crawler process fetches with: connections, spool and visitor together."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast
from weakref import WeakKeyDictionary

from rdfcrawl.fetch.exchange import HttpExchange
from rdfcrawl.fetch.scrapy_exchange import ScrapyExchange
from rdfcrawl.fetch.spool import Spool
from rdfcrawl.fetch.visit import Visitor

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from rdfcrawl.fetch.answer import Exchange
    from rdfcrawl.frontier.visiting import VisitingSpider


class Transport:
    """The transport of one crawler; the handler closes it.

    Attributes:
        visitor: makes the visits.
        exchange: does one GET: aiohttp, or Scrapy's downloader.
    """

    def __init__(self, crawler: Crawler) -> None:
        spider = cast("VisitingSpider", crawler.spider)
        options = spider.options
        session = spider.session
        if session is None:
            raise RuntimeError("a visit without a frontier")
        self._spool = Spool(
            options.fetch.spool_dir,
            memory_limit_bytes=options.fetch.visit_memory_bytes,
        )
        self._http: HttpExchange | None = None
        self.exchange: Exchange
        if options.fetches_with_scrapy:
            self.exchange = ScrapyExchange(crawler, self._spool)
        else:
            self.exchange = self._http = HttpExchange(options.fetch, self._spool)
            self._http.open()
        self.visitor = Visitor(
            self.exchange,
            self._spool,
            options.fetch,
            key_of=session.key_of,
            is_new=session.is_new,
            prime=session.prime,
        )

    async def close(self) -> None:
        """Close the connections and remove the spool files."""
        if self._http:
            await self._http.close()
        self._spool.close()


# A handler, a middleware and the spider share it, and Scrapy gives such a thing no
# place; it is kept per crawler, as a process may run several.
_transports: WeakKeyDictionary[Crawler, Transport] = WeakKeyDictionary()


def transport_of(crawler: Crawler) -> Transport:
    """Return the transport of a crawler; it is made by the first visit."""
    transport = _transports.get(crawler)
    if transport is None:
        transport = _transports[crawler] = Transport(crawler)
    return transport


async def close_transport(crawler: Crawler) -> None:
    """Close the transport of a crawler, if it made any visit."""
    transport = _transports.pop(crawler, None)
    if transport is not None:
        await transport.close()
