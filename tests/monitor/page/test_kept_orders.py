"""Orders of rows, kept for a while."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.core import shared_tasks
from rdfcrawl.monitor.page import kept_orders
from rdfcrawl.monitor.page.kept_orders import SortedRows

if TYPE_CHECKING:
    from collections.abc import Sequence


class RecordedTable:
    """A table of numbers from 1 on; its sorts take a second each, if not set."""

    def __init__(self, n_rows: int) -> None:
        self.connection = sqlite3.connect(":memory:")
        self.connection.execute("CREATE TABLE t (n INTEGER)")
        rows = [(number,) for number in range(1, n_rows + 1)]
        self.connection.executemany("INSERT INTO t VALUES (?)", rows)
        self.now, self.sort_secs = 1000.0, 1.0
        self.limits: list[int] = []
        self.n_counts = 0
        self.is_sorting, self.may_sort = asyncio.Event(), asyncio.Event()
        self.may_sort.set()
        self.rows = SortedRows(self.query, "t", "n")

    def tell_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have orders and their memory use the time of the table."""
        for module in (kept_orders, shared_tasks):
            monkeypatch.setattr(module, "monotonic", lambda: self.now)

    def close(self) -> None:
        """Close the database."""
        self.connection.close()

    async def query(self, text: str, values: Sequence[Any]) -> list[Any]:
        """Run a query; note the limits of sorts."""
        self.n_counts += "COUNT" in text
        if "ORDER BY" in text:
            self.is_sorting.set()
            await asyncio.sleep(0)
            await self.may_sort.wait()
            self.now += self.sort_secs
            self.limits.append(values[-1])
        return self.connection.execute(text, values).fetchall()

    async def page(self, first: int, most: int = 50) -> tuple[int, int, list[int]]:
        """Return the number of rows, the first one of a page, and the page."""
        n, begin, rows = await self.rows.page("1", (), "n", first=first, most=most)
        return n, begin, [number for (number,) in rows]


@pytest.mark.parametrize("n_rows", [999, 1000, 1001, 2500])
async def test_table_is_sorted_to_its_end_only_for_later_pages(
    monkeypatch: pytest.MonkeyPatch, n_rows: int
) -> None:
    """If a page is among the first thousand rows, then no more of them are sorted.

    Each sort serves several visitors, and also those who come at the same time.
    """
    with closing(RecordedTable(n_rows)) as table:
        table.tell_time(monkeypatch)
        pages = await asyncio.gather(table.page(0), table.page(0), table.page(950))
        assert [(n, begin) for n, begin, _ in pages] == [
            *[(n_rows, 0)] * 2,
            (n_rows, 950),
        ]
        assert pages[0][2] == list(range(1, 51))
        assert (table.limits, table.n_counts) == ([1000], int(n_rows >= 1000))
        n, begin, found = await table.page(951, 49)
        assert table.limits == [1000]
        for first in (n_rows - 1, n_rows, n_rows + 100):
            n, begin, found = await table.page(first)
            last = (n_rows - 1) // 50 * 50
            assert (n, begin) == (n_rows, first if first < n_rows else last)
            assert found == list(range(begin + 1, n_rows + 1))
        assert set(table.limits) == {1000, -1} if n_rows > 950 else {1000}
        assert table.n_counts == int(n_rows >= 1000)


async def test_rows_come_in_order_without_lost_ones() -> None:
    """If a row is deleted after the sort, then the others of its page stay in order."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (name TEXT)")
        connection.executemany("INSERT INTO t VALUES (?)", ["a", "c", "d", "b"])

        async def query(text: str, values: Sequence[Any]) -> list[Any]:
            found = connection.execute(text, values).fetchall()
            connection.execute("DELETE FROM t WHERE name = 'b'")
            return found

        rows = SortedRows(query, "t", "name")
        page = await rows.page("name > ?", ("",), "name DESC", first=1, most=3)
    assert page == (4, 1, [("c",), ("a",)])


async def test_page_of_a_kept_order_waits_for_no_sort(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If a visitor waits for a sort, then another one gets a page of a kept order."""
    with closing(RecordedTable(2500)) as table:
        table.tell_time(monkeypatch)
        await table.page(0)
        table.is_sorting.clear()
        table.may_sort.clear()
        later = asyncio.create_task(table.page(2000))
        await table.is_sorting.wait()
        assert (await table.page(0))[:2] == (2500, 0)
        table.may_sort.set()
        assert (await later)[:2] == (2500, 2000)


@pytest.mark.parametrize(("sort_secs", "kept_secs"), [(0.1, 2.0), (1.0, 15.0)])
async def test_order_is_kept_by_its_sorting_time(
    monkeypatch: pytest.MonkeyPatch, sort_secs: float, kept_secs: float
) -> None:
    """If an order took long, then it is kept for 20 times as long, 15 s at most."""
    with closing(RecordedTable(3)) as table:
        table.tell_time(monkeypatch)
        table.sort_secs = sort_secs
        await table.page(0)
        for secs, n_sorts in ((kept_secs - 0.1, 1), (0.2, 2)):
            table.now += secs
            await table.page(0)
            assert len(table.limits) == n_sorts


async def test_few_orders_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """If many orders are made, then those used last stay."""
    with closing(RecordedTable(3)) as table:
        table.tell_time(monkeypatch)
        table.sort_secs = 60.0
        for number in (*range(16), 0, 16, 0, 1):
            table.now = 1000.0
            await table.rows.page(f"{number} = {number}", (), "n", first=0, most=1)
        assert len(table.limits) == 18
