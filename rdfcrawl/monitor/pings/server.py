"""The HTTP endpoint of pings: `GET /ping?sitemap=URL`, or a POST of the same.

Clients are strangers: requests are limited in bytes and time, and responses reveal
nothing of the crawl.

Source: sitemaps.org, "Informing search engine crawlers".
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

from aiohttp import web

from rdfcrawl.core.small_server import SmallServer
from rdfcrawl.monitor.pings.judging import PingResponse

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.inbox import PingLimits
    from rdfcrawl.monitor.pings.intake import PingIntake

PATH: Final = "/ping"
_MAX_BODY_BYTES: Final = 16 * 1024
_MAX_FIELDS: Final = 10
_FORM: Final = "application/x-www-form-urlencoded"


class PingServer(SmallServer):
    """The endpoint of one crawl.

    Attributes:
        counts: responses by status.
    """

    def __init__(self, intake: PingIntake, limits: PingLimits) -> None:
        super().__init__(self._answer)
        self.counts: Counter[int] = Counter()
        self._intake = intake
        self._limits = limits

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

    async def _judge(self, request: web.BaseRequest) -> PingResponse:
        if request.path != PATH:
            return PingResponse(404, f"pings go to {PATH}?sitemap=URL")
        if request.method not in ("GET", "POST"):
            return PingResponse(405, "GET or POST")
        try:
            texts = _sitemaps(request.rel_url.raw_query_string)
            if request.method == "POST":
                texts += await self._posted(request)
        except ValueError:
            return PingResponse(400, "the request has too many fields, or bad ones")
        except _TooLarge:
            return PingResponse(413, f"more than {_MAX_BODY_BYTES} bytes")
        if len(texts) != 1:
            return PingResponse(400, "give one: sitemap=URL")
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


def _sitemaps(query: str) -> list[str]:
    """Return the sitemaps in a query or form.

    Raises:
        ValueError: it has too many fields, or is not UTF-8.

    >>> _sitemaps("sitemap=http%3A%2F%2Fa.example%2Fs.xml&x=1")
    ['http://a.example/s.xml']
    """
    fields = parse_qsl(query, max_num_fields=_MAX_FIELDS, errors="strict")
    return [value for name, value in fields if name == "sitemap"]
