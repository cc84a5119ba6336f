"""Documents that were fetched last, and some for each kind of fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import sqlite3

    from rdfcrawl.analysis.crawl_index.activities import IndexedActivity
    from rdfcrawl.analysis.crawl_index.members import LogMember

MOST_RECENT: Final = 20
MOST_EXAMPLES: Final = 3  # of each fault; the trigger says so, too


class RecentTally:
    """The last documents, and the last ones with each fault; a few kilobytes."""

    schema = """
    CREATE TABLE IF NOT EXISTS recent_fetches (ended_ms INTEGER, uri TEXT,
        status TEXT, http_status INTEGER, n_statements INTEGER, reason TEXT);
    CREATE TABLE IF NOT EXISTS fault_examples (reason TEXT, ended_ms INTEGER, uri TEXT,
        PRIMARY KEY (reason, ended_ms, uri)) WITHOUT ROWID;
    CREATE TRIGGER IF NOT EXISTS few_examples AFTER INSERT ON fault_examples BEGIN
        DELETE FROM fault_examples WHERE reason = NEW.reason AND (ended_ms, uri) IN (
            SELECT ended_ms, uri FROM fault_examples WHERE reason = NEW.reason
            ORDER BY ended_ms DESC, uri LIMIT -1 OFFSET 3);
    END;
    """

    def take(self, connection: sqlite3.Connection, member: LogMember) -> None:
        """Note the last activities of a member."""
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
        examples: dict[str, list[IndexedActivity]] = {}
        for each in latest:
            if each.reason:
                examples.setdefault(each.reason, []).append(each)
        connection.executemany(
            "INSERT OR IGNORE INTO fault_examples VALUES (?, ?, ?)",
            [
                (reason, each.ended_ms, each.uri)
                for reason, some in examples.items()
                for each in some[-MOST_EXAMPLES:]
            ],
        )


def _row(each: IndexedActivity) -> tuple[int, str, str, int, int, str]:
    told = each.status, each.http_status, each.n_statements, each.reason
    return each.ended_ms, each.uri, *told
