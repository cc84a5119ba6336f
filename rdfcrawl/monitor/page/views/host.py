"""One host: its documents, its limits, and its next visit."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from aiohttp import web

from rdfcrawl.analysis.crawl_index.hosts import MAX_CHARS, MAX_FETCHES
from rdfcrawl.core.times import now_ms
from rdfcrawl.monitor.operating.crawl import OperatedCrawl
from rdfcrawl.monitor.operating.hosts import (
    HostDetail,
    KeptOrigin,
    read_host,
    read_origins,
)
from rdfcrawl.monitor.operating.tables import DELAY_ORIGINS, budget_text, next_text
from rdfcrawl.monitor.page.context import PageContext
from rdfcrawl.monitor.page.dataset_table import DatasetRow, read_host_datasets
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
SELECT count(*), sum(n_documents), sum(n_statements), sum(n_bytes), sum(n_faulty),
    max(last_ms) FROM host WHERE name IN ({})
"""
_FETCHES: Final = """
SELECT f.uri, f.started_ms, f.took_ms, f.http_status, f.status, f.n_statements,
    f.n_bytes, f.reason FROM host_fetch f JOIN host h ON h.id = f.host
WHERE h.name IN ({}) ORDER BY f.started_ms DESC LIMIT ?
"""
_FAULTS: Final = """
SELECT f.reason, sum(f.n), f.uri, max(f.ms), f.detail
FROM host_fault f JOIN host h ON h.id = f.host
WHERE h.name IN ({}) GROUP BY f.reason ORDER BY sum(f.n) DESC, f.reason LIMIT ?
"""
_SOURCES: Final = """
SELECT s.uri, s.kind, s.found_by, s.ms
FROM host_source s JOIN host h ON h.id = s.host
WHERE h.name IN ({}) ORDER BY s.ms DESC LIMIT ?
"""


@dataclass(frozen=True, slots=True)
class HostFetch:
    """One crawl of a URI with a request.

    Attributes:
        uri: in the spelling of the frontier.
        started_ms: Unix time.
        took_ms: to the end of its last response.
        http_status: of the last response; 0: none.
        status: of the activity in the provenance.
        n_statements: stored.
        n_bytes: of the decoded body.
        reason: of the first fault; empty if there is none.
        is_complete: the URI was not cut.
    """

    uri: str
    started_ms: int
    took_ms: int
    http_status: int
    status: str
    n_statements: int
    n_bytes: int
    reason: str
    is_complete: bool


@dataclass(frozen=True, slots=True)
class HostFault:
    """The faults of a host with one reason.

    Attributes:
        reason: of the list of faults.
        n: number of crawls of URIs with this first fault.
        uri: the latest of these.
        ms: its time, Unix time; 0: no request was sent.
        detail: of the fault.
    """

    reason: str
    n: int
    uri: str
    ms: int
    detail: str


@dataclass(frozen=True, slots=True)
class HostSource:
    """A sitemap of a host.

    Attributes:
        uri: of the source.
        kind: its format.
        found_by: how it was found.
        ms: when it was last read, Unix time.
    """

    uri: str
    kind: str
    found_by: str
    ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostView:
    """One host, or one politeness key.

    Attributes:
        key: the politeness key.
        names: the first hosts of the key.
        detail: of the frontier; None if it is not there, or the frontier is away.
        why_away: why the frontier is unavailable; empty if it is not.
        delay_from: origin of the delay, as text.
        is_delay_known: a running worker keeps it, or it does not depend on settings.
        next_visit: time of the next visit, as text.
        budget: as text.
        n_documents: fetched documents.
        n_statements: of these.
        n_bytes: of these, decoded.
        n_faulty: crawls of URIs with a fault.
        last_ms: end of the latest fetch, Unix time; 0: none.
        robots: rules of its origins.
        fetches: the latest, newest first.
        timeline: of the latest fetches.
        faults: by reason, the most frequent first.
        sources: sitemaps.
        datasets: named by its URLs, or first described there.
        has_more_datasets: there are others.
        now_ms: time of the page, Unix time.
        message: result of a change.
    """

    key: str
    names: list[str]
    detail: HostDetail | None
    why_away: str
    delay_from: str
    is_delay_known: bool
    next_visit: str
    budget: str
    n_documents: int
    n_statements: int
    n_bytes: int
    n_faulty: int
    last_ms: int
    robots: list[KeptOrigin]
    fetches: list[HostFetch]
    timeline: HostTimeline | None
    faults: list[HostFault]
    sources: list[HostSource]
    datasets: list[DatasetRow]
    has_more_datasets: bool
    now_ms: int
    message: str = ""


def routes(context: PageContext) -> list[web.RouteDef]:
    """Return the routes of the view."""

    async def show(request: web.Request) -> web.Response:
        view = await read_one(context, request.query)
        view = replace(view, message=context.messages.of(request.query))
        return context.renderer.respond(request, "host.html", view)

    return [web.get("/host", show)]


async def read_one(context: PageContext, query: Mapping[str, str]) -> HostView:
    """Return one host.

    Raises:
        web.HTTPBadRequest: no key is given.
        web.HTTPNotFound: neither the frontier nor the index knows it.
    """
    key = query.get("key", "")
    if not key or len(key) > _MAX_KEY:
        raise web.HTTPBadRequest(reason="key: name a host, as on /hosts")
    n_shown = int_parameter(query, "most", _SHOWN, least=1, most=MAX_FETCHES)
    access = context.access
    names = await asyncio.to_thread(context.sweep.table.names_of, key, _MAX_NAMES)
    names = names or [key]
    found = await access.read(lambda crawl: _read_detail(crawl, key))
    detail, is_worked = found or (None, False)
    is_known = detail is not None and (
        is_worked or detail.summary.delay_from != "setting"
    )
    sums, fetches, faults, sources = await asyncio.gather(
        _indexed(context, _SUMS, names),
        _indexed(context, _FETCHES, names, MAX_FETCHES),
        _indexed(context, _FAULTS, names, _MAX_FAULTS),
        _indexed(context, _SOURCES, names, _MAX_SOURCES),
    )
    datasets = await read_host_datasets(access.indexed, names, _MAX_DATASETS + 1)
    n_known, *figures = sums[0] if sums else (0,)
    if detail is None and not (n_known or datasets):
        raise web.HTTPNotFound(reason="this host is not known")
    origins = _origins_of(names, [row[0] for row in fetches])
    robots = await access.read(lambda crawl: read_origins(crawl, origins))
    n_documents, n_statements, n_bytes, n_faulty, last_ms = figures or [0] * 5
    # Without a response and within a millisecond, no request was sent.
    drawn = [(row[1], row[2], bool(row[7])) for row in fetches if row[2] or row[3]]
    delay_ms = detail.summary.delay_ms if detail and is_known else None
    return HostView(
        key=key,
        names=names,
        detail=detail,
        why_away=access.why_away,
        delay_from=DELAY_ORIGINS[detail.summary.delay_from] if detail else "",
        is_delay_known=is_known,
        next_visit=next_text(detail) if detail else "",
        budget=budget_text(detail.summary.budget) if detail else "",
        n_documents=n_documents or 0,
        n_statements=n_statements or 0,
        n_bytes=n_bytes or 0,
        n_faulty=n_faulty or 0,
        last_ms=last_ms or 0,
        robots=robots or [],
        fetches=[
            HostFetch(uri, *rest, is_complete=len(uri) < MAX_CHARS)  # type: ignore[misc]
            for uri, *rest in fetches[:n_shown]
        ],
        timeline=draw_timeline(drawn, delay_ms),
        faults=[HostFault(*row) for row in faults],
        sources=[HostSource(*row) for row in sources],
        datasets=datasets[:_MAX_DATASETS],
        has_more_datasets=len(datasets) > _MAX_DATASETS,
        now_ms=now_ms(),
    )


async def _read_detail(
    crawl: OperatedCrawl, key: str
) -> tuple[HostDetail | None, bool]:
    """Return a host, and whether any worker runs."""
    detail = await read_host(crawl, key, most=_HEAD)
    return detail, bool(await crawl.frontier.live_workers())


async def _indexed(
    context: PageContext, query: str, names: Sequence[str], *values: int
) -> list[Any]:
    marks = ", ".join("?" * len(names))
    return await context.access.indexed(query.format(marks), [*names, *values])


def _origins_of(names: Sequence[str], urls: Sequence[str]) -> list[str]:
    """Return the origins of a host: those of its requests, and its default ones."""
    found = [origin_of(url) for url in urls if url.startswith(("http://", "https://"))]
    usual = [f"{scheme}://{name}" for name in names for scheme in ("https", "http")]
    return list(dict.fromkeys([*found, *usual]))[:_MAX_ORIGINS]
