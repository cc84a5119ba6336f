"""Crawled hosts, and the number of links from each to others."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from rdfcrawl.uri import registered_domain

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from rdfcrawl.analysis.crawl_index.members import LogMember

# The host of the document whose lines follow, or of the target of a link.
_find_hosts: Final = re.compile(
    rb"^(?:(#\tdocument) |<[^>]*> )<[a-z]+://([^/?#>]*)", re.MULTILINE
).findall
_host_of_uri: Final = re.compile(r"[a-z]+://([^/?#]*)").match
_MAX_TARGETS: Final = 1000  # of one host
_MAX_HOSTS: Final = 1_000_000  # including hosts that were not crawled
_MAX_CHARS: Final = 255 + 6  # of a host with its port
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
            if len(first) <= _MAX_CHARS and len(second) <= _MAX_CHARS
        }
    )


def _text(host: bytes) -> str:
    return host.decode("utf-8", "replace").rpartition("@")[2].lower()


def _add_documents(connection: sqlite3.Connection, member: LogMember) -> None:
    documents: Counter[str] = Counter()
    statements: Counter[str] = Counter()
    for each in member.activities:
        found = _host_of_uri(each.uri)
        if found and each.http_status and len(found[1]) <= _MAX_CHARS:
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
    _make(connection, hosts)
    ids: dict[str, int] = {}
    for host in hosts:
        found = connection.execute("SELECT id FROM web_host WHERE host = ?", (host,))
        if row := found.fetchone():
            ids[host] = row[0]
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
