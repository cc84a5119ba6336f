"""Orders of rows, kept for a while."""

from __future__ import annotations

import sqlite3
from array import array
from contextlib import closing
from time import monotonic

from rdfcrawl.monitor.page.kept_orders import KeptOrders, RowOrder, rows_by_number

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


def test_rows_come_in_order_without_lost_ones() -> None:
    """If rows are read by number, then the order stays, and lost rows are left out."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (name TEXT)")
        connection.executemany("INSERT INTO t VALUES (?)", ["a", "b", "c"])
        query = "SELECT rowid, name FROM t WHERE rowid IN ({})"
        found = rows_by_number(connection, query, (3, 9, 1))
    assert found == [("c",), ("a",)]
    assert list(_ORDER.page(1, 2)) == [5, 6]
