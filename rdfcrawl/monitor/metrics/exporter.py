"""The exporter: `/metrics` of all crawls in one Redis, in one process."""

from __future__ import annotations

import asyncio
import logging
from time import monotonic
from typing import TYPE_CHECKING, Final, Self

from aiohttp import web
from prometheus_client.exposition import choose_encoder
from redis.exceptions import RedisError

from rdfcrawl.core.options.merging import apply_defaults
from rdfcrawl.core.small_server import SmallServer
from rdfcrawl.frontier.connection import FrontierConnection, begun_crawl
from rdfcrawl.frontier.queue.options import CrawlOptions
from rdfcrawl.frontier.redis.address import named_redis
from rdfcrawl.monitor.metrics.families import families_of
from rdfcrawl.monitor.metrics.reading import (
    CrawlSearch,
    HighWater,
    RedisReading,
    read_redis,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from prometheus_client.core import Metric
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

PATH: Final = "/metrics"
_READ_SECS: Final = 8.0  # Prometheus waits for ten
_FRESH_SECS: Final = 1.0  # workers report no more often


class MetricsEndpoint:
    """Metrics for Prometheus, from readings of a Redis.

    Redis is read once a second at most, for any number of requests.

    Args:
        read: returns a reading; None if Redis cannot be read.
    """

    def __init__(self, read: Callable[[], Awaitable[RedisReading | None]]) -> None:
        self._read = read
        self._marks = HighWater()
        self._reading = asyncio.Lock()
        self._families: list[Metric] = []
        self._read_at = float("-inf")

    async def respond(self, accept: str) -> web.Response:
        """Return the present metrics, at most a second old.

        Args:
            accept: formats that the client accepts (header `Accept`).
        """
        encode, content_type = choose_encoder(accept)
        body = encode(_Read(await self.families()))
        return web.Response(body=body, headers={"Content-Type": content_type})

    async def families(self) -> list[Metric]:
        """Return the present metrics, at most a second old."""
        async with self._reading:
            if monotonic() - self._read_at >= _FRESH_SECS:
                reading = await self._read()
                crawls = reading.crawls if reading else ()
                figures = self._marks.raised(crawls) if reading else {}
                self._families = families_of(reading, figures)
                self._read_at = monotonic()
        return self._families


class MetricsExporter:
    """Reads the crawls of a Redis, and serves metrics."""

    def __init__(self, connection: FrontierConnection, named: str) -> None:
        self._connection = connection
        self._redis = connection.frontier.redis
        self._search = CrawlSearch(self._redis, named)
        self._metrics = MetricsEndpoint(self._read)
        self._server = SmallServer(self._answer)
        self._looking: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, settings: BaseSettings) -> Self:
        """Connect to the Redis that settings name, or to that of a local crawl.

        Raises:
            ConfigError: a setting is wrong, or Redis cannot be used.
        """
        settings = settings.copy()
        apply_defaults(settings)
        named = str(settings.get("CRAWL_ID") or "")
        if named_redis(settings) is None:
            named = begun_crawl(settings)
        options = CrawlOptions.from_settings(settings, named or "exporter")
        connection = await FrontierConnection.connect(options, settings)
        exporter = cls(connection, named)
        try:
            with connection.explaining():
                await exporter._search.look()
        except BaseException:
            await connection.close()
            raise
        connection.opened()
        return exporter

    async def listen(self, host: str, port: int) -> int:
        """Start to serve; return the port.

        Raises:
            OSError: the address cannot be used.
        """
        bound = await self._server.open(host, port)
        self._looking = asyncio.create_task(self._look())
        return bound

    async def close(self) -> None:
        """Stop serving, and disconnect."""
        if self._looking is not None:
            self._looking.cancel()
        await self._server.close()
        await self._connection.close()

    async def _look(self) -> None:
        """Search for new crawls regularly."""
        while True:
            await asyncio.sleep(_FRESH_SECS)
            try:
                await self._search.look()
            except (RedisError, OSError) as error:
                logger.debug("cannot search for crawls: %s", error)

    async def _answer(self, request: web.BaseRequest) -> web.Response:
        if request.path != PATH:
            response = web.Response(status=404, text=f"metrics are at {PATH}\n")
        elif request.method not in ("GET", "HEAD"):
            response = web.Response(status=405, headers={"Allow": "GET, HEAD"})
        else:
            accept = request.headers.get("Accept", "")
            response = await self._metrics.respond(accept)
        response.force_close()
        return response

    async def families(self) -> list[Metric]:
        """Return the present metrics."""
        return await self._metrics.families()

    async def _read(self) -> RedisReading | None:
        try:
            async with asyncio.timeout(_READ_SECS):
                return await read_redis(self._redis, self._search.names)
        except (RedisError, OSError) as error:  # a timeout is an `OSError`
            logger.warning("Redis cannot be read: %s", error)
            return None


class _Read:
    """A reading, in place of a registry of `prometheus_client`."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        """Return all metrics."""
        return self._families
