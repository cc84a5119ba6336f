"""Block requests to hosts that rest or are denied, including those in flight."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from rdfcrawl.downloader.client import HttpClient, HttpResponse, RequestOptions
from rdfcrawl.frontier.request_turns import FREE, SoloTurn

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.host_rules import BlockedHosts


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
