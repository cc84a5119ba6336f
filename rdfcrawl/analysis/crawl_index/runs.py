"""The runs of a crawl: begin, end and sums of each."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from typing import Final

from rdfcrawl.analysis.crawl_index.members import LogMember
from rdfcrawl.stores.provenance.records import Activity

MOST_RUNS: Final = 10_000
_ADD: Final = """
INSERT INTO crawl_run VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (run) DO UPDATE SET first_ms = min(first_ms, excluded.first_ms),
    last_ms = max(last_ms, excluded.last_ms),
    n_documents = n_documents + excluded.n_documents,
    n_filled = n_filled + excluded.n_filled,
    n_statements = n_statements + excluded.n_statements,
    n_bytes = n_bytes + excluded.n_bytes, n_faulty = n_faulty + excluded.n_faulty
"""
_FORGET: Final = """
DELETE FROM crawl_run WHERE run <= (SELECT MAX(run) FROM crawl_run) - ?
"""


class RunTally:
    """Sums of each of the last 10,000 runs; a run takes 50 bytes."""

    schema = """
    CREATE TABLE IF NOT EXISTS crawl_run (
        run INTEGER PRIMARY KEY, first_ms INTEGER, last_ms INTEGER,
        n_documents INTEGER, n_filled INTEGER, n_statements INTEGER, n_bytes INTEGER,
        n_faulty INTEGER
    );
    """

    def take(self, connection: sqlite3.Connection, member: LogMember) -> None:
        """Add the activities of a member."""
        of_run: defaultdict[int, list[Activity]] = defaultdict(list)
        for each in member.activities:
            if each.ended_ms:
                of_run[max(each.run, 0)].append(each)
        if not of_run:
            return
        connection.executemany(_ADD, [_sums(run, some) for run, some in of_run.items()])
        connection.execute(_FORGET, (MOST_RUNS,))


def _sums(run: int, activities: list[Activity]) -> tuple[int, ...]:
    return (
        run,
        min(each.started_ms or each.ended_ms for each in activities),
        max(each.ended_ms for each in activities),
        len(activities),
        sum(1 for each in activities if each.n_statements),
        sum(each.n_statements for each in activities),
        sum(max(each.n_bytes, 0) for each in activities),
        sum(1 for each in activities if each.reason),
    )
