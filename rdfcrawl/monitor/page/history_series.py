"""History of the crawl: a few hundred points, from the index of its logs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.crawl_index.history import MINUTE_MS, MOST_STEPS, STEP_MS
from rdfcrawl.core.clock import now_ms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rdfcrawl.monitor.page.crawl_access import CrawlAccess

MOST_POINTS: Final = 500
_MOST_ROWS: Final = 60  # of a table
_ENDS: Final = "SELECT MIN(minute), MAX(minute) FROM history"
_MINUTES: Final = """
SELECT minute / :width, SUM(n_documents), SUM(n_statements), SUM(n_bytes), SUM(n_faulty)
FROM history WHERE minute BETWEEN :first AND :last GROUP BY 1 ORDER BY 1
"""
_LATE_ENDS: Final = "SELECT MIN(step), MAX(step) FROM history_lately"
_STEPS: Final = """
SELECT step / :width, SUM(n_documents), SUM(n_statements), SUM(n_bytes), SUM(n_faulty)
FROM history_lately WHERE step BETWEEN :first AND :last GROUP BY 1 ORDER BY 1
"""
_LATE_MINUTES: Final = MOST_STEPS * STEP_MS // MINUTE_MS - 1
# The last documents reach the logs some seconds after they were fetched.
_SETTLED_MS: Final = 20_000

HistoryRow = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistorySeries:
    """A crawl, or a part of one, as columns of equal length, the earliest first.

    Attributes:
        secs: length of the interval of each point.
        at_secs: start of each interval, Unix time.
        n_documents: fetched documents.
        n_statements: stored statements.
        n_bytes: of decoded bodies.
        n_faulty: documents with faults.
    """

    secs: int = MINUTE_MS // 1000
    at_secs: Sequence[int] = ()
    n_documents: Sequence[int] = ()
    n_statements: Sequence[int] = ()
    n_bytes: Sequence[int] = ()
    n_faulty: Sequence[int] = ()

    def rows(self) -> list[tuple[int, ...]]:
        """Return sums of groups of points as rows, the latest first."""
        columns = (self.n_documents, self.n_statements, self.n_bytes, self.n_faulty)
        size = len(self.at_secs) // _MOST_ROWS + 1
        return [
            (self.at_secs[i], *(sum(each[i : i + size]) for each in columns))
            for i in range(0, len(self.at_secs), size)
        ][::-1]


async def read_history(access: CrawlAccess) -> HistorySeries:
    """Return the history of the crawl; without points before anything is indexed.

    A crawl of less than an hour has intervals of 5 or 10 seconds.
    """
    ends = await access.indexed(_ENDS)
    late = await access.indexed(_LATE_ENDS)
    if not ends or not late or ends[0][0] is None or late[0][0] is None:
        return HistorySeries()
    (first, last), unit_ms, query = ends[0], MINUTE_MS, _MINUTES
    if last - first < _LATE_MINUTES:  # no interval was removed
        (first, last), unit_ms, query = late[0], STEP_MS, _STEPS
    width = (last - first) // MOST_POINTS + 1
    # The current interval is incomplete: it would look like a decline.
    settled = now_ms() - (_SETTLED_MS if unit_ms == STEP_MS else 0)
    begun = settled // unit_ms // width * width
    values = {"width": width, "first": first, "last": max(first, min(last, begun - 1))}
    return series_of(await access.indexed(query, values), width * unit_ms // 1000)


async def read_lately(access: CrawlAccess, since_secs: float) -> HistorySeries:
    """Return the last minutes by the logs, in intervals of five seconds.

    Args:
        access: to the crawl.
        since_secs: Unix time.
    """
    values = {
        "width": 1,
        "first": -(-since_secs * 1000 // STEP_MS),
        "last": (now_ms() - _SETTLED_MS) // STEP_MS - 1,
    }
    return series_of(await access.indexed(_STEPS, values), STEP_MS // 1000)


def series_of(rows: Iterable[HistoryRow], secs: int) -> HistorySeries:
    """Return rows as columns, with zeros for intervals without fetches.

    Args:
        rows: in order; each begins with its time, in units of intervals.
        secs: length of an interval.
    """
    filled: list[HistoryRow] = []
    for row in rows:
        if filled:
            times = range(filled[-1][0] + 1, row[0])
            filled += [(each, 0, 0, 0, 0) for each in times]
        filled.append(row)
    if not filled:
        return HistorySeries(secs=secs)
    at, documents, statements, n_bytes, faulty = zip(*filled, strict=True)
    return HistorySeries(
        secs=secs,
        at_secs=[each * secs for each in at],
        n_documents=documents,
        n_statements=statements,
        n_bytes=n_bytes,
        n_faulty=faulty,
    )
