"""The documents that were fetched last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import sqlite3

    from rdfcrawl.analysis.crawl_index.activities import IndexedActivity
    from rdfcrawl.analysis.crawl_index.members import LogMember

MOST_RECENT: Final = 20


class RecentTally:
    """The last documents; a few kilobytes."""

    schema = """
    CREATE TABLE IF NOT EXISTS recent_fetches (ended_ms INTEGER, uri TEXT,
        status TEXT, http_status INTEGER, n_statements INTEGER, reason TEXT);
    """

    def take(self, connection: sqlite3.Connection, member: LogMember) -> None:
        """Add the last activities of a member."""
        if not member.activities:
            return
        latest = sorted(member.activities, key=lambda each: each.ended_ms)
        connection.executemany(
            "INSERT INTO recent_fetches VALUES (?, ?, ?, ?, ?, ?)",
            [_row(each) for each in latest[-MOST_RECENT:] if each.ended_ms],
        )
        connection.execute(
            "DELETE FROM recent_fetches WHERE rowid NOT IN (SELECT rowid FROM"
            " recent_fetches ORDER BY ended_ms DESC LIMIT ?)",
            (MOST_RECENT,),
        )


def _row(each: IndexedActivity) -> tuple[int, str, str, int, int, str]:
    row = each.ended_ms, each.uri, each.status, each.http_status, each.n_statements
    return *row, each.reason
