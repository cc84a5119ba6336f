"""How the whole crawl went: a few hundred points, from the index of its logs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rdfcrawl.page.crawl_access import CrawlAccess

MOST_POINTS: Final = 500
_MOST_ROWS: Final = 60  # of a table
_READ: Final = """
SELECT minute / :width, SUM(n_documents), SUM(n_statements), SUM(n_bytes), SUM(n_faulty)
FROM history WHERE minute BETWEEN :first AND :last GROUP BY 1 ORDER BY 1
"""

HistoryRow = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistorySeries:
    """The whole crawl as columns of equal length, the earliest first.

    Attributes:
        minutes: that each point is the sum of.
        at_secs: Unix time at which each of them begins.
        n_documents: that were fetched.
        n_statements: that were stored.
        n_bytes: of decoded bodies.
        n_faulty: documents with faults.
    """

    minutes: int = 1
    at_secs: Sequence[int] = ()
    n_documents: Sequence[int] = ()
    n_statements: Sequence[int] = ()
    n_bytes: Sequence[int] = ()
    n_faulty: Sequence[int] = ()

    def rows(self) -> list[tuple[int, ...]]:
        """Return sums of some points each as rows, the latest first."""
        columns = (self.n_documents, self.n_statements, self.n_bytes, self.n_faulty)
        size = len(self.at_secs) // _MOST_ROWS + 1
        return [
            (self.at_secs[i], *(sum(each[i : i + size]) for each in columns))
            for i in range(0, len(self.at_secs), size)
        ][::-1]


async def read_history(access: CrawlAccess) -> HistorySeries:
    """Return how the crawl went; without points as long as nothing is indexed."""
    ends = await access.indexed("SELECT MIN(minute), MAX(minute) FROM history")
    if not ends or ends[0][0] is None:
        return HistorySeries()
    first, last = ends[0]
    width = (last - first) // MOST_POINTS + 1
    values = {"width": width, "first": first, "last": last}
    return series_of(await access.indexed(_READ, values), width)


def series_of(rows: Iterable[HistoryRow], width: int) -> HistorySeries:
    """Return rows as columns, with zeros for the times when nothing was fetched.

    Args:
        rows: in order; each begins with its time, in units of so many minutes.
        width: minutes.
    """
    filled: list[HistoryRow] = []
    for row in rows:
        if filled:
            times = range(filled[-1][0] + 1, row[0])
            filled += [(each, 0, 0, 0, 0) for each in times]
        filled.append(row)
    if not filled:
        return HistorySeries(minutes=width)
    at, documents, statements, n_bytes, faulty = zip(*filled, strict=True)
    return HistorySeries(
        minutes=width,
        at_secs=[each * width * 60 for each in at],
        n_documents=documents,
        n_statements=statements,
        n_bytes=n_bytes,
        n_faulty=faulty,
    )
