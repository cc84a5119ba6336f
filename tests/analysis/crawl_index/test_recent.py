"""Documents that were fetched last."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from rdfcrawl.analysis.crawl_index.database import IndexDatabase
from rdfcrawl.analysis.crawl_index.members import IndexedActivity, LogMember
from rdfcrawl.analysis.crawl_index.tallies import MOST_RECENT, RecentTally

if TYPE_CHECKING:
    from pathlib import Path


def test_last_documents_are_kept(tmp_path: Path) -> None:
    """If there are many documents, then the last ones are kept."""
    tally = RecentTally()
    database = IndexDatabase.open(tmp_path, schemas=[tally.schema], is_read=False)
    with closing(database):
        for first in range(0, 100, 10):
            member = LogMember("provenance", "w-00000.nq.gz", first, 10, b"")
            some = tuple(activity(n) for n in range(first + 1, first + 11))
            member.__dict__["activities"] = some
            tally.take(database.connection, member)
        recent = database.rows("SELECT ended_ms FROM recent_fetches ORDER BY ended_ms")
        assert recent == [(n,) for n in range(101 - MOST_RECENT, 101)]


def activity(number: int) -> IndexedActivity:
    """Return an activity, every second one with a fault."""
    return IndexedActivity(
        uri=f"http://e.example/{number}",
        started_ms=number,
        ended_ms=number,
        status="FAILED",
        http_status=0,
        n_statements=0,
        n_bytes=0,
        reason="" if number % 2 else f"fault_{number % 4 // 2 ^ 1}",
        facts={},
    )
