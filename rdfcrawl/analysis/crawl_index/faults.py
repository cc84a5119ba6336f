"""Faults of documents by reason, with the latest examples of each."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.urldb.activities import text_of
from rdfcrawl.core.namespaces import RC

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from rdfcrawl.analysis.crawl_index.activities import IndexedActivity
    from rdfcrawl.analysis.crawl_index.members import LogMember

MOST_EXAMPLES: Final = 20  # of each reason
_MOST_DETAIL: Final = 500  # characters
_FIRST: Final = f":fault:0> <{RC}reason> "
_find_terms: Final = re.compile(
    rf':fault:([0-9]+)> <{re.escape(RC)}(reason|detail)> ("(?:[^"\\]|\\.)*")'
).findall
_COUNT: Final = """
INSERT INTO fault VALUES (?, ?)
ON CONFLICT (reason) DO UPDATE SET n_documents = n_documents + excluded.n_documents
"""

_Row = tuple[str, int, int, str]


class FaultTally:
    """Number of documents with a fault, by reason, and the latest examples.

    Twenty examples for each reason: a megabyte at most, for a crawl of any size, since
    URIs are limited to 2 KiB.
    """

    schema = """
    CREATE TABLE IF NOT EXISTS fault (reason TEXT PRIMARY KEY, n_documents INTEGER)
        WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS fault_example (
        reason TEXT, place INTEGER, uri TEXT, ended_ms INTEGER, http_status INTEGER,
        detail TEXT, PRIMARY KEY (reason, place)
    ) WITHOUT ROWID;
    """

    def take(self, connection: sqlite3.Connection, member: LogMember) -> None:
        """Add the faults of a member; new examples overwrite the oldest."""
        found: dict[str, list[_Row]] = defaultdict(list)
        for each in member.activities:
            if each.reason:
                for reason, detail in _faults_of(each):
                    row = (each.uri, each.ended_ms, each.http_status, detail)
                    found[reason].append(row)
        for reason, rows in found.items():
            _add(connection, reason, rows)


def _add(connection: sqlite3.Connection, reason: str, rows: list[_Row]) -> None:
    query = "SELECT n_documents FROM fault WHERE reason = ?"
    n_before = connection.execute(query, (reason,)).fetchone()
    first = (n_before[0] if n_before else 0) + max(0, len(rows) - MOST_EXAMPLES)
    connection.executemany(
        "INSERT OR REPLACE INTO fault_example VALUES (?, ?, ?, ?, ?, ?)",
        [
            (reason, (first + i) % MOST_EXAMPLES, *row)
            for i, row in enumerate(rows[-MOST_EXAMPLES:])
        ],
    )
    connection.execute(_COUNT, (reason, len(rows)))


def _faults_of(activity: IndexedActivity) -> Iterator[tuple[str, str]]:
    """Yield reason and detail of each fault, each reason once."""
    # The lines of all further faults follow the reason of the first one.
    text = _FIRST + activity.facts[f"{RC}reason"]
    terms = {(number, name): term for number, name, term in _find_terms(text)}
    seen = set()
    for (number, name), term in terms.items():
        reason = text_of(term)
        if name == "reason" and reason not in seen:
            seen.add(reason)
            detail = terms.get((number, "detail"), '""')
            yield reason, text_of(detail)[:_MOST_DETAIL]
