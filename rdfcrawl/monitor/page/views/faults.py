"""Faults: the number of documents with each, and the latest examples of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aiohttp import web

from rdfcrawl.core.errors import Reason
from rdfcrawl.monitor.page.context import PageContext
from rdfcrawl.monitor.page.moments import FaultCount

_COUNTS: Final = "SELECT reason, n_documents FROM fault ORDER BY 2 DESC, 1"
_EXAMPLES: Final = """
SELECT uri, ended_ms, http_status, detail FROM fault_example WHERE reason = ?
ORDER BY ended_ms DESC, uri
"""


@dataclass(frozen=True, slots=True)
class FaultyDocument:
    """A document with a fault.

    Attributes:
        uri: that was crawled.
        ended_ms: Unix time; 0: no request was sent.
        http_status: of the last response; 0: there was none.
        detail: the fault, with its place.
    """

    uri: str
    ended_ms: int
    http_status: int
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultsView:
    """The faults of a crawl, by its logs.

    Attributes:
        counts: documents by reason, the most frequent first.
        reason: of the examples; empty: none.
        examples: the latest twenty at most.
    """

    counts: tuple[FaultCount, ...]
    reason: str
    examples: tuple[FaultyDocument, ...]


def routes(context: PageContext) -> list[web.RouteDef]:
    """Return the routes of the view."""

    async def show(request: web.Request) -> web.Response:
        reason = request.query.get("reason", "")
        if reason and reason not in {str(each) for each in Reason}:
            raise web.HTTPNotFound(reason="there is no such reason of faults")
        counts = await context.access.indexed(_COUNTS)
        rows = await context.access.indexed(_EXAMPLES, (reason,)) if reason else []
        view = FaultsView(
            counts=tuple(FaultCount(reason=name, n=n) for name, n in counts),
            reason=reason,
            examples=tuple(FaultyDocument(*row) for row in rows),
        )
        return context.renderer.respond(request, "faults.html", view)

    return [web.get("/faults", show)]
