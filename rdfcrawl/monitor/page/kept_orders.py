"""Cache of row orders, since sorting takes longer than reading a page."""

from __future__ import annotations

import sqlite3
import threading
from array import array
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final

_KEPT: Final = 16  # orders, of 4 bytes a row
_FRESH: Final = 20.0  # lifetime by sorting time: sorting takes 5% of a core
_MOST_FRESH_SECS: Final = 15.0


@dataclass(frozen=True, slots=True)
class RowOrder:
    """Some rows, in order.

    Attributes:
        n: number of rows.
        rows: their numbers; of very many, perhaps only the first.
    """

    n: int
    rows: array[int]

    def page(self, first: int, most: int) -> array[int]:
        """Return the numbers of some rows.

        Args:
            first: position of the first one, from 0.
            most: limit of rows.
        """
        return self.rows[first : first + most]


class KeptOrders:
    """The latest orders, each kept for twenty times its sorting time.

    So small tables are sorted for each visitor, and large ones rarely. Each method may
    be called by any thread.
    """

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[float, RowOrder]] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> RowOrder | None:
        """Return a fresh order, or None."""
        with self._lock:
            end, order = self._kept.get(key, (0.0, None))
        return order if monotonic() < end else None

    def put(self, key: Hashable, order: RowOrder, began: float) -> None:
        """Cache an order.

        Args:
            key: to find it.
            order: the order.
            began: start of the sorting, by `monotonic`.
        """
        now = monotonic()
        end = now + min(_MOST_FRESH_SECS, _FRESH * (now - began))
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = end, order
            while len(self._kept) > _KEPT:
                del self._kept[next(iter(self._kept))]


def numbers_of(found: Iterable[tuple[int]]) -> array[int]:
    """Return the row numbers that a query selects as its only column."""
    return array("q", (number for (number,) in found))


def rows_by_number(
    connection: sqlite3.Connection, query: str, numbers: Iterable[int]
) -> list[Any]:
    """Return rows in the order of their numbers, without deleted rows.

    Args:
        connection: to the database.
        query: whose condition ends with `rowid IN ({})`, and whose first column is
            the number.
        numbers: of rows, some hundreds at most.
    """
    wanted = list(numbers)
    marks = ", ".join("?" * len(wanted))
    return in_order(connection.execute(query.format(marks), wanted), wanted)


def in_order(rows: Iterable[Any], numbers: Iterable[int]) -> list[Any]:
    """Return rows in the order of their numbers, without the numbers.

    Deleted rows are left out.

    Args:
        rows: each begins with its number.
        numbers: in order.
    """
    found = {row[0]: row[1:] for row in rows}
    return [found[number] for number in numbers if number in found]
