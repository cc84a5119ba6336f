"""Documents, statements and bytes by minute, and recently by steps of 5 seconds."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import sqlite3

    from rdfcrawl.analysis.crawl_index.members import LogMember

MINUTE_MS: Final = 60_000
STEP_MS: Final = 5_000
MOST_STEPS: Final = 720
"""Steps of `history_lately`: the hour before the latest document."""
_SUMS: Final = "n_documents", "n_statements", "n_bytes", "n_faulty"


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
                row[2] += each.n_bytes
                row[3] += bool(each.reason)
        if not steps:
            return
        minutes: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
        for step, row in steps.items():
            minute = minutes[step * STEP_MS // MINUTE_MS]
            minute[:] = map(sum, zip(minute, row, strict=True))
        connection.executemany(_add("history", "minute"), _rows(minutes))
        # Members come in the order of workers, not of time. The latest step only
        # increases, so removed steps are never needed.
        connection.executemany(_add("history_lately", "step"), _rows(steps))
        connection.execute(
            "DELETE FROM history_lately"
            " WHERE step <= (SELECT MAX(step) FROM history_lately) - ?",
            (MOST_STEPS,),
        )


def _add(table: str, time: str) -> str:
    sums = ", ".join(f"{name} = {name} + excluded.{name}" for name in _SUMS)
    insert = f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?)"  # noqa: S608 (our names)
    return f"{insert} ON CONFLICT ({time}) DO UPDATE SET {sums}"


def _rows(sums: dict[int, list[int]]) -> list[tuple[int, ...]]:
    return [(time, *row) for time, row in sums.items()]
