"""Runs of a crawl in its index."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from rdfcrawl.analysis.crawl_index.database import IndexDatabase
from rdfcrawl.analysis.crawl_index.members import IndexedActivity, LogMember
from rdfcrawl.analysis.crawl_index.runs import MOST_RUNS, RunTally
from rdfcrawl.core.namespaces import RC

if TYPE_CHECKING:
    from pathlib import Path


def activity(run: int, at_ms: int, n_statements: int = 0) -> IndexedActivity:
    """Return a crawl of a document that takes 5 ms."""
    return IndexedActivity(
        uri="http://e.example/",
        started_ms=at_ms,
        ended_ms=at_ms + 5,
        status="SUCCESSFUL" if n_statements else "FAILED",
        http_status=200,
        n_statements=n_statements,
        n_bytes=10,
        reason="" if n_statements else "empty",
        facts={f"{RC}run": f'"{run}"^^<http://www.w3.org/2001/XMLSchema#integer>'},
    )


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
            member = LogMember("provenance", "w-00000.nq.gz", 0, 10, b"")
            member.__dict__["activities"] = some
            tally.take(database.connection, member)
        rows = database.rows("SELECT * FROM crawl_run ORDER BY run")
        assert rows == [
            (0, 1, 6, 1, 0, 0, 10, 1),
            (1, 100, 305, 3, 2, 5, 30, 1),
            (2, 900, 905, 1, 1, 4, 10, 0),
        ]
        member.__dict__["activities"] = (activity(MOST_RUNS + 1, 1000, 1),)
        tally.take(database.connection, member)
        kept = [run for (run,) in database.rows("SELECT run FROM crawl_run ORDER BY 1")]
        assert kept == [2, MOST_RUNS + 1]
