"""The metrics of the crawl for Prometheus, as of the exporter, at `/metrics`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp import web

from rdfcrawl.core.errors import ConfigError, needed_by_operator

if TYPE_CHECKING:
    from rdfcrawl.monitor.metrics.exporter import MetricsEndpoint
    from rdfcrawl.monitor.page.context import PageContext


def routes(context: PageContext) -> list[web.RouteDef]:
    """Return the route; without the library, it explains how to install one."""
    answers: list[MetricsEndpoint] = []

    async def show(request: web.Request) -> web.Response:
        try:
            if not answers:
                answers.append(_answer(context))
        except ConfigError as error:
            return web.Response(status=404, text=f"{error}\n")
        return await answers[0].respond(request.headers.get("Accept", ""))

    return [web.get("/metrics", show)]


def _answer(context: PageContext) -> MetricsEndpoint:
    with needed_by_operator("metrics", "/metrics"):
        from rdfcrawl.monitor.metrics.exporter import MetricsEndpoint  # noqa: PLC0415
        from rdfcrawl.monitor.metrics.reading import RedisReading, read_redis  # noqa: PLC0415

    async def read() -> RedisReading | None:
        return await context.access.read(
            lambda crawl: read_redis(crawl.redis, [crawl.crawl_id])
        )

    return MetricsEndpoint(read)
