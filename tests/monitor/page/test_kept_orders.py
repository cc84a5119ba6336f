"""Orders of rows, kept for a while."""

from __future__ import annotations

import sqlite3
from array import array
from contextlib import closing
from time import monotonic
from typing import TYPE_CHECKING, Any

from rdfcrawl.monitor.page.kept_orders import KeptOrders, RowOrder, SortedRows

if TYPE_CHECKING:
    from collections.abc import Sequence

_ORDER = RowOrder(3, array("q", (7, 5, 6)))


def test_order_is_kept_by_its_sorting_time() -> None:
    """If an order took long, then a later visitor gets the same, and no quick order."""
    orders = KeptOrders()
    orders.put("slow", _ORDER, monotonic() - 60)
    orders.put("quick", _ORDER, monotonic() + 60)
    assert orders.get("slow") is _ORDER
    assert orders.get("quick") is orders.get("other") is None


def test_few_orders_are_kept() -> None:
    """If many orders are made, then the oldest are forgotten."""
    orders = KeptOrders()
    for number in range(100):
        orders.put(number, _ORDER, monotonic() - 60)
    kept = [number for number in range(100) if orders.get(number)]
    assert kept == list(range(84, 100))


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
