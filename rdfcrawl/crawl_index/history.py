"""What a crawl has done minute by minute, from its provenance."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import sqlite3

    from rdfcrawl.crawl_index.members import LogMember

BUCKET_MS: Final = 60_000
_ADD: Final = """
INSERT INTO history VALUES (?, ?, ?, ?, ?)
ON CONFLICT (minute) DO UPDATE SET n_documents = n_documents + excluded.n_documents,
    n_statements = n_statements + excluded.n_statements,
    n_bytes = n_bytes + excluded.n_bytes, n_faulty = n_faulty + excluded.n_faulty
"""


class HistoryTally:
    """Documents, statements, bytes and faulty documents of each minute.

    Minutes are counted from 1970; a document belongs to the one in which its fetch has
    ended.
    """

    schema = """
    CREATE TABLE IF NOT EXISTS history (
        minute INTEGER PRIMARY KEY, n_documents INTEGER, n_statements INTEGER,
        n_bytes INTEGER, n_faulty INTEGER
    );
    """

    def take(self, connection: sqlite3.Connection, member: LogMember) -> None:
        """Add the activities of a member."""
        rows: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
        for each in member.activities:
            if not each.ended_ms:
                continue
            row = rows[each.ended_ms // BUCKET_MS]
            row[0] += 1
            row[1] += each.n_statements
            row[2] += each.n_bytes
            row[3] += bool(each.reason)
        connection.executemany(_ADD, [(minute, *row) for minute, row in rows.items()])
