"""Faults: the number of documents with each, and the latest examples of one."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from rdfcrawl.core.errors import Reason
from rdfcrawl.monitor.page.context import PageContext

_COUNTS: Final = "SELECT reason, n_documents AS n FROM fault ORDER BY 2 DESC, 1"
_EXAMPLES: Final = """
SELECT uri, ended_ms, http_status, detail FROM fault_example WHERE reason = ?
ORDER BY ended_ms DESC, uri
"""


def routes(context: PageContext) -> list[web.RouteDef]:
    """Return the routes of the view."""

    async def show(request: web.Request) -> web.Response:
        reason = request.query.get("reason", "")
        if reason and reason not in {str(each) for each in Reason}:
            raise web.HTTPNotFound(reason="there is no such reason of faults")
        return context.renderer.respond(
            request,
            "faults.html",
            counts=await context.access.listed(_COUNTS),
            reason=reason,
            examples=await context.access.listed(_EXAMPLES, reason),
        )

    return [web.get("/faults", show)]
