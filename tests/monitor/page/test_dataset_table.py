"""The table of datasets: its pages, its filters and its orders."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.analysis.crawl_index.datasets import DatasetTally
from rdfcrawl.monitor.page.dataset_table import (
    DatasetChoice,
    DatasetTable,
    read_host_datasets,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

N = 2345


class AskedIndex:
    """The datasets of an index."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    async def rows(self, query: str, values: Sequence[Any]) -> list[Any]:
        """Return the rows of a query."""
        return self.connection.execute(query, values).fetchall()


@pytest.fixture
def index() -> Iterator[AskedIndex]:
    """Return an index with many datasets."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(DatasetTally.schema)
        connection.executemany(
            "INSERT INTO dataset VALUES (?, '', '', ?, '', '', '', ?, ?, 0, 0, 0)",
            [
                (f"http://e/{n:05}", "\u00c4hren 5%" if n == 7 else "", 2 * N, n)
                for n in range(N)
            ],
        )
        yield AskedIndex(connection)


async def test_each_dataset_is_on_one_page(index: AskedIndex) -> None:
    """If all pages are turned, then each dataset was on one, in order."""
    table = DatasetTable(index.rows)
    found = []
    for page in range(1, N // 50 + 2):
        choice, n, rows = await table.choose(DatasetChoice(page=page))
        assert (choice.page, n) == (page, N)
        found += [row.n_stored for row in rows]
    assert found == list(range(N))[::-1]


async def test_page_behind_the_last_is_the_last(index: AskedIndex) -> None:
    """If a requested page number is too high, then the last page is shown."""
    table = DatasetTable(index.rows)
    choice, _, rows = await table.choose(DatasetChoice(page=10**5, sort="complete"))
    assert (choice.page, len(rows)) == (N // 50 + 1, N % 50)
    assert rows[-1].share == (N - 1) / (2 * N)
    choice, n, rows = await table.choose(DatasetChoice(page=9, text="nowhere"))
    assert (choice.page, n, rows) == (1, 0, [])


@pytest.mark.parametrize(
    ("text", "n_found"),
    [("\u00c4HREN", 1), ("5%", 1), ("%", 1), ("_", 0), ("HTTP://E/0000", 10), ("!", 0)],
)
async def test_text_is_taken_literally(
    index: AskedIndex, text: str, n_found: int
) -> None:
    """If a text has special characters of SQL, then only names with them match.

    ASCII letters match in lower and upper case, others only exactly.
    """
    _, n, rows = await DatasetTable(index.rows).choose(DatasetChoice(text=text))
    assert (n, len(rows)) == (n_found, n_found)


async def test_rows_that_change_are_shown_as_they_are(index: AskedIndex) -> None:
    """If a dataset changes or goes, then its row is updated, in any order."""
    table = DatasetTable(index.rows)
    execute = index.connection.execute
    deep = DatasetChoice(sort="name", page=30)
    _, _, before = await table.choose(deep)
    execute("UPDATE dataset SET title = 'new' WHERE name = ?", (before[3].name,))
    execute("DELETE FROM dataset WHERE name = ?", (before[4].name,))
    _, _, rows = await table.choose(deep)
    assert rows[3].title == "new"
    assert before[4].name not in {row.name for row in rows}


async def test_datasets_of_a_host_are_found_by_ranges(index: AskedIndex) -> None:
    """If a host has many datasets, then only as many as needed are read."""
    index.connection.executemany(
        "INSERT INTO dataset VALUES (?, '', '', '', '', '', ?, 1, 1, 0, 0, 0)",
        [
            ("urn:named", "https://f:8443/void"),
            ("http://f/d", ""),
            ("http://f.e/d", "http://ff/void"),
        ],
    )
    found = await read_host_datasets(index.rows, ["e"], 51)
    assert len(found) == 51
    assert all(row.name.startswith("http://e/") for row in found)
    found = await read_host_datasets(index.rows, ["f", "%"], 51)
    assert {row.name for row in found} == {"urn:named", "http://f/d"}
    queries = "SELECT rowid FROM dataset WHERE {0} >= 'a' AND {0} < 'b' ORDER BY {0}"
    for column in ("name", "document"):
        plan = await index.rows(f"EXPLAIN QUERY PLAN {queries.format(column)}", ())
        assert "SEARCH dataset USING COVERING INDEX" in plan[0][-1]
