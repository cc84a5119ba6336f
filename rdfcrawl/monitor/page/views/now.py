"""Now: the present state of the crawl, updated live, and its history."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from rdfcrawl.core.times import now_ms
from rdfcrawl.monitor.page.context import PageContext
from rdfcrawl.monitor.page.crawl_moment import CrawlMoment
from rdfcrawl.monitor.page.crawl_result import CrawlResult, read_result
from rdfcrawl.monitor.page.crawl_tail import MOST_FAULTS, MOST_FETCHES, CrawlTail
from rdfcrawl.monitor.page.event_streams import EventStreams
from rdfcrawl.monitor.page.log_tail import MOST_LINES
from rdfcrawl.monitor.page.samples import (
    WINDOW_SECS,
    HistorySeries,
    RecentSeries,
    read_history,
    read_lately,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NowView:
    """The present state, and its history.

    Attributes:
        moment: as sent by `/events`.
        tail: likewise.
        recent: the last minutes, by the logs until the page was served.
        history: of the crawl, from its logs.
        result: of the crawl so far, from its logs; None before these were read.
        most_fetches: documents in a tail.
        most_faults: faults in it.
        most_lines: lines of logs in it.
    """

    moment: CrawlMoment
    tail: CrawlTail
    recent: RecentSeries
    history: HistorySeries
    result: CrawlResult | None
    most_fetches: int = MOST_FETCHES
    most_faults: int = MOST_FAULTS
    most_lines: int = MOST_LINES


def routes(context: PageContext) -> list[web.RouteDef]:
    """Return the routes of the view."""
    streams = EventStreams(context.feed)

    async def show(request: web.Request) -> web.Response:
        recent = context.feed.samples.series()
        logged = await read_lately(context.access, now_ms() / 1000 - WINDOW_SECS)
        view = NowView(
            moment=context.feed.moment,
            tail=context.feed.tail,
            recent=recent.after(logged),
            history=await read_history(context.access),
            result=await read_result(context.access),
        )
        return context.renderer.respond(request, "now.html", view)

    return [web.get("/", show), web.get("/events", streams.serve, allow_head=False)]
