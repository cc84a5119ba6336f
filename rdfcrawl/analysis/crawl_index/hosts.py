"""Hosts of a crawl: their figures, and the number of links from each to others."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

from rdfcrawl.analysis.crawl_index.members import LogMember
from rdfcrawl.stores.provenance.records import Activity
from rdfcrawl.uri import PolitenessKey, registered_domain

MAX_FETCHES: Final = 200
"""Number of stored fetches of a host: the latest."""
MAX_SOURCES: Final = 50
"""Number of stored sitemaps and other sources of a host: the first."""
MAX_CHARS: Final = 1000
"""Stored characters of a URL or detail; a truncated URL is no link."""

_name_of: Final = PolitenessKey().of
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
_MAX_TARGETS: Final = 1000  # of one host
_MAX_HOSTS: Final = 1_000_000  # including hosts that were not crawled
MAX_HOST_CHARS: Final = 255 + 6
"""Characters of a host with its port; longer ones are not counted."""


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
        by_host: dict[str, list[Activity]] = defaultdict(list)
        for each in member.activities:
            by_host[_name_of(each.uri)].append(each)
        names = sorted(by_host)
        connection.executemany(_ADD, [_sums(name, by_host[name]) for name in names])
        for name in names:
            _keep(connection, name, by_host[name])


def _sums(name: str, activities: Sequence[Activity]) -> tuple[Any, ...]:
    """Return the row of a host; activities without a request are no documents."""
    return (
        name,
        sum(1 for each in activities if each.ended_ms),
        sum(each.n_statements for each in activities),
        sum(max(each.n_bytes, 0) for each in activities),
        sum(1 for each in activities if each.reason),
        max(each.ended_ms for each in activities),
    )


def _keep(
    connection: sqlite3.Connection, name: str, activities: Sequence[Activity]
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
        if each.sitemap_format or each.found_by:
            connection.execute(_SOURCE, (*_source(host, each), MAX_SOURCES))


def _fetch(host: int, each: Activity) -> tuple[Any, ...]:
    return (
        host,
        each.started_ms,
        each.uri[:MAX_CHARS],
        max(0, each.ended_ms - each.started_ms),
        each.http_status,
        each.status,
        each.n_statements,
        max(each.n_bytes, 0),
        each.reason,
    )


def _fault(host: int, each: Activity) -> tuple[Any, ...]:
    uri, detail = each.uri[:MAX_CHARS], each.faults[0].detail
    return host, each.reason, uri, each.ended_ms, detail[:MAX_CHARS]


def _source(host: int, each: Activity) -> tuple[Any, ...]:
    kind = f"sitemap {each.sitemap_format[:100]}".rstrip()
    return host, each.uri[:MAX_CHARS], kind, each.found_by, each.ended_ms


# The host of the document whose lines follow, or of the target of a link.
_find_hosts: Final = re.compile(
    rb"^(?:(#\tdocument) |<[^>]*> )<[a-z]+://([^/?#>]*)", re.MULTILINE
).findall
_host_of_uri: Final = re.compile(r"[a-z]+://([^/?#]*)").match
_ADD_DOCUMENTS: Final = """
UPDATE web_host SET n_documents = n_documents + ?, n_statements = n_statements + ?
WHERE host = ?
"""
_ADD_LINKS: Final = """
INSERT INTO host_link SELECT ?1, ?2, ?3
WHERE EXISTS (SELECT 1 FROM host_link WHERE source = ?1 AND target = ?2)
    OR (SELECT n_targets FROM web_host WHERE id = ?1) < ?4
ON CONFLICT (source, target) DO UPDATE SET n = n + excluded.n
"""
_COUNT_TARGETS: Final = """
UPDATE web_host
SET n_targets = (SELECT COUNT(*) FROM host_link WHERE source = id) WHERE id = ?
"""


class HostLinkTally:
    """Documents of each host, and links from each to at most 1,000 others.

    Links within a host do not count. A host takes 60 bytes, a pair of hosts 20. There
    are at most a million hosts, including those that are only linked.
    """

    schema = """
    CREATE TABLE IF NOT EXISTS web_host (
        id INTEGER PRIMARY KEY, host TEXT UNIQUE, domain TEXT,
        n_documents INTEGER DEFAULT 0, n_statements INTEGER DEFAULT 0,
        n_targets INTEGER DEFAULT 0
    );
    CREATE INDEX IF NOT EXISTS web_host_size ON web_host (n_documents DESC);
    CREATE TABLE IF NOT EXISTS host_link (
        source INTEGER, target INTEGER, n INTEGER, PRIMARY KEY (source, target)
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS host_link_target ON host_link (target);
    """

    def take(self, connection: sqlite3.Connection, member: LogMember) -> None:
        """Add documents of provenance, or links."""
        if member.kind == "provenance":
            _add_documents(connection, member)
        elif member.kind == "links":
            _add_links(connection, count_links(member.mark + member.content))


def count_links(content: bytes) -> Counter[tuple[str, str]]:
    """Return the number of links from host to host in complete lines of a link log."""
    found: Counter[tuple[bytes, bytes]] = Counter()
    source = b""
    for mark, host in _find_hosts(content):
        if mark:
            source = host
        elif host != source and source and host:
            found[source, host] += 1
    return Counter(
        {
            (_text(first), _text(second)): n
            for (first, second), n in found.items()
            if len(first) <= MAX_HOST_CHARS and len(second) <= MAX_HOST_CHARS
        }
    )


def _text(host: bytes) -> str:
    return host.decode("utf-8", "replace").rpartition("@")[2].lower()


def _add_documents(connection: sqlite3.Connection, member: LogMember) -> None:
    documents: Counter[str] = Counter()
    statements: Counter[str] = Counter()
    for each in member.activities:
        found = _host_of_uri(each.uri)
        if found and each.http_status and len(found[1]) <= MAX_HOST_CHARS:
            host = _text(found[1].encode())
            documents[host] += 1
            statements[host] += each.n_statements
    _make(connection, documents)
    connection.executemany(
        _ADD_DOCUMENTS, [(n, statements[host], host) for host, n in documents.items()]
    )


def _make(connection: sqlite3.Connection, hosts: Iterable[str]) -> None:
    """Create missing hosts, unless there are too many."""
    for host in hosts:
        found = connection.execute("SELECT 1 FROM web_host WHERE host = ?", (host,))
        if found.fetchone() is None:
            connection.execute(
                "INSERT INTO web_host (host, domain) SELECT ?1, ?2"
                " WHERE COALESCE((SELECT MAX(id) FROM web_host), 0) < ?3",
                (host, domain_of(host), _MAX_HOSTS),
            )


def ids_of_hosts(
    connection: sqlite3.Connection, hosts: Iterable[str]
) -> dict[str, int]:
    """Return the numbers of hosts; missing ones are created, unless too many."""
    _make(connection, hosts)
    ids: dict[str, int] = {}
    for host in hosts:
        found = connection.execute("SELECT id FROM web_host WHERE host = ?", (host,))
        if row := found.fetchone():
            ids[host] = row[0]
    return ids


def domain_of(host: str) -> str:
    """Return the registered domain of a host with an optional port.

    >>> domain_of("www.example.org:8080"), domain_of("127.0.0.1:80")
    ('example.org', '127.0.0.1')
    """
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    return registered_domain(name)


def _add_links(connection: sqlite3.Connection, links: Counter[tuple[str, str]]) -> None:
    if not links:
        return
    hosts = {host for pair in links for host in pair}
    ids = ids_of_hosts(connection, hosts)
    connection.executemany(
        _ADD_LINKS,
        [
            (ids[first], ids[second], n, _MAX_TARGETS)
            for (first, second), n in links.items()
            if first in ids and second in ids
        ],
    )
    sources = {first for first, _ in links}
    connection.executemany(
        _COUNT_TARGETS, [(ids[source],) for source in sources if source in ids]
    )
