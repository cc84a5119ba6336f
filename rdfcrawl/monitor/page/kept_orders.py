"""Pages of large tables, whose row orders are cached: sorting takes longest."""

from __future__ import annotations

import asyncio
import sys
from array import array
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final, NamedTuple

from rdfcrawl.core.shared_tasks import SizedMemory

_KEPT: Final = 16  # orders, of 4 bytes a row
_FRESH: Final = 20.0  # lifetime by sorting time: sorting takes 5% of a core
_MOST_FRESH_SECS: Final = 15.0
_FEW: Final = 1000  # the first rows of an order: later ones take a full sort

Query = Callable[[str, Sequence[Any]], Awaitable[list[Any]]]
_Sort = tuple[str, tuple[Any, ...], str]


@dataclass(frozen=True, slots=True)
class RowOrder:
    """Some rows, in order.

    Attributes:
        n: number of rows.
        rows: their numbers; of very many, perhaps only the first.
    """

    n: int
    rows: array[int]

    @property
    def n_bytes(self) -> int:
        """Size of the numbers in memory."""
        return self.rows.itemsize * len(self.rows)


class RowPage(NamedTuple):
    """A page of rows.

    Attributes:
        n: number of all matching rows.
        first: position of the first row of the page, from 0.
        rows: of the page.
    """

    n: int
    first: int
    rows: list[tuple[Any, ...]]


class SortedRows:
    """Pages of a table in SQLite.

    An order is kept for twenty times its sorting time. So small tables are sorted for
    each visitor, and large ones rarely.

    Args:
        query: runs a query with its values.
        table: its name.
        columns: of the rows, in SQL.
    """

    def __init__(self, query: Query, table: str, columns: str) -> None:
        self._query, self._table, self._columns = query, table, columns
        self._orders = SizedMemory[tuple[_Sort, bool], RowOrder](_KEPT, sys.maxsize)
        self._turn = asyncio.Lock()  # visitors of one page wait for one sort

    async def page(
        self, where: str, values: Sequence[Any], order: str, *, first: int, most: int
    ) -> RowPage:
        """Return the rows of a page; beyond the end, those of the last page.

        Args:
            where: condition in SQL, of constants alone.
            values: of the condition.
            order: in SQL, likewise.
            first: position of the first row, from 0.
            most: limit of rows.
        """
        sort = where, tuple(values), order
        found = await self._order_of(sort, first + most)
        if first >= found.n:
            first = max(0, found.n - 1) // most * most
            found = await self._order_of(sort, first + most)
        numbers = list(found.rows[first : first + most])
        marks = ", ".join("?" * len(numbers))
        rows = await self._query(
            f"SELECT rowid, {self._columns} FROM {self._table}"  # noqa: S608
            f" WHERE rowid IN ({marks})",
            numbers,
        )
        known = {row[0]: row[1:] for row in rows}  # without deleted rows
        return RowPage(found.n, first, [known[x] for x in numbers if x in known])

    async def _order_of(self, sort: _Sort, end: int) -> RowOrder:
        """Return the order of rows, at least to the end of a page."""
        is_full_sort = end > _FEW
        key = sort, is_full_sort
        if (known := self._orders.fresh(key)) is not None:
            return known
        async with self._turn:
            if (known := self._orders.fresh(key)) is None:
                began = monotonic()
                known = await self._sorted(*sort, is_full_sort=is_full_sort)
                secs = _FRESH * (monotonic() - began)
                self._orders.keep(key, known, min(_MOST_FRESH_SECS, secs))
        return known

    async def _sorted(
        self, where: str, values: Sequence[Any], order: str, *, is_full_sort: bool
    ) -> RowOrder:
        selected = f"FROM {self._table} WHERE {where}"
        rows = await self._query(
            f"SELECT rowid {selected} ORDER BY {order} LIMIT ?",
            (*values, -1 if is_full_sort else _FEW),
        )
        n = len(rows)
        if n == _FEW and not is_full_sort:
            counted = await self._query(f"SELECT COUNT(*) {selected}", values)
            n = counted[0][0] if counted else n
        return RowOrder(n, array("q", (number for (number,) in rows)))
