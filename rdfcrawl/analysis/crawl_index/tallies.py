"""The tallies of the index: faults, latest documents, history.

`all_tallies` has these and all others.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from rdfcrawl.analysis.crawl_index.building import IndexTally
from rdfcrawl.analysis.crawl_index.datasets import DatasetTally
from rdfcrawl.analysis.crawl_index.hosts import HostLinkTally, HostTally
from rdfcrawl.analysis.crawl_index.members import LogMember
from rdfcrawl.analysis.crawl_index.runs import RunTally
from rdfcrawl.analysis.crawl_index.uri_places import UriPlaceTally
from rdfcrawl.analysis.crawl_index.vocabulary import VocabularyTally
from rdfcrawl.stores.provenance.records import Activity
from rdfcrawl.uri import NormalForm

MOST_EXAMPLES: Final = 20  # of each reason
_MOST_DETAIL: Final = 500  # characters
_COUNT: Final = """
INSERT INTO fault VALUES (?, ?)
ON CONFLICT (reason) DO UPDATE SET n_documents = n_documents + excluded.n_documents
"""

_Row = tuple[str, int, int, str]
MOST_RECENT: Final = 20
_MAX_FORMAT: Final = 40  # characters
MINUTE_MS: Final = 60_000
STEP_MS: Final = 5_000
MOST_STEPS: Final = 720
"""Steps of `history_lately`: the hour before the latest document."""
_SUMS: Final = "n_documents", "n_statements", "n_bytes", "n_faulty"


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


def _faults_of(activity: Activity) -> Iterator[tuple[str, str]]:
    """Yield reason and detail of each fault, each reason once."""
    first = {each.reason: each.detail for each in reversed(activity.faults)}
    for reason in dict.fromkeys(each.reason for each in activity.faults):
        yield reason, first[reason][:_MOST_DETAIL]


class RecentTally:
    """The last documents; a few kilobytes."""

    schema = """
    CREATE TABLE IF NOT EXISTS recent_fetches (ended_ms INTEGER, uri TEXT,
        status TEXT, http_status INTEGER, n_statements INTEGER, reason TEXT,
        n_links INTEGER, format TEXT);
    """

    def take(self, connection: sqlite3.Connection, member: LogMember) -> None:
        """Add the last activities of a member."""
        latest = sorted(member.activities, key=lambda each: each.ended_ms)
        if not latest:
            return
        connection.executemany(
            "INSERT INTO recent_fetches VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [_row(each) for each in latest[-MOST_RECENT:] if each.ended_ms],
        )
        connection.execute(
            "DELETE FROM recent_fetches WHERE rowid NOT IN (SELECT rowid FROM"
            " recent_fetches ORDER BY ended_ms DESC LIMIT ?)",
            (MOST_RECENT,),
        )


def _row(each: Activity) -> tuple[int, str, str, int, int, str, int, str]:
    row = each.ended_ms, each.uri, each.status, each.http_status, each.n_statements
    return *row, each.reason, each.n_links, each.format[:_MAX_FORMAT]


class HistoryTally:
    """Documents, statements, bytes and faulty documents of each minute and step.

    Minutes and steps are counted from 1970; a document belongs to those in which its
    fetch ended. A minute takes 20 bytes, all steps 20 kB.
    """

    schema = """
    CREATE TABLE IF NOT EXISTS history (
        minute INTEGER PRIMARY KEY, n_documents INTEGER, n_statements INTEGER,
        n_bytes INTEGER, n_faulty INTEGER
    );
    CREATE TABLE IF NOT EXISTS history_lately (
        step INTEGER PRIMARY KEY, n_documents INTEGER, n_statements INTEGER,
        n_bytes INTEGER, n_faulty INTEGER
    );
    """

    def take(self, connection: sqlite3.Connection, member: LogMember) -> None:
        """Add the activities of a member."""
        steps: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
        for each in member.activities:
            if each.ended_ms:
                row = steps[each.ended_ms // STEP_MS]
                row[0] += 1
                row[1] += each.n_statements
                row[2] += max(each.n_bytes, 0)
                row[3] += bool(each.reason)
        if not steps:
            return
        minutes: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
        for step, row in steps.items():
            minute = minutes[step * STEP_MS // MINUTE_MS]
            minute[:] = map(sum, zip(minute, row, strict=True))
        connection.executemany(_sums_query("history", "minute"), _rows(minutes))
        # Members come in the order of workers, not of time. The latest step only
        # increases, so removed steps are never needed.
        connection.executemany(_sums_query("history_lately", "step"), _rows(steps))
        connection.execute(
            "DELETE FROM history_lately"
            " WHERE step <= (SELECT MAX(step) FROM history_lately) - ?",
            (MOST_STEPS,),
        )


def _sums_query(table: str, time: str) -> str:
    sums = ", ".join(f"{name} = {name} + excluded.{name}" for name in _SUMS)
    insert = f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?)"  # noqa: S608 (our names)
    return f"{insert} ON CONFLICT ({time}) DO UPDATE SET {sums}"


def _rows(sums: dict[int, list[int]]) -> list[tuple[int, ...]]:
    return [(time, *row) for time, row in sums.items()]


def all_tallies(normal_form: NormalForm) -> list[IndexTally]:
    """Return a new tally of each kind.

    Args:
        normal_form: of the crawl; an index with another normal form is rebuilt.
    """
    return [
        HistoryTally(),
        FaultTally(),
        HostTally(),
        UriPlaceTally(normal_form),
        RecentTally(),
        VocabularyTally(),
        DatasetTally(),
        HostLinkTally(),
        RunTally(),
    ]
