"""Runs of a crawl in its index."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from rdfcrawl.analysis.crawl_index.database import IndexDatabase
from rdfcrawl.analysis.crawl_index.members import LogMember
from rdfcrawl.analysis.crawl_index.runs import MOST_RUNS, RunTally
from rdfcrawl.stores.provenance.blocks import ActivityBlock, encode_block
from rdfcrawl.stores.provenance.records import Activity, LoggedFault
from tests.support.described_documents import WORKER

if TYPE_CHECKING:
    from pathlib import Path


def activity(run: int, at_ms: int, n_statements: int = 0) -> Activity:
    """Return a crawl of a document that takes 5 ms."""
    return Activity(
        "http://e.example/",
        at_ms,
        at_ms + 5,
        run,
        "SUCCESSFUL" if n_statements else "FAILED",
        n_statements,
        http_status=200,
        n_bytes=10,
        faults=() if n_statements else (LoggedFault("empty", 1, ""),),
        n_faults=0 if n_statements else 1,
    )


def member_of(*activities: Activity) -> LogMember:
    """Return a member of the provenance."""
    content = encode_block(ActivityBlock(WORKER, activities))
    return LogMember("provenance", "w-00000.jsonl.gz", 0, 10, content)


def test_each_run_has_its_sums(tmp_path: Path) -> None:
    """If a crawl runs several times, then each run has times and sums; old ones go."""
    tally = RunTally()
    database = IndexDatabase.open(tmp_path, schemas=[tally.schema], is_read=False)
    with closing(database):
        for some in (
            (activity(0, 1),),
            (activity(1, 200, 3), activity(1, 100), activity(2, 900, 4)),
            (activity(1, 300, 2),),
        ):
            tally.take(database.connection, member_of(*some))
        rows = database.rows("SELECT * FROM crawl_run ORDER BY run")
        assert rows == [
            (0, 1, 6, 1, 0, 0, 10, 1),
            (1, 100, 305, 3, 2, 5, 30, 1),
            (2, 900, 905, 1, 1, 4, 10, 0),
        ]
        last = activity(MOST_RUNS + 1, 1000, 1)
        tally.take(database.connection, member_of(last))
        kept = [run for (run,) in database.rows("SELECT run FROM crawl_run ORDER BY 1")]
        assert kept == [2, MOST_RUNS + 1]
