"""Server-sent events: each moment of the crawl, to a limited number of visitors."""

from __future__ import annotations

import asyncio
from typing import Final

from aiohttp import web

from rdfcrawl.monitor.page.moment_feed import MomentFeed

MOST_STREAMS: Final = 64
_RETRY_MS: Final = 2000  # that browsers wait before they reconnect
_PATIENCE_SECS: Final = 20.0  # for a client that does not read
_HEADERS: Final = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",  # nginx passes on each event without a buffer
    "X-Content-Type-Options": "nosniff",
}


class EventStreams:
    """The open streams of a page.

    A slow client misses moments; a client that does not read is disconnected.
    """

    def __init__(self, feed: MomentFeed) -> None:
        self._feed = feed
        self._n_open = 0

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Send the present moment and each later one, and tails that have changed."""
        if self._n_open >= MOST_STREAMS:
            return web.Response(
                status=503,
                text=f"{MOST_STREAMS} visitors watch already\n",
                headers={"Retry-After": "30"},
            )
        response = web.StreamResponse(headers=_HEADERS)
        self._n_open += 1
        try:
            await response.prepare(request)
            await response.write(b"retry: %d\n\n" % _RETRY_MS)
            await self._send_all(response)
        except (ConnectionError, TimeoutError):
            pass  # the visitor has left
        finally:
            self._n_open -= 1
        return response

    async def _send_all(self, response: web.StreamResponse) -> None:
        seen, seen_tail = -1, 0
        while not self._feed.has_ended:
            seen, text = await self._feed.wait(seen)
            events = b"data: %b\n\n" % text
            n_tail, tail = self._feed.tail_json
            if n_tail != seen_tail:
                seen_tail = n_tail
                events += b"event: tail\ndata: %b\n\n" % tail
            async with asyncio.timeout(_PATIENCE_SECS):
                await response.write(events)
