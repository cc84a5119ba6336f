"""The HTTP endpoint of pings: `GET /ping?sitemap=URL`, or a POST of the same.

Clients are strangers: requests are limited in bytes and time, and responses reveal
nothing of the crawl.

Source: sitemaps.org, "Informing search engine crawlers".
"""

from __future__ import annotations

import asyncio
from collections import Counter
from time import monotonic
from typing import Final, Self
from urllib.parse import parse_qsl

from aiohttp import web
from redis.exceptions import RedisError
from scrapy.settings import BaseSettings

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.small_server import SmallServer
from rdfcrawl.frontier.connection import FrontierConnection, begun_crawl
from rdfcrawl.frontier.queue.inbox import PingLimits, WaitingPings
from rdfcrawl.frontier.queue.options import CrawlOptions
from rdfcrawl.frontier.queue.profiles import SpiderProfiles
from rdfcrawl.monitor.pings.judging import PingRefused, PingResponse, sitemap_url
from rdfcrawl.uri.link_filter import LinkFilter

PATH: Final = "/ping"
_MAX_BODY_BYTES: Final = 16 * 1024
_MAX_FIELDS: Final = 10
_FORM: Final = "application/x-www-form-urlencoded"
_ANSWER_SECS: Final = 10.0  # for Redis, including restarts of the embedded one
_FILTER_SECS: Final = 5.0  # oldest scope of the crawl that is used


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


_RETRY_SECS: Final = 60
NO_REDIS: Final = PingResponse(503, "the crawl cannot be reached", _RETRY_SECS)


class PingIntake:
    """Accepts the pings for one crawl.

    A ping is answered with 202 once Redis has the sitemap: from then on it survives the
    end of this process and of all workers. The crawl need not be running: its next run
    reads the sitemaps that wait.
    """

    def __init__(self, connection: FrontierConnection, options: CrawlOptions) -> None:
        self.crawl_id = options.crawl_id
        self._connection = connection
        self._frontier = frontier = connection.frontier
        self._guard = options.guard
        self._pings = WaitingPings(frontier.redis, frontier.scripts, options.crawl_id)
        self._profiles = SpiderProfiles(frontier, connection.outage)
        self._filters: list[LinkFilter] = []
        self._known_until = 0.0

    @classmethod
    async def open(cls, settings: BaseSettings) -> Self:
        """Connect to the Redis of the crawl named by the settings.

        Raises:
            ConfigError: a setting is wrong, or Redis cannot be used.
        """
        name = begun_crawl(settings)
        options = CrawlOptions.from_settings(settings, name)
        connection = await FrontierConnection.connect(options, settings)
        connection.opened()
        return cls(connection, options)

    async def close(self) -> None:
        """Disconnect."""
        await self._connection.close()

    async def n_workers(self) -> int:
        """Return the number of running workers of the crawl."""
        return len(await self._frontier.live_workers())

    async def take(self, text: str, limits: PingLimits) -> PingResponse:
        """Queue the URL of a sitemap, in any spelling."""
        try:
            url = sitemap_url(text, self._guard)
            return await asyncio.wait_for(self._keep(url, limits), _ANSWER_SECS)
        except PingRefused as refused:
            return refused.answer
        except (RedisError, ConfigError, TimeoutError):
            return NO_REDIS

    async def _keep(self, url: str, limits: PingLimits) -> PingResponse:
        filters = await self._wanted()
        if filters and not any(each.admits_source(url) for each in filters):
            return PingResponse(403, "not in the scope of this crawl")
        persistent = self._connection.outage.persistent
        kept = await persistent("keep a ping", self._pings.keep, url, limits)
        match kept.word:
            case "kept":
                return PingResponse(202, "accepted")
            case "late":
                return PingResponse(429, "too many pings", max(1, kept.number))
            case "full":
                return PingResponse(503, "too many sitemaps wait", _RETRY_SECS)
            case _:
                return PingResponse(503, "there is no crawl", _RETRY_SECS)

    async def _wanted(self) -> list[LinkFilter]:
        if monotonic() >= self._known_until:
            persistent = self._connection.outage.persistent
            self._filters = await persistent("scope", self._profiles.link_filters)
            self._known_until = monotonic() + _FILTER_SECS
        return self._filters
