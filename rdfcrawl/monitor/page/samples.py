"""Samples of a crawl: figures of the last minutes with their rates, and its history."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from rdfcrawl.analysis.crawl_index.tallies import MINUTE_MS, MOST_STEPS, STEP_MS
from rdfcrawl.core.times import now_ms
from rdfcrawl.monitor.page.crawl_access import CrawlAccess
from rdfcrawl.monitor.page.moments import FrontierReading

WINDOW_SECS: Final = 900.0
_EVERY_SECS: Final = 2.0
_ROW_SECS: Final = 59.0  # between two rows of a table, at least
_RATE_SECS: Final = 10.0  # workers report their figures every second or so
MOST_POINTS: Final = 500
_MOST_ROWS: Final = 60  # of a table
_ENDS: Final = "SELECT MIN(minute), MAX(minute) FROM history"
_LATE_ENDS: Final = "SELECT MIN(step), MAX(step) FROM history_lately"
_LATE_MINUTES: Final = MOST_STEPS * STEP_MS // MINUTE_MS - 1
# The last documents reach the logs some seconds after they were fetched.
_SETTLED_MS: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureSample:
    """The figures of one moment.

    Attributes:
        at_secs: Unix time.
        n_documents: processed, with any result.
        n_statements: stored.
        n_bytes: of decoded bodies.
        n_left: URIs that are queued, wait or are in flight.
        n_hosts_at_work: leases.
    """

    at_secs: float
    n_documents: int
    n_statements: int
    n_bytes: int
    n_left: int
    n_hosts_at_work: int

    @classmethod
    def of(cls, reading: FrontierReading, at_secs: float) -> Self:
        """Return the sample of a reading."""
        counts, figures = reading.status.counts, reading.figures
        return cls(
            at_secs=at_secs,
            n_documents=int(figures.get("document/seen", 0)),
            n_statements=int(figures.get("document/quads", 0)),
            n_bytes=int(figures.get("http/bytes", 0)),
            n_left=max(0, counts.queued) + max(0, counts.leased) + counts.waiting,
            n_hosts_at_work=reading.status.total("n_leases"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRates:
    """Rates per second, averaged over the last ten.

    Attributes:
        documents: processed.
        statements: stored.
        n_bytes: of decoded bodies.
    """

    documents: float = 0.0
    statements: float = 0.0
    n_bytes: float = 0.0


NO_RATES: Final = SampleRates()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentSeries:
    """The last minutes as columns of equal length, the earliest first.

    Attributes:
        at_secs: Unix times.
        documents_per_sec: processed; None, here and below: not known.
        statements_per_sec: stored.
        bytes_per_sec: of decoded bodies.
        n_left: URIs that were queued, waited or were in flight.
        n_hosts_at_work: leases.
    """

    at_secs: Sequence[float]
    documents_per_sec: Sequence[float | None]
    statements_per_sec: Sequence[float | None]
    bytes_per_sec: Sequence[float | None]
    n_left: Sequence[int | None]
    n_hosts_at_work: Sequence[int | None]

    def rows(self) -> list[tuple[float | None, ...]]:
        """Return one sample of each minute or so as a row, the latest first."""
        columns = (
            *(self.at_secs, self.documents_per_sec, self.statements_per_sec),
            *(self.bytes_per_sec, self.n_left, self.n_hosts_at_work),
        )
        rows: list[tuple[float | None, ...]] = []
        last_secs = float("inf")
        for at_secs, row in zip(
            reversed(self.at_secs),
            reversed(list(zip(*columns, strict=True))),
            strict=True,
        ):
            if last_secs - at_secs >= _ROW_SECS:
                rows.append(row)
                last_secs = at_secs
        return rows

    def after(self, logged: HistorySeries) -> RecentSeries:
        """Return the series, preceded by the logs of the time before its samples."""
        first_secs = self.at_secs[0] if self.at_secs else float("inf")
        ends = [at_secs + logged.secs for at_secs in logged.at_secs]
        n = sum(end_secs <= first_secs for end_secs in ends)
        if not n:
            return self

        def rates(sums: Sequence[int], sampled: Sequence[float | None]) -> list[Any]:
            # The first sample has no rates, for lack of an earlier one.
            own = [None, *sampled[1:]] if sampled else []
            return [*(round(each / logged.secs, 2) for each in sums[:n]), *own]

        return replace(
            self,
            at_secs=[*ends[:n], *self.at_secs],
            documents_per_sec=rates(logged.n_documents, self.documents_per_sec),
            statements_per_sec=rates(logged.n_statements, self.statements_per_sec),
            bytes_per_sec=rates(logged.n_bytes, self.bytes_per_sec),
            n_left=[*[None] * n, *self.n_left],
            n_hosts_at_work=[*[None] * n, *self.n_hosts_at_work],
        )


class RecentSamples:
    """Samples of a quarter of an hour at most: 450.

    Attributes:
        last: the latest one, which is kept only if two seconds have passed.
    """

    def __init__(self) -> None:
        self._kept: deque[FigureSample] = deque()
        self._rates: deque[SampleRates] = deque()
        self._counters = CounterRates()
        self.last: FigureSample | None = None

    def clear(self) -> None:
        """Remove all samples."""
        self._kept.clear()
        self._rates.clear()
        self._counters = CounterRates()
        self.last = None

    def add(self, sample: FigureSample) -> SampleRates:
        """Add a later sample; return the present rates."""
        if self.last is not None and sample.at_secs <= self.last.at_secs:
            self.clear()  # the clock was set back
        self.last = sample
        counts = {
            "documents": sample.n_documents,
            "statements": sample.n_statements,
            "n_bytes": sample.n_bytes,
        }
        rates = SampleRates(**self._counters.add(sample.at_secs, counts))
        if not self._kept or sample.at_secs - self._kept[-1].at_secs >= _EVERY_SECS:
            self._kept.append(sample)
            self._rates.append(rates)
        while sample.at_secs - self._kept[0].at_secs > WINDOW_SECS:
            self._kept.popleft()
            self._rates.popleft()
        return rates

    def kept(self) -> list[FigureSample]:
        """Return the samples, the earliest first; the last one is the latest."""
        found = list(self._kept)
        if self.last is not None and self.last is not found[-1]:
            found.append(self.last)
        return found

    def series(self) -> RecentSeries:
        """Return the samples as columns."""
        kept, rates = self._kept, self._rates
        return RecentSeries(
            at_secs=[round(each.at_secs, 1) for each in kept],
            documents_per_sec=[round(each.documents, 2) for each in rates],
            statements_per_sec=[round(each.statements, 2) for each in rates],
            bytes_per_sec=[round(each.n_bytes) for each in rates],
            n_left=[each.n_left for each in kept],
            n_hosts_at_work=[each.n_hosts_at_work for each in kept],
        )


class CounterRates:
    """Rates per second of named counters, on the average of the last ten seconds."""

    def __init__(self) -> None:
        self._kept: deque[tuple[float, Mapping[str, int]]] = deque()

    def add(self, at_secs: float, counts: Mapping[str, int]) -> dict[str, float]:
        """Add the present values of counters; return their rates.

        A new counter has none.
        """
        kept = self._kept
        if kept and at_secs <= kept[-1][0]:
            kept.clear()  # the clock was set back
        while kept and at_secs - kept[0][0] > _RATE_SECS + _EVERY_SECS:
            kept.popleft()
        found: dict[str, float] = {}
        for earlier_secs, earlier in kept:
            for name in counts.keys() & earlier.keys() - found.keys():
                secs = at_secs - earlier_secs
                # The sum may have decreased when workers died.
                found[name] = max(0, counts[name] - earlier[name]) / secs
        if not kept or at_secs - kept[-1][0] >= _EVERY_SECS:
            kept.append((at_secs, counts))
        return found


_MINUTES: Final = """
SELECT minute / :width, SUM(n_documents), SUM(n_statements), SUM(n_bytes), SUM(n_faulty)
FROM history WHERE minute BETWEEN :first AND :last GROUP BY 1 ORDER BY 1
"""
_STEPS: Final = """
SELECT step / :width, SUM(n_documents), SUM(n_statements), SUM(n_bytes), SUM(n_faulty)
FROM history_lately WHERE step BETWEEN :first AND :last GROUP BY 1 ORDER BY 1
"""

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
