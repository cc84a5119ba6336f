"""Now: the present state of the crawl, updated live, and its history."""

from __future__ import annotations

from aiohttp import web

from rdfcrawl.core.times import now_ms
from rdfcrawl.monitor.page.context import PageContext
from rdfcrawl.monitor.page.crawl_result import read_result
from rdfcrawl.monitor.page.crawl_tail import MOST_FAULTS, MOST_FETCHES
from rdfcrawl.monitor.page.event_streams import EventStreams
from rdfcrawl.monitor.page.log_tail import MOST_LINES
from rdfcrawl.monitor.page.samples import WINDOW_SECS, read_history, read_lately


def routes(context: PageContext) -> list[web.RouteDef]:
    """Return the routes of the view."""
    streams = EventStreams(context.feed)

    async def show(request: web.Request) -> web.Response:
        recent = context.feed.samples.series()
        logged = await read_lately(context.access, now_ms() / 1000 - WINDOW_SECS)
        return context.renderer.respond(
            request,
            "now.html",
            moment=context.feed.moment,
            tail=context.feed.tail,
            recent=recent.after(logged),
            history=await read_history(context.access),
            result=await read_result(context.access),
            most_fetches=MOST_FETCHES,
            most_faults=MOST_FAULTS,
            most_lines=MOST_LINES,
        )

    return [web.get("/", show), web.get("/events", streams.serve, allow_head=False)]
