"""The HTTP endpoint of pings: `GET /ping?sitemap=URL`, or a POST of the same.

Whoever asks is a stranger: what a request may be is bounded in bytes and time, and
answers say nothing of the crawl.

Source: sitemaps.org, "Informing search engine crawlers".
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

from aiohttp import web

from rdfcrawl.pings.judging import PingAnswer

if TYPE_CHECKING:
    from rdfcrawl.frontier.pings import PingLimits
    from rdfcrawl.pings.intake import PingIntake

PATH: Final = "/ping"
_MAX_BODY_BYTES: Final = 16 * 1024
_MAX_CONNECTIONS: Final = 100
_CONNECTION_SECS: Final = 15.0  # from its begin to its end
_MAX_FIELDS: Final = 10
_FORM: Final = "application/x-www-form-urlencoded"


class PingServer:
    """The endpoint of one crawl.

    Attributes:
        counts: answers by their status.
    """

    def __init__(self, intake: PingIntake, limits: PingLimits) -> None:
        self.counts: Counter[int] = Counter()
        self._intake = intake
        self._limits = limits
        self._server: asyncio.Server | None = None
        self._handlers = web.Server(
            self._answer, keepalive_timeout=0, access_log=None, max_line_size=8190
        )

    async def open(self, host: str, port: int) -> int:
        """Listen; return the port.

        Raises:
            OSError: the address cannot be used.
        """
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._connected, host, port)
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Answer what is under way, and listen no more."""
        if self._server is not None:
            self._server.close()
        await self._handlers.shutdown(1.0)

    def _connected(self) -> asyncio.Protocol:
        """Return the handler of a new connection, which ends in any case."""
        if len(self._handlers.connections) >= _MAX_CONNECTIONS:
            return _Refusal()
        handler = self._handlers()
        asyncio.get_running_loop().call_later(_CONNECTION_SECS, handler.force_close)
        return handler

    async def _answer(self, request: web.BaseRequest) -> web.Response:
        answer = await self._judge(request)
        self.counts[answer.status] += 1
        headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
        if answer.retry_secs:
            headers["Retry-After"] = str(answer.retry_secs)
        if answer.status == 405:
            headers["Allow"] = "GET, POST"
        response = web.Response(
            status=answer.status, text=f"{answer.text}\n", headers=headers
        )
        response.force_close()
        return response

    async def _judge(self, request: web.BaseRequest) -> PingAnswer:
        if request.path != PATH:
            return PingAnswer(404, f"pings go to {PATH}?sitemap=URL")
        if request.method not in ("GET", "POST"):
            return PingAnswer(405, "GET or POST")
        try:
            texts = _sitemaps(request.rel_url.raw_query_string)
            if request.method == "POST":
                texts += await self._posted(request)
        except ValueError:
            return PingAnswer(400, "the request has too many fields, or bad ones")
        except _TooLarge:
            return PingAnswer(413, f"more than {_MAX_BODY_BYTES} bytes")
        if len(texts) != 1:
            return PingAnswer(400, "say which one: sitemap=URL")
        return await self._intake.take(texts[0], self._limits)

    async def _posted(self, request: web.BaseRequest) -> list[str]:
        body = bytearray()
        async for chunk in request.content.iter_chunked(4096):
            body += chunk
            if len(body) > _MAX_BODY_BYTES:
                raise _TooLarge
        if body and request.content_type != _FORM:
            raise ValueError(request.content_type)
        return _sitemaps(body.decode("ascii"))


class _TooLarge(Exception):
    """The body of a request is too large."""


class _Refusal(asyncio.Protocol):
    """A connection beyond the allowed number."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Close the connection at once."""
        transport.close()


def _sitemaps(query: str) -> list[str]:
    """Return the sitemaps in a query or form.

    Raises:
        ValueError: it has too many fields, or is not UTF-8.

    >>> _sitemaps("sitemap=http%3A%2F%2Fa.example%2Fs.xml&x=1")
    ['http://a.example/s.xml']
    """
    fields = parse_qsl(query, max_num_fields=_MAX_FIELDS, errors="strict")
    return [value for name, value in fields if name == "sitemap"]
