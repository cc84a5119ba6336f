"""One host: its documents, its limits, and its next visit."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from rdfcrawl.analysis.crawl_index.hosts import MAX_CHARS, MAX_FETCHES
from rdfcrawl.core.times import now_ms
from rdfcrawl.monitor.operating.crawl import OperatedCrawl
from rdfcrawl.monitor.operating.hosts import HostDetail, read_host, read_origins
from rdfcrawl.monitor.operating.tables import DELAY_ORIGINS, budget_text, next_text
from rdfcrawl.monitor.page.context import PageContext
from rdfcrawl.monitor.page.dataset_table import read_host_datasets
from rdfcrawl.monitor.page.rendering import int_parameter
from rdfcrawl.monitor.page.timeline import HostTimeline, draw_timeline
from rdfcrawl.uri.hosts import origin_of

_MAX_KEY: Final = 300
_MAX_NAMES: Final = 20  # hosts of a key
_MAX_ORIGINS: Final = 20
_MAX_FAULTS: Final = 50
_MAX_SOURCES: Final = 100
_MAX_DATASETS: Final = 50
_SHOWN: Final = 50  # fetches
_HEAD: Final = 10  # of the queue
_SUMS: Final = """
SELECT count(*) AS n_known, ifnull(sum(n_documents), 0) AS n_documents,
    ifnull(sum(n_statements), 0) AS n_statements, ifnull(sum(n_bytes), 0) AS n_bytes,
    ifnull(sum(n_faulty), 0) AS n_faulty, ifnull(max(last_ms), 0) AS last_ms
FROM host WHERE name IN ({})
"""
_NO_SUMS: Final = dict.fromkeys(
    ("n_known", "n_documents", "n_statements", "n_bytes", "n_faulty", "last_ms"), 0
)
_FETCHES: Final = """
SELECT f.uri, f.started_ms, f.took_ms, f.http_status, f.status, f.n_statements,
    f.n_bytes, f.reason FROM host_fetch f JOIN host h ON h.id = f.host
WHERE h.name IN ({}) ORDER BY f.started_ms DESC LIMIT ?
"""
# With the latest URI of each reason.
_FAULTS: Final = """
SELECT f.reason, sum(f.n) AS n, f.uri, max(f.ms) AS ms, f.detail
FROM host_fault f JOIN host h ON h.id = f.host
WHERE h.name IN ({}) GROUP BY f.reason ORDER BY n DESC, f.reason LIMIT ?
"""
_SOURCES: Final = """
SELECT s.uri, s.kind, s.found_by, s.ms
FROM host_source s JOIN host h ON h.id = s.host
WHERE h.name IN ({}) ORDER BY s.ms DESC LIMIT ?
"""


def routes(context: PageContext) -> list[web.RouteDef]:
    """Return the routes of the view."""

    async def show(request: web.Request) -> web.Response:
        key = request.query.get("key", "")
        if not key or len(key) > _MAX_KEY:
            raise web.HTTPBadRequest(reason="key: name a host, as on /hosts")
        most = int_parameter(request.query, "most", _SHOWN, least=1, most=MAX_FETCHES)
        table = context.sweep.table
        names = await table.names_of(key, _MAX_NAMES) or [key]
        limits, delay_ms = await _read_limits(context, key)
        logged = await _read_logs(context, names)
        is_logged = bool(logged.pop("n_known") or logged["datasets"])
        if not (limits["detail"] or is_logged):
            raise web.HTTPNotFound(reason="this host is not known")
        fetches = logged["fetches"]
        logged["fetches"] = fetches[:most]
        origins = _origins_of(names, [each["uri"] for each in fetches])
        robots = await context.access.read(lambda crawl: read_origins(crawl, origins))
        return context.renderer.respond(
            request,
            "host.html",
            key=key,
            names=names,
            robots=robots or [],
            timeline=_timeline(fetches, delay_ms),
            why_away=context.access.why_away,
            now_ms=now_ms(),
            message=context.messages.of(request.query),
            **limits,
            **logged,
        )

    return [web.get("/host", show)]


async def _read_limits(
    context: PageContext, key: str
) -> tuple[dict[str, Any], int | None]:
    """Return the state of a host in the frontier, and its delay if that is known.

    The delay is known if a running worker keeps it, or if it is not that of settings.
    """
    found = await context.access.read(lambda crawl: _read_detail(crawl, key))
    detail, is_worked = found or (None, False)
    summary = None if detail is None else detail.summary
    is_known = summary is not None and (is_worked or summary.delay_from != "setting")
    texts = {
        "detail": detail,
        "is_delay_known": is_known,
        "delay_from": DELAY_ORIGINS[summary.delay_from] if summary else "",
        "next_visit": next_text(detail) if detail else "",
        "budget": budget_text(summary.budget) if summary else "",
    }
    return texts, summary.delay_ms if summary and is_known else None


async def _read_detail(
    crawl: OperatedCrawl, key: str
) -> tuple[HostDetail | None, bool]:
    """Return a host, and whether any worker runs."""
    detail = await read_host(crawl, key, most=_HEAD)
    return detail, bool(await crawl.frontier.live_workers())


async def _read_logs(context: PageContext, names: Sequence[str]) -> dict[str, Any]:
    """Return sums, fetches, faults, sitemaps and datasets of some hosts."""
    marks = ", ".join("?" * len(names))

    async def listed(query: str, *values: int) -> list[dict[str, Any]]:
        return await context.access.listed(query.format(marks), *names, *values)

    sums, fetches, faults, sources = await asyncio.gather(
        listed(_SUMS),
        listed(_FETCHES, MAX_FETCHES),
        listed(_FAULTS, _MAX_FAULTS),
        listed(_SOURCES, _MAX_SOURCES),
    )
    for each in fetches:
        each["is_complete"] = len(each["uri"]) < MAX_CHARS
    datasets = await read_host_datasets(
        context.access.indexed, names, _MAX_DATASETS + 1
    )
    return (sums[0] if sums else _NO_SUMS) | {
        "fetches": fetches,
        "faults": faults,
        "sources": sources,
        "datasets": datasets[:_MAX_DATASETS],
        "has_more_datasets": len(datasets) > _MAX_DATASETS,
    }


def _timeline(
    fetches: Sequence[Mapping[str, Any]], delay_ms: int | None
) -> HostTimeline | None:
    """Return the picture of the requests among the crawls of URIs."""
    requests = [
        (each["started_ms"], each["took_ms"], bool(each["reason"]))
        for each in fetches
        # Without a response and within a millisecond, no request was sent.
        if each["took_ms"] or each["http_status"]
    ]
    return draw_timeline(requests, delay_ms)


def _origins_of(names: Sequence[str], urls: Sequence[str]) -> list[str]:
    """Return the origins of a host: those of its requests, and its default ones."""
    found = [origin_of(url) for url in urls if url.startswith(("http://", "https://"))]
    usual = [f"{scheme}://{name}" for name in names for scheme in ("https", "http")]
    return list(dict.fromkeys([*found, *usual]))[:_MAX_ORIGINS]
