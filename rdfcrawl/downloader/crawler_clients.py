"""The clients of one crawler process, one for each way to fetch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdfcrawl.downloader.schemes.exchange import SchemeExchange

if TYPE_CHECKING:
    from rdfcrawl.downloader.ftp.exchange import FtpExchange
    from rdfcrawl.downloader.http.exchange import HttpExchange
    from rdfcrawl.downloader.http.scrapy_exchange import RequestExchange, ScrapyExchange
    from rdfcrawl.downloader.schemes.exchange import FetcherExchange
    from rdfcrawl.downloader.watch import WatchedExchange


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlerClients:
    """The connections of a crawler.

    Attributes:
        web: for HTTP: our own client, or Scrapy's downloader.
        ftp: for FTP.
        requests: for queued Scrapy requests.
        fetchers: for custom schemes.
    """

    web: HttpExchange | ScrapyExchange
    ftp: FtpExchange
    requests: RequestExchange
    fetchers: FetcherExchange

    def by_scheme(self, own: Iterable[str]) -> SchemeExchange:
        """Return the client that dispatches requests by scheme.

        `own` are the custom schemes.
        """
        return SchemeExchange(self.web, self.ftp, self.requests, self.fetchers, own)

    def flowing(self) -> AbstractSet[object]:
        """Return the tasks whose transfers make good progress."""
        return frozenset().union(*(each.flowing() for each in self._all()))

    async def close(self) -> None:
        """Close the connections."""
        for each in self._all():
            await each.close()

    def _all(self) -> Iterator[WatchedExchange]:
        yield from (self.web, self.requests, self.ftp, self.fetchers)
