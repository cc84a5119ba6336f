"""Datasets: those that the crawl has found, and how much of each is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

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
from rdfcrawl.monitor.page.rendering import int_parameter
from rdfcrawl.sources.harvest.known_datasets import DATASET, KnownDatasets

_MOST_PAGES: Final = 100_000
_MAX_NAME: Final = 4096
_MAX_TEXT: Final = 200
_MAX_SHOWN: Final = 200  # statements and files of one dataset


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetsView:
    """One page of the table.

    Attributes:
        rows: of the page.
        n_rows: of all pages.
        page: number of the page, from 1.
        n_pages: number of pages.
        sort: sort column.
        text: filter of names and titles.
        kind: filter of kinds; empty: all.
        stored: filter by stored data.
        sorts: possible sort columns.
        kind_names: possible kinds.
        stored_names: possible values of `stored`.
    """

    rows: list[DatasetRow]
    n_rows: int
    page: int
    n_pages: int
    sort: str
    text: str
    kind: str
    stored: str
    sorts: tuple[str, ...] = tuple(ORDERS)
    kind_names: tuple[str, ...] = KINDS
    stored_names: tuple[str, ...] = tuple(STORED)


@dataclass(frozen=True, slots=True)
class DatasetFile:
    """A fetch of a file or step, the last one of its URL."""

    url: str
    status: str
    http_status: int
    reason: str
    n_statements: int
    n_bytes: int
    ended_ms: int


@dataclass(frozen=True, slots=True)
class DatasetDetail:
    """A statement on a dataset, or on one of its distributions."""

    subject: str
    about: str
    value: str
    document: str


@dataclass(frozen=True, slots=True)
class KnownWay:
    """A way to the data, in the order of trial."""

    way: str
    urls: tuple[str, ...]
    is_taken: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetView:
    """One dataset.

    Attributes:
        dataset: as in the table; None: the crawl has not found it.
        name: of the request.
        files: fetched files.
        statements: statements of documents.
        faults: of the dataset itself.
        ways: known to the crawl; also empty if the frontier is away.
        samples: URIs whose pages are compared with the data.
        why_away: why the frontier is unavailable.
    """

    dataset: DatasetRow | None
    name: str
    files: list[DatasetFile]
    statements: list[DatasetDetail]
    faults: list[str]
    ways: list[KnownWay]
    samples: tuple[str, ...]
    why_away: str


def routes(context: PageContext) -> list[web.RouteDef]:
    """Return the routes of the views."""
    table = DatasetTable(context.access.indexed)

    async def many(request: web.Request) -> web.Response:
        view = await read_datasets(table, request.query)
        return context.renderer.respond(request, "datasets.html", view)

    async def one(request: web.Request) -> web.Response:
        name = request.query.get("u", "")[:_MAX_NAME]
        view = await _read_dataset(context, name)
        status = 200 if view.dataset else 404
        return context.renderer.respond(request, "dataset.html", view, status=status)

    return [web.get("/datasets", many), web.get("/dataset", one)]


async def read_datasets(table: DatasetTable, query: Mapping[str, str]) -> DatasetsView:
    """Return one page of the table.

    Raises:
        web.HTTPBadRequest: a parameter has no such value.
    """
    wanted = DatasetChoice(
        sort=_chosen(query, "sort", tuple(ORDERS), "stored"),
        text=query.get("text", "")[:_MAX_TEXT],
        kind=_chosen(query, "kind", ("", *KINDS), ""),
        stored=_chosen(query, "stored", tuple(STORED), "all"),
        page=int_parameter(query, "page", 1, least=1, most=_MOST_PAGES),
    )
    choice, n_rows, rows = await table.choose(wanted)
    return DatasetsView(
        rows=rows,
        n_rows=n_rows,
        page=choice.page,
        n_pages=max(1, -(-n_rows // choice.most)),
        sort=choice.sort,
        text=choice.text,
        kind=choice.kind,
        stored=choice.stored,
    )


def _chosen(
    query: Mapping[str, str], name: str, possible: tuple[str, ...], default: str
) -> str:
    value = query.get(name) or default
    if value not in possible:
        raise web.HTTPBadRequest(reason=f"{name}: must be one of {', '.join(possible)}")
    return value


async def _read_dataset(context: PageContext, name: str) -> DatasetView:
    indexed = context.access.indexed
    rows = await indexed(f"SELECT {COLUMNS} FROM dataset WHERE name = ?", [name])  # noqa: S608
    statements = await indexed(
        "SELECT * FROM dataset_said WHERE subject = ?1 OR subject IN (SELECT value"
        " FROM dataset_said WHERE subject = ?1 AND about = 'distribution') LIMIT ?2",
        [name, _MAX_SHOWN],
    )
    files = await indexed(
        "SELECT url, status, http_status, reason, n_statements, n_bytes, ended_ms"
        " FROM dataset_file WHERE dataset = ?1 ORDER BY reason = '', url LIMIT ?2",
        [name, _MAX_SHOWN],
    )
    found = await context.access.read(lambda crawl: _read_ways(crawl, name))
    ways, samples = found or ([], ())
    return DatasetView(
        dataset=DatasetRow(*rows[0]) if rows and rows[0][0] is not None else None,
        name=name,
        files=[DatasetFile(*row) for row in files],
        statements=[DatasetDetail(*row) for row in statements if row[1] != "fault"],
        faults=[row[2] for row in statements if row[1] == "fault"],
        ways=ways,
        samples=samples,
        why_away=context.access.why_away,
    )


async def _read_ways(
    crawl: OperatedCrawl, name: str
) -> tuple[list[KnownWay], tuple[str, ...]]:
    """Return the ways to a dataset that the crawl knows, and its samples."""
    frontier = crawl.frontier
    store = StateStore(frontier.redis, frontier.key, crawl.connection.outage)
    known = await KnownDatasets(store).known(name)
    if known is None:
        return [], ()
    taken = await store.get(name, DATASET, "way") or ""
    ways = [
        KnownWay(each.way.value, each.urls[:_MAX_SHOWN], str(n) == taken.split(" ")[0])
        for n, each in enumerate(known.ways)
    ]
    return ways, known.samples[:_MAX_SHOWN]
