"""The web application: paths and server."""

from __future__ import annotations

import asyncio
import re
import socket
from importlib.resources import files
from typing import Final, cast

from aiohttp import web
from aiohttp.typedefs import Handler
from scrapy.settings import BaseSettings

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.small_server import BoundedConnections
from rdfcrawl.monitor.page.crawl_access import CrawlAccess
from rdfcrawl.monitor.page.crawl_pages import CrawlPages
from rdfcrawl.monitor.page.guarding import REQUEST_LOG, FormToken, PageGuard
from rdfcrawl.monitor.page.options import PageOptions
from rdfcrawl.monitor.page.rendering import VIEW, PageRenderer
from rdfcrawl.monitor.page.views.crawls import CrawlsView

_STATIC: Final = files("rdfcrawl.monitor.page.static")
_TYPES: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_MOST_CONNECTIONS: Final = 512  # a few per visitor, and `MOST_STREAMS` streams
_HEAD_SECS: Final = 5.0  # for the head of a request, and between two requests
_MAX_FORM_BYTES: Final = 1024 * 1024
_MAX_LINE_BYTES: Final = 64 * 1024  # of a request with a SPARQL query in its URL
_of_crawl = re.compile(r"/crawl/([A-Za-z0-9._-]{1,100})(/.*)?").fullmatch
_READING: Final = ("GET", "HEAD")


class PageServer:
    """The page of a crawl, with those of the others below `/crawl/NAME/`.

    Args:
        settings: of the command.
        main: access to the crawl at the top; None: a list of crawls is there.
        options: of the page.
    """

    def __init__(
        self, settings: BaseSettings, main: CrawlAccess | None, options: PageOptions
    ) -> None:
        self._options = options
        form_token = FormToken()
        self._pages = CrawlPages(settings, options, form_token, main)
        name = main.name if main else ""
        renderer = PageRenderer(options, name, form_token, top=options.prefix)
        self._list = CrawlsView(settings, name, renderer)
        application = web.Application(
            middlewares=[PageGuard(options, form_token).middleware()],
            client_max_size=_MAX_FORM_BYTES,
        )
        application.router.add_route("*", "/{path:.*}", self._respond)
        self._server: asyncio.Server | None = None
        self._runner = web.AppRunner(
            application,
            access_log=None,
            logger=REQUEST_LOG,
            shutdown_timeout=1,
            keepalive_timeout=_HEAD_SECS,
            max_line_size=_MAX_LINE_BYTES,
        )

    async def _respond(self, request: web.Request) -> web.StreamResponse:
        """Respond at a path with the prefix, or without: proxies may remove it."""
        path, prefix = request.path, self._options.prefix
        below = path.removeprefix(prefix)
        for each in dict.fromkeys((below or "/", path)):
            if each.startswith("/") and (found := await self._handler(request, each)):
                return await found(request)
        raise web.HTTPNotFound

    async def _handler(self, request: web.Request, path: str) -> Handler | None:
        is_reading = request.method in _READING
        if path.startswith("/static/") and is_reading:
            return _static(path.removeprefix("/static/"))
        page = self._pages.main
        if match := _of_crawl(path):
            try:
                page = await self._pages.of(match[1])
            except ConfigError as error:
                raise web.HTTPNotFound(reason=str(error)) from error
            path = match[2] or "/"
        elif is_reading and (path == "/crawls" or (page is None and path == "/")):
            return self._list.respond
        request[VIEW] = path
        return page.handler(request.method, path) if page else None

    async def serve(self, bound: socket.socket) -> None:
        """Start to serve at a listening socket.

        Raises:
            ConfigError: Redis refuses, and will do so until a setting is changed.
        """
        await self._pages.open()
        await self._runner.setup()
        handlers = cast("web.Server", self._runner.server)
        connected = BoundedConnections(handlers, _MOST_CONNECTIONS, None)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(connected, sock=bound)

    async def close(self) -> None:
        """Stop serving."""
        if self._server is not None:
            self._server.close()
        await self._pages.close()
        await self._runner.cleanup()


def _static(path: str) -> Handler | None:
    found = _STATIC.joinpath(
        *[part for part in path.split("/") if part not in ("", ".", "..")]
    )
    kind = _TYPES.get(path.rpartition(".")[2])
    if kind is None:
        return None
    try:
        content = found.read_bytes()
    except (OSError, ValueError):  # also for names that cannot exist
        return None

    async def respond(_request: web.Request) -> web.Response:
        return web.Response(
            body=content,
            headers={
                "Content-Type": f"{kind}; charset=utf-8",
                "Cache-Control": "max-age=300",
            },
        )

    return respond
