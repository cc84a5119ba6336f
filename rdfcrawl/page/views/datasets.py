"""Datasets: what the crawl has come upon, and what is had of each in which way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from rdfcrawl.frontier.state_store import StateStore
from rdfcrawl.harvest.known_datasets import DATASET, KnownDatasets
from rdfcrawl.page.rendering import whole_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rdfcrawl.operating.crawl import OperatedCrawl
    from rdfcrawl.page.context import PageContext

_ROWS: Final = 50  # of a page of the table
_MOST_PAGES: Final = 100_000
_MAX_NAME: Final = 4096
_MAX_SHOWN: Final = 200  # statements and files of one dataset
# How the table can be sorted; the keys are what a visitor says.
_ORDERS: Final = {
    "name": "name",
    "kinds": "kinds",
    "ways": "ways",
    "stated": "n_stated DESC",
    "stored": "n_stored DESC",
    "complete": "share",
    "licence": "licence",
    "modified": "modified DESC",
    "faults": "n_faulty DESC",
    "last": "last_ms DESC",
}
_KINDS: Final = ("VoID", "DCAT", "SPARQL", "CKAN", "ResourceSync", "other")
_HAD: Final = ("all", "whole", "part", "nothing", "faults")
_COLUMNS: Final = (
    "name, kinds, ways, title, licence, modified, document, n_stated, n_stored,"
    " n_files, n_faulty, last_ms,"
    " MIN(1.0, 1.0 * n_stored / NULLIF(n_stated, 0)) AS share"
)
_HAD_WHERE: Final = {
    "all": "1",
    "whole": "n_stored >= n_stated",
    "part": "n_stored > 0 AND n_stored < n_stated",
    "nothing": "n_stored = 0",
    "faults": "n_faulty > 0",
}


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """One dataset.

    Attributes:
        name: IRI of the dataset, or URL of the source.
        kinds: who describes it: VoID, DCAT, SPARQL, CKAN, ResourceSync.
        ways: how it was fetched: dump, endpoint, harvest; empty: by crawling alone.
        title: as it was said first.
        licence: likewise.
        modified: the latest date that was said.
        document: that described it first; empty: a sitemap, or it is a source.
        n_stated: statements that it is said to have; None: not known.
        n_stored: statements of its files and endpoints that were stored.
        n_files: files and steps that were fetched.
        n_faulty: those of them with a fault.
        last_ms: end of the last fetch, Unix time; 0: there was none.
        share: stored of those stated, at most 1; None: not known.
    """

    name: str
    kinds: str
    ways: str
    title: str
    licence: str
    modified: str
    document: str
    n_stated: int | None
    n_stored: int
    n_files: int
    n_faulty: int
    last_ms: int
    share: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetsView:
    """One page of the table.

    Attributes:
        rows: of the page.
        n_rows: of all pages.
        page: number of the page, from 1.
        n_pages: how many there are.
        sort: column that it is sorted by.
        text: that names and titles have.
        kind: that is shown; empty: all.
        had: what of the datasets is shown.
        sorts: columns that it can be sorted by.
        kind_names: kinds that can be shown.
        had_names: values of `had`.
    """

    rows: list[DatasetRow]
    n_rows: int
    page: int
    n_pages: int
    sort: str
    text: str
    kind: str
    had: str
    sorts: tuple[str, ...] = tuple(_ORDERS)
    kind_names: tuple[str, ...] = _KINDS
    had_names: tuple[str, ...] = _HAD


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
class DatasetSaid:
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
        dataset: as in the table; None: the crawl has not come upon it.
        name: that was asked for.
        files: that were fetched.
        said: by documents.
        faults: of the dataset as a whole.
        ways: that the crawl knows; empty if the frontier is away, too.
        samples: URIs whose pages are compared with the data.
        why_away: why the frontier cannot be asked.
    """

    dataset: DatasetRow | None
    name: str
    files: list[DatasetFile]
    said: list[DatasetSaid]
    faults: list[str]
    ways: list[KnownWay]
    samples: tuple[str, ...]
    why_away: str


def routes(context: PageContext) -> list[web.RouteDef]:
    """Return the routes of the views."""

    async def table(request: web.Request) -> web.Response:
        view = await read_datasets(context, request.query)
        return context.renderer.respond(request, "datasets.html", view)

    async def one(request: web.Request) -> web.Response:
        name = request.query.get("u", "")[:_MAX_NAME]
        view = await _read_dataset(context, name)
        status = 200 if view.dataset else 404
        return context.renderer.respond(request, "dataset.html", view, status=status)

    return [web.get("/datasets", table), web.get("/dataset", one)]


async def read_datasets(context: PageContext, query: Mapping[str, str]) -> DatasetsView:
    """Return one page of the table.

    Raises:
        web.HTTPBadRequest: a parameter has no such value.
    """
    sort = _chosen(query, "sort", tuple(_ORDERS), "stored")
    had = _chosen(query, "had", _HAD, "all")
    kind = _chosen(query, "kind", ("", *_KINDS), "")
    text = query.get("text", "")[:200]
    where, values = [_HAD_WHERE[had]], list[Any]()
    if text:
        where.append("(INSTR(LOWER(name), ?) OR INSTR(LOWER(title), ?))")
        values += [text.lower()] * 2
    if kind:
        where.append("kinds = ''" if kind == "other" else "INSTR(kinds, ?)")
        values += [] if kind == "other" else [kind]
    condition = " AND ".join(where)  # of texts of this file
    indexed = context.access.indexed
    counted = await indexed(
        f"SELECT COUNT(*) FROM dataset WHERE {condition}",  # noqa: S608
        values,
    )
    n_rows = counted[0][0] if counted else 0
    n_pages = max(1, -(-n_rows // _ROWS))
    page = whole_number(query, "page", 1, least=1, most=min(n_pages, _MOST_PAGES))
    rows = await indexed(
        f"SELECT {_COLUMNS} FROM dataset WHERE {condition}"  # noqa: S608
        f" ORDER BY {_ORDERS[sort]}, name LIMIT {_ROWS} OFFSET ?",
        [*values, (page - 1) * _ROWS],
    )
    return DatasetsView(
        rows=[DatasetRow(*row) for row in rows],
        n_rows=n_rows,
        page=page,
        n_pages=n_pages,
        sort=sort,
        text=text,
        kind=kind,
        had=had,
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
    rows = await indexed(f"SELECT {_COLUMNS} FROM dataset WHERE name = ?", [name])  # noqa: S608
    said = await indexed(
        "SELECT * FROM dataset_said WHERE subject = ?1 OR subject IN (SELECT value"
        " FROM dataset_said WHERE subject = ?1 AND about = 'distribution') LIMIT ?2",
        [name, _MAX_SHOWN],
    )
    files = await indexed(
        "SELECT url, status, http_status, reason, n_statements, n_bytes, ended_ms"
        " FROM dataset_file WHERE dataset = ?1 ORDER BY reason = '', url LIMIT ?2",
        [name, _MAX_SHOWN],
    )
    found = await context.access.ask(lambda crawl: _ask_ways(crawl, name))
    ways, samples = found or ([], ())
    return DatasetView(
        dataset=DatasetRow(*rows[0]) if rows and rows[0][0] is not None else None,
        name=name,
        files=[DatasetFile(*row) for row in files],
        said=[DatasetSaid(*row) for row in said if row[1] != "fault"],
        faults=[row[2] for row in said if row[1] == "fault"],
        ways=ways,
        samples=samples,
        why_away=context.access.why_away,
    )


async def _ask_ways(
    crawl: OperatedCrawl, name: str
) -> tuple[list[KnownWay], tuple[str, ...]]:
    """Return the ways to a dataset as the crawl knows them, and its samples."""
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
