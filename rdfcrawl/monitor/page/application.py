"""The web application: routes and server."""

from __future__ import annotations

import asyncio
import socket
from importlib.resources import files
from typing import Final, cast

from aiohttp import web

from rdfcrawl.core.small_server import BoundedConnections
from rdfcrawl.monitor.page.context import PageContext, PageMessages
from rdfcrawl.monitor.page.crawl_access import CrawlAccess
from rdfcrawl.monitor.page.guarding import REQUEST_LOG, FormToken, PageGuard
from rdfcrawl.monitor.page.host_table import HostSweep
from rdfcrawl.monitor.page.moment_feed import MomentFeed
from rdfcrawl.monitor.page.options import PageOptions
from rdfcrawl.monitor.page.rendering import PageRenderer
from rdfcrawl.monitor.page.views import (
    classes,
    control,
    datasets,
    export,
    faults,
    graph,
    host,
    hosts,
    metrics,
    now,
    query,
    report,
    settings,
    uri,
)

_STATIC: Final = files("rdfcrawl.monitor.page.static")
_TYPES: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_VIEWS: Final = (
    *(now, faults, hosts, host, control, uri, datasets, graph, query, report),
    *(classes, export, settings, metrics),
)
_MOST_CONNECTIONS: Final = 512  # a few per visitor, and `MOST_STREAMS` streams
_HEAD_SECS: Final = 5.0  # for the head of a request, and between two requests
_MAX_FORM_BYTES: Final = 1024 * 1024
_MAX_LINE_BYTES: Final = 64 * 1024  # of a request with a SPARQL query in its URL


class PageServer:
    """The page of one crawl.

    Args:
        access: to the crawl; the caller opens and closes it.
        options: of the page.
    """

    def __init__(self, access: CrawlAccess, options: PageOptions) -> None:
        self._options = options
        self._feed, self._sweep = MomentFeed(access), HostSweep(access)
        form_token = FormToken()
        context = PageContext(
            access=access,
            renderer=PageRenderer(options, access.name, form_token),
            options=options,
            feed=self._feed,
            sweep=self._sweep,
            messages=PageMessages(),
        )
        application = web.Application(
            middlewares=[PageGuard(options, form_token).middleware()],
            client_max_size=_MAX_FORM_BYTES,
        )
        routes = [route for view in _VIEWS for route in view.routes(context)]
        for route in (*routes, web.get("/static/{path:.+}", _static)):
            self._add(application, route)
        self._server: asyncio.Server | None = None
        self._runner = web.AppRunner(
            application,
            access_log=None,
            logger=REQUEST_LOG,
            shutdown_timeout=1,
            keepalive_timeout=_HEAD_SECS,
            max_line_size=_MAX_LINE_BYTES,
        )

    def _add(self, application: web.Application, route: web.RouteDef) -> None:
        """Add a route with and without prefix: proxies may remove it."""
        for prefix in {"", self._options.prefix}:
            path = prefix + route.path
            web.RouteDef(route.method, path, route.handler, route.kwargs).register(
                application.router
            )

    async def serve(self, bound: socket.socket) -> None:
        """Start to serve at a listening socket."""
        await self._feed.begin()
        await self._runner.setup()
        handlers = cast("web.Server", self._runner.server)
        connected = BoundedConnections(handlers, _MOST_CONNECTIONS, None)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(connected, sock=bound)
        await self._sweep.open()

    async def close(self) -> None:
        """Stop serving."""
        await self._feed.end()
        if self._server is not None:
            self._server.close()
        await self._runner.cleanup()
        await self._sweep.close()


async def _static(request: web.Request) -> web.Response:
    path = request.match_info["path"]
    found = _STATIC.joinpath(
        *[part for part in path.split("/") if part not in ("", ".", "..")]
    )
    kind = _TYPES.get(path.rpartition(".")[2])
    if kind is None:
        raise web.HTTPNotFound
    try:
        content = found.read_bytes()
    except (OSError, ValueError) as error:  # also for names that cannot exist
        raise web.HTTPNotFound from error
    return web.Response(
        body=content,
        headers={
            "Content-Type": f"{kind}; charset=utf-8",
            "Cache-Control": "max-age=300",
        },
    )
