"""A table of all hosts of a crawl, which a sweep keeps up to date.

Neither Redis nor the index can be read in full for each request. The table is a private
database of SQLite: a cache of a few megabytes in memory, and an unnamed temporary file
for the rest. So its content is never older than the process, two pages of one crawl do
not share it, and no file has two writers. The sweep reads in small steps.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, Final, TypeVar

from rdfcrawl.core.batches import in_batches
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.frontier.queue.options import CrawlOptions
from rdfcrawl.monitor.operating.crawl import OperatedCrawl
from rdfcrawl.monitor.operating.hosts import (
    HostPlace,
    HostSummary,
    iter_place_pages,
    least_delay_ms,
    read_places,
)
from rdfcrawl.monitor.page.crawl_access import CrawlAccess
from rdfcrawl.monitor.page.kept_orders import SortedRows
from rdfcrawl.uri import HostGrouping, PolitenessKey

logger = logging.getLogger(__name__)

T = TypeVar("T")

_CACHE_KIB: Final = 16 * 1024
_BATCH_SIZE: Final = 500  # keys in one statement
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
_STEP: Final = 200  # hosts in one read: about a millisecond of Redis
_REST: Final = 4.0  # pause before the next step, as a multiple of its time
_LEAST_REST_SECS: Final = 2.0  # pause between two sweeps
_LOOKED_SECS: Final = 300.0  # time for which sweeps continue after a look
_FIGURES: Final = 1000  # rows of the index in one read
_PATIENCE_SECS: Final = 0.25  # time that a visitor waits for the first sweep


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
_FIELDS: Final = tuple(HostRow.__dataclass_fields__)


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
    """The table; each method takes milliseconds.

    Those that are no coroutines may be called by any thread.

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
        self._rows = SortedRows(self._query, "host", ", ".join(_FIELDS))

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
        keys = dict.fromkeys(row[1] for row in rows)
        with self._lock, self._connection:
            self._connection.executemany(
                "INSERT OR REPLACE INTO figure VALUES (?, ?, ?, ?, ?, ?, ?)", rows
            )
            for some in in_batches(keys, _BATCH_SIZE):
                marks = ", ".join("?" * len(some))
                self._connection.execute(_SUM.format(self._by, marks), some)

    async def choose(self, choice: HostChoice) -> tuple[HostChoice, int, list[HostRow]]:
        """Return the choice, the number of matching hosts, and the hosts of the page.

        A page beyond the end is replaced by the last one. A large table is sorted
        rarely: its order may be some seconds old.
        """
        direction = "DESC" if choice.is_down else "ASC"
        order = f"{COLUMNS[choice.sort]} {direction} NULLS LAST, key ASC"
        found = await self._rows.page(
            *choice.where(), order, first=choice.first, most=choice.most
        )
        hosts = [HostRow(**dict(zip(_FIELDS, x, strict=True))) for x in found.rows]
        return replace(choice, first=found.first), found.n, hosts

    async def names_of(self, key: str, most: int) -> list[str]:
        """Return the hosts of a key, those with most documents first."""
        rows = await self._query(_NAMES.format(self._by), (key, most))
        return [name for (name,) in rows]

    async def _query(self, query: str, values: Sequence[Any]) -> list[Any]:
        def fetch() -> list[Any]:
            with self._lock:
                return self._connection.execute(query, values).fetchall()

        return await asyncio.to_thread(fetch)

    def close(self) -> None:
        """Delete the table."""
        with self._lock:
            self._connection.close()


_LAST: Final[list[HostPlace]] = [(-1, "")]  # after the last page
_READ_FIGURES: Final = """
SELECT id, name, n_documents, n_statements, n_bytes, n_faulty, last_ms FROM host
WHERE id > ? ORDER BY id LIMIT ?
"""


class HostSweep:
    """Fills a table of all hosts, from the index and from Redis.

    A sweep rests four fifths of the time, and the pause after it is four times as long:
    it takes one or two percent of a core of Redis and of the page. Sweeps continue for
    five minutes after the last look at hosts.

    Args:
        access: to the crawl.

    Attributes:
        table: to fill.
        n_swept: hosts of the frontier in the last complete sweep.
    """

    def __init__(self, access: CrawlAccess) -> None:
        self._access = access
        options = CrawlOptions.from_settings(access.settings, access.name)
        self._grouping = options.keys.grouping
        self.table = HostTable(is_grouped=self._grouping is not HostGrouping.HOST)
        self.n_swept = 0
        self._sweep = 0
        self._ended_at: float | None = None
        self._looked_at = monotonic()
        self._is_wanted = asyncio.Event()
        self._first = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def age_secs(self) -> float | None:
        """Seconds since the end of the last complete sweep; None before the first."""
        return None if self._ended_at is None else monotonic() - self._ended_at

    async def open(self) -> None:
        """Start sweeping."""
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Stop sweeping."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self.table.close()

    async def look(self) -> None:
        """Note a look at hosts; wait a moment for the first sweep to end."""
        self._looked_at = monotonic()
        self._is_wanted.set()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._first.wait(), _PATIENCE_SECS)

    async def _run(self) -> None:
        while True:
            began = monotonic()
            try:
                await self._read_figures()
                await self._read_states()
                self._ended_at = monotonic()
                self._first.set()
            except (ConfigError, OSError, sqlite3.Error) as error:  # as a full disk
                logger.warning("the table of hosts is not up to date: %s", error)
            took = monotonic() - began
            await asyncio.sleep(max(_LEAST_REST_SECS, _REST * took))
            if monotonic() - self._looked_at > _LOOKED_SECS:
                self._is_wanted.clear()
                await self._is_wanted.wait()

    async def _read_figures(self) -> None:
        """Read the sums of all hosts in the index, step by step."""
        last = 0
        while True:
            began = monotonic()
            rows = await self._access.indexed(_READ_FIGURES, (last, _FIGURES))
            if not rows:
                return
            last = rows[-1][0]
            keys = await self._keys_of([row[1] for row in rows])
            figures = [(row[1], keys[row[1]], *row[2:]) for row in rows]
            await asyncio.to_thread(self.table.put_figures, figures)
            await asyncio.sleep(_REST * (monotonic() - began))

    async def _keys_of(self, names: Sequence[str]) -> dict[str, str]:
        """Return the politeness keys of hosts."""
        if self._grouping is HostGrouping.HOST:
            return {name: name for name in names}
        known: dict[str, str] = {}
        if self._grouping is HostGrouping.IP:

            async def read(crawl: OperatedCrawl) -> dict[str, str]:
                return await crawl.frontier.addresses.of(names)

            known = await self._access.read(read) or {}
        policy = PolitenessKey(self._grouping, lambda host: known.get(host) or None)
        return {
            name: name if "!" in name else policy.of(f"http://{name}/")
            for name in names
        }

    async def _read_states(self) -> None:
        """Read all hosts of the frontier, step by step; stop if Redis goes away."""
        begun = await self._access.read(_begin)
        if begun is None:
            return
        pages, least = begun
        self._sweep += 1
        while (places := await self._step(lambda _: anext(pages, _LAST))) != _LAST:
            if places is None:
                return
            for some in in_batches(places, _STEP):
                if not await self._read_some(some, least):
                    return
        self.n_swept = await asyncio.to_thread(self.table.end_sweep, self._sweep)

    async def _read_some(self, places: Sequence[HostPlace], least: int) -> bool:
        found = await self._step(lambda crawl: read_places(crawl, places, least))
        if found is not None:
            await asyncio.to_thread(self.table.put, found, self._sweep)
        return found is not None

    async def _step(self, read: Callable[[OperatedCrawl], Awaitable[T]]) -> T | None:
        """Read from the frontier, and pause; return None while Redis is away."""
        began = monotonic()
        found = await self._access.read(read)
        await asyncio.sleep(_REST * (monotonic() - began))
        return found


async def _begin(crawl: OperatedCrawl) -> tuple[AsyncIterator[list[HostPlace]], int]:
    return iter_place_pages(crawl), await least_delay_ms(crawl)
