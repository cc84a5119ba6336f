"""Datasets: those that the crawl has found, and how much of each is stored."""

from __future__ import annotations

from typing import Any, Final

from aiohttp import web

from rdfcrawl.frontier.queue.tables import StateStore
from rdfcrawl.monitor.operating.crawl import OperatedCrawl
from rdfcrawl.monitor.page.context import PageContext
from rdfcrawl.monitor.page.dataset_table import (
    COLUMNS,
    KINDS,
    ORDERS,
    STORED,
    DatasetChoice,
    DatasetRow,
    DatasetTable,
)
from rdfcrawl.monitor.page.rendering import int_parameter, one_of
from rdfcrawl.sources.harvest.known_datasets import DATASET, KnownDatasets

_MOST_PAGES: Final = 100_000
_MAX_NAME: Final = 4096
_MAX_TEXT: Final = 200
_MAX_SHOWN: Final = 200  # statements and files of one dataset


def routes(context: PageContext) -> list[web.RouteDef]:
    """Return the routes of the views."""
    table = DatasetTable(context.access.indexed)

    async def many(request: web.Request) -> web.Response:
        query = request.query
        wanted = DatasetChoice(
            sort=one_of(query, "sort", ORDERS, "stored"),
            text=query.get("text", "")[:_MAX_TEXT],
            kind=one_of(query, "kind", KINDS, ""),
            stored=one_of(query, "stored", STORED, "all"),
            page=int_parameter(query, "page", 1, least=1, most=_MOST_PAGES),
        )
        choice, n_rows, rows = await table.choose(wanted)
        return context.renderer.respond(
            request,
            "datasets.html",
            rows=rows,
            n_rows=n_rows,
            page=choice.page,
            n_pages=max(1, -(-n_rows // choice.most)),
            sort=choice.sort,
            text=choice.text,
            kind=choice.kind,
            stored=choice.stored,
            sorts=tuple(ORDERS),
            kind_names=KINDS,
            stored_names=tuple(STORED),
        )

    async def one(request: web.Request) -> web.Response:
        name = request.query.get("u", "")[:_MAX_NAME]
        values = await _read_dataset(context, name)
        code = 200 if values["dataset"] else 404
        return context.renderer.respond(request, "dataset.html", code=code, **values)

    return [web.get("/datasets", many), web.get("/dataset", one)]


async def _read_dataset(context: PageContext, name: str) -> dict[str, Any]:
    access = context.access
    rows = await access.indexed(
        f"SELECT {COLUMNS} FROM dataset WHERE name = ?",  # noqa: S608
        [name],
    )
    statements = await access.listed(
        "SELECT * FROM dataset_said WHERE subject = ?1 OR subject IN (SELECT value"
        " FROM dataset_said WHERE subject = ?1 AND about = 'distribution') LIMIT ?2",
        *(name, _MAX_SHOWN),
    )
    # The last fetch of each file or step; those with faults first.
    files = await access.listed(
        "SELECT url, status, http_status, reason, n_statements, n_bytes, ended_ms"
        " FROM dataset_file WHERE dataset = ?1 ORDER BY reason = '', url LIMIT ?2",
        *(name, _MAX_SHOWN),
    )
    found = await access.read(lambda crawl: _read_ways(crawl, name))
    ways, samples = found or ([], ())
    return {
        "dataset": DatasetRow(*rows[0]) if rows and rows[0][0] is not None else None,
        "name": name,
        "files": files,
        "statements": [each for each in statements if each["about"] != "fault"],
        "faults": [x["value"] for x in statements if x["about"] == "fault"],
        "ways": ways,
        "samples": samples,
        "why_away": access.why_away,
    }


async def _read_ways(
    crawl: OperatedCrawl, name: str
) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Return the ways to a dataset, in the order of trial, and its samples."""
    frontier = crawl.frontier
    store = StateStore(frontier.redis, frontier.key, crawl.connection.outage)
    known = await KnownDatasets(store).known(name)
    if known is None:
        return [], ()
    taken, *_ = (await store.get(name, DATASET, "way") or "").split(" ")
    ways = [
        {"way": x.way.value, "urls": x.urls[:_MAX_SHOWN], "is_taken": str(n) == taken}
        for n, x in enumerate(known.ways)
    ]
    return ways, known.samples[:_MAX_SHOWN]
