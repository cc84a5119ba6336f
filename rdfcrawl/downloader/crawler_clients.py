"""The clients of one crawler process, one for each way to fetch.

`SchemeExchange` chooses the client of a request; `BlockedHostFilter` cancels requests
to hosts that rest or are denied.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import Fault, Reason
from rdfcrawl.downloader.client import HttpClient, HttpResponse, RequestOptions
from rdfcrawl.frontier.request_turns import FREE, SoloTurn
from rdfcrawl.uri.parse import scheme_of

if TYPE_CHECKING:
    from rdfcrawl.downloader.ftp.address import FtpLogins
    from rdfcrawl.downloader.watch import WatchedExchange
    from rdfcrawl.frontier.queue.host_rules import BlockedHosts


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


class SchemeExchange:
    """A client that passes each request to the client of its scheme.

    Args:
        web: for HTTP: our own client, or Scrapy's downloader.
        requests: for those of users' spiders.
        fetchers: for the custom schemes.
        own: the custom schemes.

    Attributes:
        n_requests: passed on so far.
    """

    def __init__(
        self,
        web: WatchedExchange,
        ftp: WatchedExchange | RareExchange,
        requests: RareExchange | None = None,
        fetchers: WatchedExchange | None = None,
        own: Iterable[str] = (),
    ) -> None:
        self._of = {"http": web, "https": web, "ftp": ftp, "ftps": ftp}
        if fetchers is not None:
            self._of |= dict.fromkeys(own, fetchers)
        self._requests = requests
        self._all = [each for each in (web, requests, ftp, fetchers) if each]
        self.n_requests = 0

    def get(
        self, url: str, options: RequestOptions, turn: SoloTurn = FREE
    ) -> Awaitable[HttpResponse]:
        """See `HttpClient.get`."""
        self.n_requests += 1
        if options.request is not None and self._requests is not None:
            return self._requests.get(url, options, turn)
        exchange = self._of.get(scheme_of(url))
        return _unknown(url) if exchange is None else exchange.get(url, options, turn)

    def active_transfers(self) -> AbstractSet[object]:
        """Return the tasks whose transfers make good progress."""
        return frozenset().union(*(each.active_transfers() for each in self._all))

    async def close(self) -> None:
        """Close the connections."""
        for each in self._all:
            await each.close()


async def _unknown(url: str) -> HttpResponse:
    """Return the response for a scheme that another worker may support."""
    detail = f"FETCH_SCHEMES has no {scheme_of(url)!r} here"
    return HttpResponse(fault=Fault(Reason.BAD_URI, detail))


def ftp_logins() -> FtpLogins | None:
    """Return the logins of FTP servers from the environment; None without any.

    Raises:
        ConfigError: `FTP_CREDENTIALS` is wrong.
    """
    name = "FTP_CREDENTIALS"
    if not (text := os.environ.get(name)):
        return None
    from rdfcrawl.downloader.ftp.address import FtpLogins  # noqa: PLC0415  (few crawls)

    return FtpLogins.parse(name, text)
