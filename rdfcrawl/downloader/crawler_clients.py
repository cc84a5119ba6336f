"""The clients of one crawler process, one for each way to fetch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdfcrawl.downloader.client import HttpClient, HttpResponse, RequestOptions
from rdfcrawl.downloader.schemes.exchange import SchemeExchange
from rdfcrawl.frontier.request_turns import FREE, SoloTurn

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from rdfcrawl.downloader.http.exchange import HttpExchange
    from rdfcrawl.downloader.http.scrapy_exchange import ScrapyExchange
    from rdfcrawl.downloader.schemes.exchange import FetcherExchange
    from rdfcrawl.downloader.watch import WatchedExchange
    from rdfcrawl.frontier.queue.blocked_hosts import BlockedHosts


class RareExchange:
    """A client that is made, and imported, by its first request."""

    def __init__(self, make: Callable[[], WatchedExchange]) -> None:
        self._make = make
        self._made: WatchedExchange | None = None

    def get(
        self, url: str, options: RequestOptions, turn: SoloTurn = FREE
    ) -> Awaitable[HttpResponse]:
        """See `HttpClient.get`."""
        if self._made is None:
            self._made = self._make()
        return self._made.get(url, options, turn)

    def active_transfers(self) -> AbstractSet[object]:
        """Return the tasks whose transfers make good progress."""
        return self._made.active_transfers() if self._made is not None else frozenset()

    async def close(self) -> None:
        """Close the connections."""
        if self._made is not None:
            await self._made.close()


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
    ftp: RareExchange
    requests: RareExchange
    fetchers: FetcherExchange

    def by_scheme(self, own: Iterable[str]) -> SchemeExchange:
        """Return the client that dispatches requests by scheme.

        `own` are the custom schemes.
        """
        return SchemeExchange(self.web, self.ftp, self.requests, self.fetchers, own)

    def active_transfers(self) -> AbstractSet[object]:
        """Return the tasks whose transfers make good progress."""
        return frozenset().union(*(each.active_transfers() for each in self._all()))

    async def close(self) -> None:
        """Close the connections."""
        for each in self._all():
            await each.close()

    def _all(self) -> Iterator[WatchedExchange | RareExchange]:
        yield from (self.web, self.requests, self.ftp, self.fetchers)


class BlockedHostFilter:
    """A client that makes no requests to blocked hosts.

    Requests in flight are cancelled when their host is blocked, and their partial
    responses dropped.

    Args:
        drop: called with the URL of each cancelled request.
    """

    def __init__(
        self,
        exchange: HttpClient,
        blocked_hosts: BlockedHosts,
        drop: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._exchange = exchange
        self._drop = drop
        self._blocked_hosts = blocked_hosts
        self._open: dict[asyncio.Task[object], str] = {}
        self._cancelled: set[asyncio.Task[object]] = set()
        blocked_hosts.changed.append(self._cancel)

    async def get(
        self, url: str, options: RequestOptions, turn: SoloTurn = FREE
    ) -> HttpResponse:
        """See `HttpClient.get`."""
        blocked_hosts = self._blocked_hosts
        if blocked_hosts.has_any and (fault := blocked_hosts.fault(url)) is not None:
            return HttpResponse(fault=fault)
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a request needs a task")
        self._open[task] = url
        n_cancels = task.cancelling()
        try:
            return await self._exchange.get(url, options, turn)
        except asyncio.CancelledError:
            # Another party has cancelled the task, too: keep that cancellation.
            if task not in self._cancelled or task.uncancel() > n_cancels:
                raise
            self._drop(url)
            return HttpResponse(fault=blocked_hosts.fault(url))
        finally:
            del self._open[task]
            self._cancelled.discard(task)

    def _cancel(self) -> None:
        for task, url in list(self._open.items()):
            if task not in self._cancelled and self._blocked_hosts.covers(url):
                self._cancelled.add(task)
                task.cancel()
