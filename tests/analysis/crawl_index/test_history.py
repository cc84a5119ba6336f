"""How a crawl went: minutes for all of it, short steps for its last hour."""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import TYPE_CHECKING, Any, cast

import pytest

from rdfcrawl.analysis.crawl_index.building import IndexBuilder
from rdfcrawl.analysis.crawl_index.database import IndexDatabase
from rdfcrawl.analysis.crawl_index.tallies import MOST_STEPS, HistoryTally
from rdfcrawl.core.records import Record
from rdfcrawl.core.times import now_ms
from rdfcrawl.monitor.page.samples import (
    MOST_POINTS,
    HistorySeries,
    read_history,
    read_lately,
)
from tests.support.described_documents import document
from tests.support.written_provenance import write_provenance

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rdfcrawl.monitor.page.crawl_access import CrawlAccess


class ReadIndex:
    """An index as the page reads it."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def indexed(self, query: str, values: Any = ()) -> list[Any]:
        """Return the rows of a query."""
        with closing(IndexDatabase.open(self._root, is_read=True)) as database:
            return database.rows(query, values)


def written(root: Path, ended_secs: Iterable[float], worker: str = "w") -> None:
    """Write the provenance of documents, by when their fetches have ended."""
    record = Record(url="http://a.example/")
    write_provenance(
        root,
        (
            document(record=record, started_ms=1, ended_ms=int(secs * 1000), n_quads=2)
            for secs in ended_secs
        ),
        worker,
    )


def history(root: Path) -> tuple[HistorySeries, CrawlAccess]:
    """Return the history by a new index, and the access to that."""
    with closing(IndexBuilder(root, [HistoryTally()])) as builder:
        builder.catch_up()
    access = cast("CrawlAccess", ReadIndex(root))
    return asyncio.run(read_history(access)), access


@pytest.mark.parametrize(
    ("n_secs", "width"), [(30, 5), (2400, 5), (3300, 10), (4000, 60), (40_000, 120)]
)
def test_short_crawls_have_fine_lines(tmp_path: Path, n_secs: int, width: int) -> None:
    """If a crawl is short, then its points are seconds, and all are counted."""
    written(tmp_path, range(1_000_000_080, 1_000_000_080 + n_secs, 5))
    found, _ = history(tmp_path)
    assert found.secs == width
    assert len(found.at_secs) <= MOST_POINTS + 1
    assert found.at_secs[0] == 1_000_000_080
    assert sum(found.n_documents) == n_secs // 5
    assert sum(found.n_statements) == 2 * n_secs // 5
    assert max(found.n_documents) == width // 5


def test_steps_are_bounded_and_whole(tmp_path: Path) -> None:
    """If workers are read one after another, then the last hour has all of theirs."""
    times = range(1_000_000_000, 1_000_006_000, 5)
    written(tmp_path, times, "a")
    written(tmp_path, times, "b")
    found, access = history(tmp_path)
    assert sum(found.n_documents) == 2400
    rows = asyncio.run(access.indexed("SELECT * FROM history_lately"))
    assert len(rows) == MOST_STEPS
    assert {row[1] for row in rows} == {2}


def test_last_minutes_are_told_when_they_have_settled(tmp_path: Path) -> None:
    """If documents were fetched lately, then the last minutes have them soon after."""
    now = now_ms() / 1000
    written(tmp_path, (now - ago for ago in (2000, 700, 300, 60, 1)))
    _, access = history(tmp_path)
    found = asyncio.run(read_lately(access, now - 900))
    assert found.secs == 5
    assert sum(found.n_documents) == 3
    assert found.at_secs[-1] <= now - 60
