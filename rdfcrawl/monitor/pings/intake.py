"""Judge the pings for a crawl, and store accepted ones in its Redis."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Final, Self

from redis.exceptions import RedisError

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.frontier.connection import FrontierConnection, begun_crawl
from rdfcrawl.frontier.queue.inbox import PingLimits, WaitingPings
from rdfcrawl.frontier.queue.options import CrawlOptions
from rdfcrawl.frontier.queue.profiles import SpiderProfiles
from rdfcrawl.monitor.pings.judging import PingRefused, PingResponse, sitemap_url

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from rdfcrawl.uri.link_filter import LinkFilter

_ANSWER_SECS: Final = 10.0  # for Redis, including restarts of the embedded one
_FILTER_SECS: Final = 5.0  # oldest scope of the crawl that is used
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
