"""Documents that were fetched last."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from rdfcrawl.analysis.crawl_index.database import IndexDatabase
from rdfcrawl.analysis.crawl_index.members import LogMember
from rdfcrawl.analysis.crawl_index.tallies import MOST_RECENT, RecentTally
from rdfcrawl.stores.provenance.blocks import ActivityBlock, encode_block
from rdfcrawl.stores.provenance.records import Activity
from tests.support.described_documents import WORKER

if TYPE_CHECKING:
    from pathlib import Path


def test_last_documents_are_kept(tmp_path: Path) -> None:
    """If there are many documents, then the last ones are kept."""
    tally = RecentTally()
    database = IndexDatabase.open(tmp_path, schemas=[tally.schema], is_read=False)
    with closing(database):
        for first in range(0, 100, 10):
            some = [activity(n) for n in range(first + 1, first + 11)]
            content = encode_block(ActivityBlock(WORKER, some))
            member = LogMember("provenance", "w-00000.jsonl.gz", first, 10, content)
            tally.take(database.connection, member)
        recent = database.rows("SELECT ended_ms FROM recent_fetches ORDER BY ended_ms")
        assert recent == [(n,) for n in range(101 - MOST_RECENT, 101)]


def activity(number: int) -> Activity:
    """Return an activity that failed."""
    return Activity(f"http://e.example/{number}", number, number, status="FAILED")
