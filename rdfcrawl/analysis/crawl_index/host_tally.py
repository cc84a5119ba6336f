"""Figures of each host of a crawl, from the provenance."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from rdfcrawl.analysis.urldb.activities import text_of
from rdfcrawl.core.namespaces import RC
from rdfcrawl.uri import PolitenessKey

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from rdfcrawl.analysis.crawl_index.activities import IndexedActivity
    from rdfcrawl.analysis.crawl_index.members import LogMember

MAX_FETCHES: Final = 200
"""Number of stored fetches of a host: the latest."""
MAX_SOURCES: Final = 50
"""Number of stored sitemaps and other sources of a host: the first."""
MAX_CHARS: Final = 1000
"""Stored characters of a URL or detail; a truncated URL is no link."""

_name_of: Final = PolitenessKey().of
_DETAIL: Final = f":fault:0> <{RC}detail> "
_SITEMAP_FORMAT: Final = f"{RC}sitemapFormat"
_FOUND_BY: Final = f"{RC}foundBy"
_ADD: Final = """
INSERT INTO host (name, n_documents, n_statements, n_bytes, n_faulty, last_ms)
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (name) DO UPDATE SET n_documents = n_documents + excluded.n_documents,
    n_statements = n_statements + excluded.n_statements,
    n_bytes = n_bytes + excluded.n_bytes, n_faulty = n_faulty + excluded.n_faulty,
    last_ms = max(last_ms, excluded.last_ms)
"""
_FETCH: Final = "INSERT OR REPLACE INTO host_fetch VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_FORGET: Final = """
DELETE FROM host_fetch WHERE host = ?1 AND started_ms <= (
    SELECT started_ms FROM host_fetch WHERE host = ?1
    ORDER BY started_ms DESC LIMIT 1 OFFSET ?2)
"""
_FAULT: Final = """
INSERT INTO host_fault VALUES (?, ?, 1, ?, ?, ?)
ON CONFLICT (host, reason) DO UPDATE SET n = n + 1, uri = excluded.uri,
    ms = excluded.ms, detail = excluded.detail
"""
_SOURCE: Final = """
INSERT INTO host_source SELECT ?1, ?2, ?3, ?4, ?5 WHERE
    (SELECT count(*) FROM host_source WHERE host = ?1) < ?6
ON CONFLICT (host, uri) DO UPDATE SET kind = excluded.kind,
    found_by = excluded.found_by, ms = excluded.ms
"""


class HostTally:
    """Sums of each host, its latest fetches, its faults by reason, and its sources.

    Hosts are those of `POLITENESS_KEY=host`; other keys combine several of them.
    About 150 bytes on disk for a document, less for hosts with more than 200.
    """

    schema = """
    CREATE TABLE IF NOT EXISTS host (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, n_documents INTEGER,
        n_statements INTEGER, n_bytes INTEGER, n_faulty INTEGER, last_ms INTEGER
    );
    CREATE TABLE IF NOT EXISTS host_fetch (
        host INTEGER, started_ms INTEGER, uri TEXT, took_ms INTEGER,
        http_status INTEGER, status TEXT, n_statements INTEGER, n_bytes INTEGER,
        reason TEXT, PRIMARY KEY (host, started_ms, uri)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS host_fault (
        host INTEGER, reason TEXT, n INTEGER, uri TEXT, ms INTEGER, detail TEXT,
        PRIMARY KEY (host, reason)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS host_source (
        host INTEGER, uri TEXT, kind TEXT, found_by TEXT, ms INTEGER,
        PRIMARY KEY (host, uri)
    ) WITHOUT ROWID;
    """

    def take(self, connection: sqlite3.Connection, member: LogMember) -> None:
        """Add the activities of a member."""
        by_host: dict[str, list[IndexedActivity]] = defaultdict(list)
        for each in member.activities:
            by_host[_name_of(each.uri)].append(each)
        names = sorted(by_host)
        connection.executemany(_ADD, [_sums(name, by_host[name]) for name in names])
        for name in names:
            _keep(connection, name, by_host[name])


def _sums(name: str, activities: Sequence[IndexedActivity]) -> tuple[Any, ...]:
    """Return the row of a host; activities without a request are no documents."""
    return (
        name,
        sum(1 for each in activities if each.ended_ms),
        sum(each.n_statements for each in activities),
        sum(each.n_bytes for each in activities),
        sum(1 for each in activities if each.reason),
        max(each.ended_ms for each in activities),
    )


def _keep(
    connection: sqlite3.Connection, name: str, activities: Sequence[IndexedActivity]
) -> None:
    found = connection.execute(
        "SELECT id, n_documents FROM host WHERE name = ?", (name,)
    )
    host, n_documents = found.fetchone()
    fetched = [each for each in activities if each.started_ms]
    if fetched:
        rows = [_fetch(host, each) for each in fetched]
        connection.executemany(_FETCH, rows)
        if n_documents > MAX_FETCHES:
            connection.execute(_FORGET, (host, MAX_FETCHES))
    for each in activities:
        if each.reason:
            connection.execute(_FAULT, _fault(host, each))
        if _SITEMAP_FORMAT in each.facts or _FOUND_BY in each.facts:
            connection.execute(_SOURCE, (*_source(host, each), MAX_SOURCES))


def _fetch(host: int, each: IndexedActivity) -> tuple[Any, ...]:
    return (
        host,
        each.started_ms,
        each.uri[:MAX_CHARS],
        max(0, each.ended_ms - each.started_ms),
        each.http_status,
        each.status,
        each.n_statements,
        each.n_bytes,
        each.reason,
    )


def _fault(host: int, each: IndexedActivity) -> tuple[Any, ...]:
    term = each.facts.get(f"{RC}reason", "").partition(_DETAIL)[2]
    detail = text_of(term) if term else ""
    uri = each.uri[:MAX_CHARS]
    return host, each.reason, uri, each.ended_ms, detail[:MAX_CHARS]


def _source(host: int, each: IndexedActivity) -> tuple[Any, ...]:
    def fact(name: str) -> str:
        return text_of(each.facts[name])[:100] if name in each.facts else ""

    kind = f"sitemap {fact(_SITEMAP_FORMAT)}".rstrip()
    return host, each.uri[:MAX_CHARS], kind, fact(_FOUND_BY), each.ended_ms
