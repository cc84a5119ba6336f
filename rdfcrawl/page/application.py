"""The application: its routes, and the server that listens."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Final

from aiohttp import web

from rdfcrawl.page.context import PageContext
from rdfcrawl.page.guarding import PageGuard
from rdfcrawl.page.rendering import PageRenderer
from rdfcrawl.page.views import datasets, graph, now, query, report

if TYPE_CHECKING:
    from rdfcrawl.page.crawl_access import CrawlAccess
    from rdfcrawl.page.options import PageOptions

_STATIC: Final = files("rdfcrawl.page") / "static"
_TYPES: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_MAX_FORM_BYTES: Final = 1024 * 1024
_MAX_LINE_BYTES: Final = 64 * 1024  # of a request with a query of SPARQL in its URL


class PageServer:
    """The page of one crawl.

    Args:
        access: to the crawl; opened and closed by others.
        options: of the page.
    """

    def __init__(self, access: CrawlAccess, options: PageOptions) -> None:
        self._options = options
        context = PageContext(access, PageRenderer(options, access.name), options)
        application = web.Application(
            middlewares=[PageGuard(options).middleware()],  # type: ignore[list-item]
            client_max_size=_MAX_FORM_BYTES,
        )
        for route in (
            *now.routes(context),
            *query.routes(context),
            *report.routes(context),
            *datasets.routes(context),
            *graph.routes(context),
            web.get("/static/{path:.+}", _static),
        ):
            self._add(application, route)
        self._runner = web.AppRunner(
            application,
            access_log=None,
            shutdown_timeout=1,
            max_line_size=_MAX_LINE_BYTES,
        )

    def _add(self, application: web.Application, route: web.RouteDef) -> None:
        """Add a route with and without prefix: proxies may take it off."""
        for prefix in {"", self._options.prefix}:
            path = prefix + route.path
            web.RouteDef(route.method, path, route.handler, route.kwargs).register(
                application.router
            )

    async def listen(self) -> str:
        """Serve from now on; return the URL.

        Raises:
            OSError: the address cannot be used.
        """
        await self._runner.setup()
        options = self._options
        site = web.TCPSite(self._runner, options.address, options.port)
        await site.start()
        port = self._runner.addresses[0][1]
        host = f"[{options.address}]" if ":" in options.address else options.address
        return f"http://{host}:{port}{options.prefix}/"

    async def close(self) -> None:
        """Serve no more."""
        await self._runner.cleanup()


async def _static(request: web.Request) -> web.Response:
    path = request.match_info["path"]
    found = _STATIC.joinpath(
        *[part for part in path.split("/") if part not in ("", ".", "..")]
    )
    kind = _TYPES.get(path.rpartition(".")[2])
    if kind is None or not found.is_file():
        raise web.HTTPNotFound
    return web.Response(
        body=found.read_bytes(),
        headers={
            "Content-Type": f"{kind}; charset=utf-8",
            "Cache-Control": "max-age=300",
        },
    )
