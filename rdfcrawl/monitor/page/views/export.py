"""Export: the stored statements as a file, and the commands for other formats."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from typing import Final

from aiohttp import web

from rdfcrawl.core.console import program
from rdfcrawl.core.processes import bare_environment, start_module_async
from rdfcrawl.monitor.page.context import PageContext
from rdfcrawl.monitor.page.guarding import is_foreign
from rdfcrawl.stores.options import StoreOptions

FORMATS: Final = {
    "nq.gz": "N-Quads, with the document of each statement",
    "nt.gz": "N-Triples",
    "trig.gz": "TriG",
    "jsonld.gz": "JSON-LD",
    "jsonl.gz": "a JSON object for each thing of a class, one on a line",
}
_COMMANDS: Final = {
    "export --to crawl.nq.gz": "the same as a file",
    "export --to hosts/ --by-host": "a file for each host",
    "export --to crawl.parquet": "columns for pandas, DuckDB and Spark",
    "export --to crawl.hdt": "HDT, compressed and indexed",
    "export --describe": "a description in VoID and DCAT",
    "query --format csv 'SELECT ...' > rows.csv": "rows of a query",
}
_MODULE: Final = "rdfcrawl.monitor.page.export_child"
_PIECE_BYTES: Final = 64 * 1024
_PATIENCE_SECS: Final = 60.0  # for a visitor that does not read
_FIRST_SECS: Final = 600.0  # for the first piece


class _ExportView:
    """The formats of a download, and the download; one at a time."""

    def __init__(self, context: PageContext) -> None:
        self._renderer, self._access = context.renderer, context.access
        self._is_once = StoreOptions.one(context.access.settings, "is_once")
        self._turn = asyncio.Lock()

    async def show(self, request: web.Request) -> web.Response:
        """Show formats and commands."""
        start = f"{program()} "
        name = f" -s CRAWL_ID={self._access.name}"
        commands = {
            start + line.replace("export", f"export{name}"): text
            for line, text in _COMMANDS.items()
        }
        return self._renderer.respond(
            request,
            "export.html",
            formats=FORMATS,
            commands=commands,
            is_busy=self._turn.locked(),
        )

    async def file(self, request: web.Request) -> web.StreamResponse:
        """Send the stored statements as a file."""
        form = request.query.get("as", "")
        if form not in FORMATS:
            raise web.HTTPBadRequest(reason=f"as: must be one of {', '.join(FORMATS)}")
        if is_foreign(request):
            raise web.HTTPForbidden(reason="a link of another site")
        if self._turn.locked():
            raise web.HTTPServiceUnavailable(reason="another file is being exported")
        root, name = self._access.root, f"{self._access.name}.{form}"
        async with self._turn:
            job = {"root": str(root), "format": form, "is_once": self._is_once}
            process = await start_module_async(
                _MODULE, job=job, stdout=PIPE, stderr=DEVNULL, env=bare_environment()
            )
            try:
                return await _send(request, process, name)
            finally:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()


def routes(context: PageContext) -> list[web.RouteDef]:
    """Return the routes of the view."""
    view = _ExportView(context)
    return [
        web.get("/export", view.show),
        web.get("/export/file", view.file, allow_head=False),
    ]


async def _send(
    request: web.Request, process: Process, name: str
) -> web.StreamResponse:
    """Send the output of a process, unless it is incomplete."""
    response = web.StreamResponse(
        headers={
            "Content-Type": "application/octet-stream",
            "Content-Disposition": f'attachment; filename="{name}"',
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
        }
    )
    output = process.stdout
    if output is None:
        raise web.HTTPServiceUnavailable(reason="no process")
    async with asyncio.timeout(_FIRST_SECS):
        piece = await output.read(_PIECE_BYTES)
    if not piece:
        raise web.HTTPServiceUnavailable(reason="the logs cannot be read")
    await response.prepare(request)
    try:
        while piece:
            async with asyncio.timeout(_PATIENCE_SECS):
                await response.write(piece)
            piece = await output.read(_PIECE_BYTES)
    except (ConnectionError, TimeoutError):
        return _broken(request, response)
    if await process.wait():
        return _broken(request, response)
    await response.write_eof()
    return response


def _broken(request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    """Close the connection, so that the visitor knows that the end is missing."""
    if request.transport is not None:
        request.transport.abort()
    return response
