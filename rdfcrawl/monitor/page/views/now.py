"""Now: the present state of the crawl, updated live, and its history."""

from __future__ import annotations

from typing import Any, Final

from aiohttp import web

from rdfcrawl.analysis.crawl_index.vocabulary import CLASS, PROPERTY
from rdfcrawl.core.times import now_ms
from rdfcrawl.monitor.page.context import PageContext
from rdfcrawl.monitor.page.crawl_access import CrawlAccess
from rdfcrawl.monitor.page.crawl_tail import MOST_FAULTS, MOST_FETCHES, MOST_LINES
from rdfcrawl.monitor.page.event_streams import EventStreams
from rdfcrawl.monitor.page.samples import WINDOW_SECS, read_history, read_lately

MOST_CLASSES: Final = 8
_MOST_RUNS: Final = 20
_RUNS: Final = """
SELECT run + 1 AS run, first_ms, last_ms, (last_ms - first_ms) / 1000.0 AS secs,
    n_documents, n_filled, n_statements, n_bytes, n_faulty
FROM crawl_run ORDER BY run DESC LIMIT ?
"""
_COUNTS: Final = """
SELECT (SELECT COUNT(*) FROM web_host WHERE n_documents > 0) AS n_hosts,
    SUM(kind = ?) AS n_classes, SUM(kind = ?) AS n_properties
FROM vocabulary WHERE term <> ''
"""
_TERMS: Final = """
SELECT term, n FROM vocabulary WHERE kind = ? AND term <> ''
ORDER BY n DESC, term LIMIT ?
"""


async def read_result(access: CrawlAccess) -> dict[str, Any] | None:
    """Return the result of a crawl so far; None before anything is indexed.

    It has the latest runs, the last one first, numbers of hosts with documents, of
    classes and of properties (up to `MOST_TERMS`), and the most frequent classes.
    """
    runs = await access.listed(_RUNS, _MOST_RUNS)
    if not runs:
        return None
    counts, *_ = await access.listed(_COUNTS, CLASS, PROPERTY) or [{}]
    return {
        "runs": runs,
        "n_hosts": counts.get("n_hosts", 0),
        "n_classes": counts.get("n_classes") or 0,
        "n_properties": counts.get("n_properties") or 0,
        "classes": await access.listed(_TERMS, CLASS, MOST_CLASSES),
    }


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
