"""A table of all hosts of a crawl, which the page sorts and filters.

Neither Redis nor the index can be read in full for each request. The table is a
private database of SQLite: a cache of a few megabytes in memory, and an unnamed
temporary file for the rest. So its content is never older than the process, two pages
of one crawl do not share it, and no file has two writers.
"""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from rdfcrawl.monitor.page.kept_orders import (
    KeptOrders,
    RowOrder,
    numbers_of,
    rows_by_number,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rdfcrawl.monitor.operating.hosts import HostSummary

_CACHE_KIB: Final = 16 * 1024
_BATCH_SIZE: Final = 500  # keys in one statement
_FEW: Final = 1000  # the first hosts of an order: later ones take a full sort
_SCHEMA: Final = """
CREATE TABLE host (
    key TEXT PRIMARY KEY, phase TEXT NOT NULL DEFAULT '', n_queued INTEGER DEFAULT 0,
    n_over INTEGER DEFAULT 0, delay_ms INTEGER, delay_from TEXT DEFAULT '',
    next_ms INTEGER DEFAULT 0, n_failures INTEGER DEFAULT 0, budget INTEGER,
    n_documents INTEGER DEFAULT 0, n_statements INTEGER DEFAULT 0,
    n_bytes INTEGER DEFAULT 0, n_faulty INTEGER DEFAULT 0, last_ms INTEGER DEFAULT 0,
    sweep INTEGER DEFAULT 0
);
CREATE TABLE figure (
    name TEXT PRIMARY KEY, key TEXT NOT NULL, n_documents INTEGER,
    n_statements INTEGER, n_bytes INTEGER, n_faulty INTEGER, last_ms INTEGER
) WITHOUT ROWID;
"""
# Only where a key covers several hosts: else names are keys.
_INDEX: Final = "CREATE INDEX figure_key ON figure (key);"
_PUT: Final = """
INSERT INTO host (key, phase, n_queued, n_over, delay_ms, delay_from, next_ms,
    n_failures, budget, sweep) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET phase = excluded.phase, n_queued = excluded.n_queued,
    n_over = excluded.n_over, delay_ms = excluded.delay_ms,
    delay_from = excluded.delay_from, next_ms = excluded.next_ms,
    n_failures = excluded.n_failures, budget = excluded.budget, sweep = excluded.sweep
"""
_SUM: Final = """
INSERT INTO host (key, n_documents, n_statements, n_bytes, n_faulty, last_ms)
SELECT key, sum(n_documents), sum(n_statements), sum(n_bytes), sum(n_faulty),
    max(last_ms) FROM figure WHERE {} IN ({}) GROUP BY key
ON CONFLICT (key) DO UPDATE SET n_documents = excluded.n_documents,
    n_statements = excluded.n_statements, n_bytes = excluded.n_bytes,
    n_faulty = excluded.n_faulty, last_ms = excluded.last_ms
"""
_NAMES: Final = """
SELECT name FROM figure WHERE {} = ? ORDER BY n_documents DESC LIMIT ?
"""
_COUNT: Final = "SELECT count(*) FROM host"
_NUMBERS: Final = "SELECT rowid FROM host"
_GONE: Final = """
UPDATE host SET phase = '', n_queued = 0, n_over = 0, delay_ms = NULL,
    delay_from = '', next_ms = 0, n_failures = 0, budget = NULL
WHERE sweep < ?1 AND phase <> ''
"""

COLUMNS: Final[Mapping[str, str]] = {
    "name": "key",
    "phase": "phase",
    "documents": "n_documents",
    "statements": "n_statements",
    "bytes": "n_bytes",
    "faulty": "n_faulty",
    "last": "last_ms",
    "queue": "n_queued",
    "delay": "delay_ms",
    "next": "next_ms",
    "refused": "n_failures",
    "budget": "budget",
}
"""Sort columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRow:
    """One host, or one politeness key.

    Attributes:
        key: the politeness key.
        phase: of the frontier; empty: the host is not there, or was not read yet.
        n_queued: URIs that wait.
        n_over: URIs over a budget.
        delay_ms: least time between two requests; None if it is not known.
        delay_from: `operator`, `host` or `setting`.
        next_ms: when it may be visited, Unix time; 0: now, or not known.
        n_failures: consecutive visits that it refused.
        budget: set by an operator; None: as its spider says.
        n_documents: fetched documents.
        n_statements: of these.
        n_bytes: of these, decoded.
        n_faulty: crawls of URIs with a fault.
        last_ms: end of the latest fetch, Unix time; 0: none.
    """

    key: str
    phase: str = ""
    n_queued: int = 0
    n_over: int = 0
    delay_ms: int | None = None
    delay_from: str = ""
    next_ms: int = 0
    n_failures: int = 0
    budget: int | None = None
    n_documents: int = 0
    n_statements: int = 0
    n_bytes: int = 0
    n_faulty: int = 0
    last_ms: int = 0


_STATE: Final = (
    *("phase", "n_queued", "n_over", "delay_ms", "delay_from", "next_ms"),
    *("n_failures", "budget"),
)
_FIELDS: Final = ", ".join(HostRow.__dataclass_fields__)
_ROWS: Final = f"SELECT rowid, {_FIELDS} FROM host WHERE rowid IN ({{}})"  # noqa: S608


@dataclass(frozen=True, slots=True, kw_only=True)
class HostChoice:
    """Filter, order and page of the table.

    Attributes:
        sort: a name of `COLUMNS`.
        is_down: the largest first.
        text: part of the key.
        phase: state of the hosts; empty: any.
        is_faulty: only hosts with faults, or that refuse.
        first: number of the first row, from 0.
        most: limit of rows.
    """

    sort: str = "documents"
    is_down: bool = True
    text: str = ""
    phase: str = ""
    is_faulty: bool = False
    first: int = 0
    most: int = 50

    def where(self) -> tuple[str, list[Any]]:
        """Return the condition in SQL, of constants alone, and its values."""
        claims, values = ["1"], list[Any]()
        if self.text:
            claims.append("instr(key, ?)")
            values.append(self.text)
        if self.phase:
            claims.append("phase = ?")
            values.append(self.phase)
        if self.is_faulty:
            claims.append("(n_faulty > 0 OR n_failures > 0)")
        return " AND ".join(claims), values


def state_of(host: HostSummary) -> dict[str, Any]:
    """Return the fields of a row that the frontier has."""
    return {name: getattr(host, name) for name in _STATE} | {"phase": str(host.phase)}


class HostTable:
    """The table; each method may be called by any thread, and takes milliseconds.

    Args:
        is_grouped: keys may cover several hosts.
    """

    def __init__(self, *, is_grouped: bool) -> None:
        # The empty name creates a private database.
        self._connection = sqlite3.connect("", check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode = OFF")
        self._connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        self._connection.executescript(_SCHEMA + (_INDEX if is_grouped else ""))
        self._by = "key" if is_grouped else "name"  # the same, and has an index
        self._lock = threading.Lock()
        self._orders = KeptOrders()

    def put(self, hosts: Iterable[HostSummary], sweep: int) -> None:
        """Set the states of hosts, as read by a sweep."""
        rows = [(each.key, *state_of(each).values(), sweep) for each in hosts]
        with self._lock, self._connection:
            self._connection.executemany(_PUT, rows)

    def end_sweep(self, sweep: int) -> int:
        """Clear the states of hosts that a sweep has not met; count the others."""
        with self._lock, self._connection:
            found = self._connection.execute(
                "SELECT count(*) FROM host WHERE sweep = ?", (sweep,)
            )
            ((n,),) = found.fetchall()
            self._connection.execute(_GONE, (sweep,))
        return int(n)

    def put_figures(self, rows: Sequence[Sequence[Any]]) -> None:
        """Set sums of hosts, and thereby the sums of their keys.

        Args:
            rows: name, key, and the sums as in the table.
        """
        keys = list(dict.fromkeys(row[1] for row in rows))
        with self._lock, self._connection:
            self._connection.executemany(
                "INSERT OR REPLACE INTO figure VALUES (?, ?, ?, ?, ?, ?, ?)", rows
            )
            for start in range(0, len(keys), _BATCH_SIZE):
                some = keys[start : start + _BATCH_SIZE]
                marks = ", ".join("?" * len(some))
                self._connection.execute(_SUM.format(self._by, marks), some)

    def choose(self, choice: HostChoice) -> tuple[int, list[HostRow]]:
        """Return the number of matching hosts, and the hosts of the page.

        A large table is sorted rarely: its order may be some seconds old.
        """
        with self._lock:
            order = self._order_of(choice)
            rows = rows_by_number(
                self._connection, _ROWS, order.page(choice.first, choice.most)
            )
        names = HostRow.__dataclass_fields__
        found = [HostRow(**dict(zip(names, row, strict=True))) for row in rows]
        return order.n, found

    def _order_of(self, choice: HostChoice) -> RowOrder:
        """Return the order of hosts, at least to the end of the page."""
        end = choice.first + choice.most
        is_full_sort = end > _FEW
        key = replace(choice, first=0, most=0), is_full_sort
        if (known := self._orders.get(key)) is not None:
            return known
        began = monotonic()
        where, values = choice.where()
        execute = self._connection.execute
        ((n,),) = execute(f"{_COUNT} WHERE {where}", values).fetchall()
        order = _order(choice.sort, is_down=choice.is_down)
        rows = execute(
            f"{_NUMBERS} WHERE {where} ORDER BY {order} LIMIT ?",
            (*values, -1 if is_full_sort else _FEW),
        )
        found = RowOrder(n, numbers_of(rows))
        self._orders.put(key, found, began)
        return found

    def names_of(self, key: str, most: int) -> list[str]:
        """Return the hosts of a key, those with most documents first."""
        with self._lock:
            rows = self._connection.execute(
                _NAMES.format(self._by), (key, most)
            ).fetchall()
        return [name for (name,) in rows]

    def close(self) -> None:
        """Delete the table."""
        with self._lock:
            self._connection.close()


def _order(sort: str, *, is_down: bool) -> str:
    """Return the order in SQL: ties by name, and empty values last."""
    return f"{COLUMNS[sort]} {'DESC' if is_down else 'ASC'} NULLS LAST, key ASC"
