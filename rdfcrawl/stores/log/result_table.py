"""Read the log of results of a crawl into a table, which is not kept in memory."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rdfcrawl.stores.log.results import INCOMPLETE, SEEDS, HostResults, SeedResult
from rdfcrawl.stores.reading import iter_blocks, reading
from rdfcrawl.stores.segment_file import TornMember, list_segments

_CACHE_KIB: Final = 16 * 1024
_SCHEMA: Final = """
CREATE TABLE seed (url TEXT PRIMARY KEY, version_ms INTEGER, status TEXT,
    http_status INTEGER, n_statements INTEGER, n_links INTEGER, reason TEXT,
    detail TEXT) WITHOUT ROWID;
CREATE TABLE host (name TEXT, result TEXT, n_documents INTEGER, n_statements INTEGER,
    PRIMARY KEY (name, result)) WITHOUT ROWID;
"""
_PUT_SEED: Final = """
INSERT INTO seed VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (url) DO UPDATE SET version_ms = excluded.version_ms,
    status = excluded.status, http_status = excluded.http_status,
    n_statements = excluded.n_statements
        + iif(version_ms = excluded.version_ms, n_statements, 0),
    n_links = excluded.n_links + iif(version_ms = excluded.version_ms, n_links, 0),
    reason = excluded.reason, detail = excluded.detail
WHERE version_ms <= excluded.version_ms
"""
_PUT_HOST: Final = """
INSERT INTO host VALUES (?, ?, ?, ?)
ON CONFLICT (name, result) DO UPDATE SET
    n_documents = n_documents + excluded.n_documents,
    n_statements = n_statements + excluded.n_statements
"""
_FAILED: Final = "status IN ('FAILED', 'UNKNOWN')"
# The worst first; of equal ones, those without statements.
_SEEDS: Final = f"""
SELECT url, version_ms, status, http_status, n_statements, n_links, reason, detail
FROM seed ORDER BY CASE WHEN {_FAILED} THEN 0 WHEN status = 'PARTIAL' THEN 1
    WHEN status = 'DELETED' THEN 2 WHEN status = 'REDIRECTED' THEN 5
    WHEN status = 'UNCHANGED' THEN 4 ELSE 3 END, n_statements, n_links, url
"""  # noqa: S608  (constants)
# Those that the crawl left out of respect for its hosts have not failed.
_GOOD: Final = (
    "(result GLOB '[123]??' OR result IN ('robots_disallowed', 'not_wanted'))"
)
_HOSTS: Final = f"""
SELECT name, sum(n_documents) AS n, sum(n_statements), sum(n_documents * NOT {_GOOD}),
    (SELECT json_group_object(result, n_documents) FROM (SELECT result, n_documents
        FROM host WHERE name = outer.name ORDER BY n_documents DESC, result))
FROM host AS outer GROUP BY name
ORDER BY sum(n_documents * NOT {_GOOD}) * 1.0 / n DESC, n DESC, name
"""  # noqa: S608  (constants)


_EMPTY: Final = """
SELECT CASE WHEN http_status IN (401, 407) THEN 'needs_login' ELSE reason END AS why,
    count(*), min(url) FROM seed WHERE n_statements = 0 AND reason <> ''
GROUP BY why ORDER BY count(*) DESC, why
"""


@dataclass(frozen=True, slots=True)
class EmptySeeds:
    """Seeds without statements for one reason: a fault, or an `EmptyPage`."""

    reason: str
    n_seeds: int
    example: str  # URL of one of them


@dataclass(frozen=True, slots=True)
class SeedCounts:
    """Number of seeds with a result, and of those that failed."""

    n_seeds: int
    n_failed: int


class ResultTable:
    """The results in the logs of a crawl, as a table outside of memory.

    Args:
        connection: a private database.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @classmethod
    @contextmanager
    def opened(cls, root: Path, *kinds: str) -> Iterator[ResultTable]:
        """Read the logs of a crawl; memory is limited, the rest is a temporary file.

        Args:
            root: of the results, `CRAWL_DIR/<CRAWL_ID>/results`.
            kinds: `SEEDS`, `HOSTS` or both.

        Raises:
            OSError: the disk cannot be read.
            sqlite3.Error: the temporary file cannot be written.
        """
        connection = sqlite3.connect("", isolation_level=None)
        try:
            connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            connection.execute("PRAGMA journal_mode = OFF")
            connection.executescript(_SCHEMA)
            connection.execute("BEGIN")
            for kind in kinds:
                query, n = (_PUT_SEED, 8) if kind == SEEDS else (_PUT_HOST, 4)
                connection.executemany(query, _iter_rows(root / kind, n))
            connection.execute("COMMIT")
            yield cls(connection)
        finally:
            connection.close()

    def counts(self) -> SeedCounts:
        """Return the number of seeds and of failed ones."""
        query = f"SELECT count(*), coalesce(sum({_FAILED}), 0) FROM seed"  # noqa: S608
        return SeedCounts(*self._connection.execute(query).fetchone())

    def empty_reasons(self) -> list[EmptySeeds]:
        """Return why seeds have no statements, the most frequent reason first."""
        return [EmptySeeds(*row) for row in self._connection.execute(_EMPTY)]

    def n_hosts(self) -> int:
        """Return the number of hosts."""
        query = "SELECT count(DISTINCT name) FROM host"
        n: int = self._connection.execute(query).fetchone()[0]
        return n

    def seeds(self) -> Iterator[SeedResult]:
        """Yield the results of all seeds, the worst first."""
        names = SeedResult.__slots__
        for row in self._connection.execute(_SEEDS):
            yield SeedResult(**dict(zip(names, row, strict=True)))

    def hosts(self) -> Iterator[HostResults]:
        """Yield the results of all hosts, the largest share of bad ones first."""
        for name, n, n_statements, n_bad, results in self._connection.execute(_HOSTS):
            yield HostResults(
                host=name,
                n_documents=n,
                n_statements=n_statements,
                n_bad=n_bad,
                results=json.loads(results),
            )


def incomplete_sources(root: Path, run: int) -> dict[str, str]:
    """Return the sources that were read in part in a run, each with a detail.

    Args:
        root: of the results, `CRAWL_DIR/<CRAWL_ID>/results`.
        run: of the crawl.

    Raises:
        OSError: the disk cannot be read.
    """
    rows = _iter_rows(root / INCOMPLETE, 3)
    return {url: detail for url, in_run, detail in rows if in_run == run}


def _iter_rows(folder: Path, n_values: int) -> Iterator[list[Any]]:
    if not folder.is_dir():
        return
    with reading(folder):
        for path in list_segments(folder):
            for line in _iter_lines(path):
                row = json.loads(line)
                if isinstance(row, list) and len(row) == n_values:
                    yield row


def _iter_lines(path: Path) -> Iterable[bytes]:
    try:
        for block in iter_blocks(path):
            yield from block.splitlines()
    except (FileNotFoundError, TornMember):  # it was empty, or ends in damage
        return
