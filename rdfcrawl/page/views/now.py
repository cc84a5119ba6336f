"""Now: what the crawl is doing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiohttp import web

from rdfcrawl.operating.status import read_status

if TYPE_CHECKING:
    from rdfcrawl.operating.status import CrawlStatus
    from rdfcrawl.page.context import PageContext


@dataclass(frozen=True, slots=True, kw_only=True)
class NowView:
    """The moment.

    Attributes:
        status: of the frontier; None while it is away.
        why_away: why it is.
    """

    status: CrawlStatus | None
    why_away: str


def routes(context: PageContext) -> list[web.RouteDef]:
    """Return the routes of the view."""

    async def show(request: web.Request) -> web.Response:
        view = await read_now(context)
        return context.renderer.respond(request, "now.html", view)

    return [web.get("/", show)]


async def read_now(context: PageContext) -> NowView:
    """Return the moment."""
    status = await context.access.ask(read_status)
    return NowView(status=status, why_away=context.access.why_away)
