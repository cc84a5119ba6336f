"""Links between hosts, as the index counts them."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.analysis.crawl_index.hosts import HostLinkTally, count_links
from rdfcrawl.analysis.crawl_index.members import LogMember

if TYPE_CHECKING:
    from collections.abc import Iterator

_LINKS = b"""#\tdocument <http://a.example/1> 1795532844308
<http://p.example/x> <http://b.example/1>
<http://p.example/x> <https://b.example/2>
<http://p.example/x> <http://a.example/2>
<http://p.example/x> <urn:x:y>
#\tdocument <http://b.example/1> 1795532844309
<http://p.example/x> <http://user@C.example:80/?q>
"""


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    """Return an index with the tables of the tally."""
    with sqlite3.connect(":memory:") as found:
        found.executescript(HostLinkTally.schema)
        yield found
    found.close()


def _member(content: bytes) -> LogMember:
    return LogMember("links", "w", 0, 1, content)


def test_links_are_counted_by_host() -> None:
    """If documents link to other hosts, then each pair is counted, predicates not."""
    assert count_links(_LINKS) == {
        ("a.example", "b.example"): 2,
        ("b.example", "c.example:80"): 1,
    }


def test_counts_add_up(connection: sqlite3.Connection) -> None:
    """If a pair of hosts comes by again, then its links are added."""
    for _ in range(2):
        HostLinkTally().take(connection, _member(_LINKS))
    rows = connection.execute(
        "SELECT a.host, b.host, n, a.n_targets FROM host_link"
        " JOIN web_host AS a ON a.id = source JOIN web_host AS b ON b.id = target"
    ).fetchall()
    assert sorted(rows) == [
        ("a.example", "b.example", 4, 1),
        ("b.example", "c.example:80", 2, 1),
    ]


def test_targets_of_a_host_are_bounded(connection: sqlite3.Connection) -> None:
    """If a host links to very many others, then only so many of them are kept."""
    for begin in range(0, 3000, 500):
        lines = b"".join(
            b"<http://p.example/x> <http://h%d.example/>\n" % n
            for n in range(begin, begin + 500)
        )
        document = b"#\tdocument <http://a.example/1> 1\n"
        HostLinkTally().take(connection, _member(document + lines))
    assert connection.execute("SELECT COUNT(*) FROM host_link").fetchone() == (1000,)
