"""Report: that of `scrapy report`, made on request of a visitor."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import time
from typing import Final, NoReturn
from urllib.parse import urlencode

from aiohttp import web

from rdfcrawl.analysis.report.page import STYLE
from rdfcrawl.analysis.verifications import iter_verified
from rdfcrawl.frontier.queue.options import CrawlOptions
from rdfcrawl.monitor.page.context import PageContext
from rdfcrawl.monitor.page.guarding import is_foreign
from rdfcrawl.monitor.page.report_service import ReportService, checked_site

# The report has one style and no script; isolated as if from another site.
_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'none'; sandbox"
)

_MOST_VERIFIED: Final = 200


class _ReportView:
    """The last report, the one in progress, and the files of the last."""

    def __init__(self, context: PageContext) -> None:
        settings = context.access.settings
        parameters = CrawlOptions.one(settings, "normal_form").session_parameters
        self._renderer, self._root = context.renderer, context.access.root
        self._service = ReportService(self._root, parameters)

    async def show(self, request: web.Request) -> web.Response:
        """Show the report; begin another one on request."""
        site, service = _site(request), self._service
        if "make" in request.query:
            self._begin(request, site)
        report = await asyncio.to_thread(service.kept, site)
        found = iter_verified(self._root, site or None)
        verified = await asyncio.to_thread(list, found)
        age_secs = time.time() - report["made_ms"] / 1000 if report else None
        return self._renderer.respond(
            request,
            "report.html",
            site=site,
            report=report,
            age_secs=age_secs and max(0.0, round(age_secs, 1)),
            making=service.making,
            making_secs=round(service.making_secs, 1),
            refusal=service.refusal,
            damages=service.damages,
            verified=verified[:_MOST_VERIFIED],
            n_verified=len(verified),
        )

    def _begin(self, request: web.Request, site: str) -> NoReturn:
        if is_foreign(request):
            raise web.HTTPForbidden(reason="a link of another site")
        self._service.begin(site)  # or another report is in progress, as the page shows
        kept = {"site": site, "format": request.query.get("format", "")}
        words = urlencode({name: value for name, value in kept.items() if value})
        raise web.HTTPSeeOther(self._renderer.at("/report") + (words and f"?{words}"))

    async def page(self, request: web.Request) -> web.FileResponse:
        """Send the report as one page."""
        path = await asyncio.to_thread(self._service.page, _site(request))
        if path is None:
            raise web.HTTPNotFound(reason="no such report was made")
        kind = "text/html; charset=utf-8"
        headers = {"Content-Type": kind, "Content-Security-Policy": _POLICY}
        return web.FileResponse(path, headers=headers)

    async def file(self, request: web.Request) -> web.FileResponse:
        """Send an item of the report, or all of them as JSON."""
        name = request.query.get("name", "")
        path = await asyncio.to_thread(self._service.file, _site(request), name)
        if path is None:
            raise web.HTTPNotFound(reason="no such file")
        kind = "application/json" if name.endswith(".json") else "text/csv"
        headers = {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Disposition": f'attachment; filename="{name}"',
        }
        return web.FileResponse(path, headers=headers)


def routes(context: PageContext) -> list[web.RouteDef]:
    """Return the routes of the view."""
    view = _ReportView(context)
    return [
        web.get("/report", view.show),
        web.get("/report/page", view.page),
        web.get("/report/file", view.file),
    ]


def _site(request: web.Request) -> str:
    try:
        return checked_site(request.query.get("site", ""))
    except ValueError as error:
        raise web.HTTPBadRequest(reason=str(error)) from error
