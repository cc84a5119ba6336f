"""A table of all datasets of a crawl, and those of one host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from rdfcrawl.monitor.page.kept_orders import Query, SortedRows

_SHARE: Final = "MIN(1.0, 1.0 * n_stored / NULLIF(n_stated, 0))"
ORDERS: Final[Mapping[str, str]] = {
    "name": "name",
    "kinds": "kinds",
    "ways": "ways",
    "stated": "n_stated DESC",
    "stored": "n_stored DESC",
    "complete": _SHARE,
    "licence": "licence",
    "modified": "modified DESC",
    "faults": "n_faulty DESC",
    "last": "last_ms DESC",
}
"""Sort orders of datasets, by the names in query strings."""
KINDS: Final = ("VoID", "DCAT", "SPARQL", "CKAN", "ResourceSync", "other")
"""Vocabularies and protocols that describe datasets."""
STORED: Final[Mapping[str, str]] = {
    "all": "1",
    "complete": "n_stored >= n_stated",
    "part": "n_stored > 0 AND n_stored < n_stated",
    "nothing": "n_stored = 0",
    "faults": "n_faulty > 0",
}
"""Filters by stored data, and their conditions in SQL."""
COLUMNS: Final = (
    "name, kinds, ways, title, licence, modified, document, n_stated, n_stored,"
    f" n_files, n_faulty, last_ms, {_SHARE}"
)
"""The fields of `DatasetRow` in SQL."""


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """One dataset.

    Attributes:
        name: IRI of the dataset, or URL of the source.
        kinds: sources of its description: VoID, DCAT, SPARQL, CKAN, ResourceSync.
        ways: how it was fetched: dump, endpoint, harvest; empty: by crawling alone.
        title: the first stated title.
        licence: likewise.
        modified: the latest stated date.
        document: with the first description; empty: a sitemap, or it is a source.
        n_stated: number of statements by its description; None: not known.
        n_stored: statements of its files and endpoints that were stored.
        n_files: files and steps that were fetched.
        n_faulty: files and steps with a fault.
        last_ms: end of the last fetch, Unix time; 0: there was none.
        share: stored of stated statements, at most 1; None: not known.
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
class DatasetChoice:
    """Filter, order and page of the table.

    Attributes:
        sort: a key of `ORDERS`.
        text: part of name or title; empty: all.
        kind: one of `KINDS`; empty: all.
        stored: a key of `STORED`.
        page: its number, from 1.
        most: rows of a page.
    """

    sort: str = "stored"
    text: str = ""
    kind: str = ""
    stored: str = "all"
    page: int = 1
    most: int = 50

    def where(self) -> tuple[str, list[Any]]:
        """Return the condition in SQL, and its values."""
        where, values = [STORED[self.stored]], list[Any]()
        if self.text:  # `LIKE` ignores case only of ASCII, but alike on both sides
            where.append("(name LIKE ? ESCAPE '!' OR title LIKE ? ESCAPE '!')")
            text = self.text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
            values += [f"%{text}%"] * 2
        if self.kind == "other":
            where.append("kinds = ''")
        elif self.kind:
            where.append("INSTR(kinds, ?)")
            values.append(self.kind)
        return " AND ".join(where), values


class DatasetTable:
    """The datasets of an index.

    Args:
        indexed: queries the index.
    """

    def __init__(self, indexed: Query) -> None:
        self._rows = SortedRows(indexed, "dataset", COLUMNS)

    async def choose(
        self, choice: DatasetChoice
    ) -> tuple[DatasetChoice, int, list[DatasetRow]]:
        """Return the choice, the number of matching datasets, and the rows of the page.

        A page number beyond the end is replaced by the last page.
        """
        first, order = (choice.page - 1) * choice.most, f"{ORDERS[choice.sort]}, name"
        found = await self._rows.page(
            *choice.where(), order, first=first, most=choice.most
        )
        choice = replace(choice, page=found.first // choice.most + 1)
        return choice, found.n, [DatasetRow(*row) for row in found.rows]


_IN_RANGE: Final = (
    "SELECT * FROM (SELECT rowid FROM dataset WHERE {0} >= ? AND {0} < ?"
    " ORDER BY {0} LIMIT ?)"
)
_ROWS: Final = (
    f"SELECT {COLUMNS} FROM dataset WHERE rowid IN ({{}})"  # noqa: S608
    " ORDER BY n_stored DESC, name LIMIT ?"
)


async def read_host_datasets(
    indexed: Query, names: Sequence[str], most: int
) -> list[DatasetRow]:
    """Return datasets of some hosts, those with most statements first.

    If there are too many, those with the first names, or documents, are chosen.

    Args:
        indexed: queries the index.
        names: of the hosts, 20 at most.
        most: datasets.
    """
    ranges = [each for name in names for each in ranges_of(name)]
    selects = [_IN_RANGE.format(x) for x in ("name", "document") for _ in ranges]
    values = [x for first, end in [*ranges, *ranges] for x in (first, end, most)]
    rows = await indexed(_ROWS.format(" UNION ".join(selects)), [*values, most])
    return [DatasetRow(*row) for row in rows]


def ranges_of(host: str) -> list[tuple[str, str]]:
    """Return the ranges of strings of a host's URLs, with and without port.

    >>> ranges_of("e.org")[:2]
    [('http://e.org/', 'http://e.org0'), ('http://e.org:', 'http://e.org;')]
    """
    starts = [f"{scheme}://{host}{x}" for scheme in ("http", "https") for x in "/:"]
    return [(start, start[:-1] + chr(ord(start[-1]) + 1)) for start in starts]
