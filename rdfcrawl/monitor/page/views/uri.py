"""A URI: everything known of it, and why it was fetched or not."""

from __future__ import annotations

import asyncio
from typing import Final

from aiohttp import web

from rdfcrawl.monitor.page.context import PageContext
from rdfcrawl.monitor.page.rendering import one_of
from rdfcrawl.monitor.page.uri_reading import UriReader

_MOST_CONCURRENT: Final = 2  # searches of the logs
# The documents that were fetched last.
_RECENT: Final = (
    "SELECT ended_ms, uri, status, http_status, n_statements, reason"
    " FROM recent_fetches ORDER BY ended_ms DESC LIMIT 20"
)
# The last documents with each fault.
_EXAMPLES: Final = (
    "SELECT reason, ended_ms, uri FROM (SELECT *, ROW_NUMBER() OVER"
    " (PARTITION BY reason ORDER BY ended_ms DESC) AS n FROM fault_example)"
    " WHERE n <= 3 ORDER BY reason, ended_ms DESC LIMIT 300"
)


def routes(context: PageContext) -> list[web.RouteDef]:
    """Return the routes of the view."""
    reader = UriReader(context.access)
    turns = asyncio.Semaphore(_MOST_CONCURRENT)

    async def show(request: web.Request) -> web.Response:
        text = request.query.get("u", "").strip()
        if not text:
            return context.renderer.respond(
                request,
                "uri_start.html",
                recent=await context.access.listed(_RECENT),
                examples=await context.access.listed(_EXAMPLES),
            )
        async with turns:
            found = await reader.read(
                text,
                version=request.query.get("version", ""),
                former=request.query.get("former", ""),
            )
        return context.renderer.respond(request, "uri.html", **found)

    async def statements(request: web.Request) -> web.Response:
        text = request.query.get("u", "").strip()
        form = one_of(request.query, "format", ("ttl", "nq"), "ttl")
        async with turns:
            body = await reader.download(
                text, version=request.query.get("version", ""), form=form
            )
        if body is None:
            raise web.HTTPNotFound(reason="no statements of this URI are stored")
        # A type that no browser renders, regardless of the statements.
        return web.Response(
            body=body,
            headers={
                "Content-Type": "text/plain; charset=utf-8",
                "Content-Disposition": f'attachment; filename="statements.{form}"',
            },
        )

    return [web.get("/uri", show), web.get("/uri/statements", statements)]
