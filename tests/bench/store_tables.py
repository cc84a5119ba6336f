"""Cost of stores that follow a crawl, as the tables of `performance.md`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.bench.loaded_stores import Spent

_COSTS = (
    *("store", "bulk loader", "documents/s", "triples/s", "CPU"),
    *("follower: documents/s", "triples/s", "CPU, of it the server"),
    *("triples for a second of CPU", "times the loader's CPU"),
    *("memory of the follower", "of the server"),
)
_LAGS = "store", "the crawl took", "most behind", "behind when it ended", "caught up"


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlLag:
    """How far a store was behind a crawl.

    Attributes:
        n_documents: that were crawled.
        crawl_secs: from the begin of the crawl to its end.
        most: documents and seconds that it was behind at most.
        at_end: the same when the crawl had ended.
        later_secs: from then until it had caught up.
    """

    n_documents: int
    crawl_secs: float
    most: tuple[int, float]
    at_end: tuple[int, float]
    later_secs: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRow:
    """Cost of one store.

    Attributes:
        name: of the store.
        loader: command of its bulk loader.
        n_documents: in the log.
        n_quads: in the log.
        bulk: cost of the bulk loader.
        followed: cost of the follower.
        lag: behind a crawl; None if there was none.
    """

    name: str
    loader: str
    n_documents: int
    n_quads: int
    bulk: Spent
    followed: Spent
    lag: CrawlLag | None = None

    @property
    def ratio(self) -> float:
        """CPU of the follower and its server, as a multiple of the bulk loader's."""
        return self.followed.all_cpu_secs / max(0.01, self.bulk.all_cpu_secs)

    def costs(self) -> list[str]:
        """Return the cells of the table of costs."""
        bulk, followed = self.bulk, self.followed
        both = f"{followed.all_cpu_secs:.1f} s, {followed.server_secs:.1f} s"
        return [
            *(self.name, self.loader, *self._rates(bulk)),
            *(f"{bulk.all_cpu_secs:.1f} s", *self._rates(followed), both),
            f"{self.n_quads / max(0.01, followed.all_cpu_secs):,.0f}",
            f"{self.ratio:.1f}",
            f"{followed.rss_mb:,.0f} MB",
            f"{followed.server_mb:,.0f} MB" if followed.server_mb else "",
        ]

    def _rates(self, spent: Spent) -> tuple[str, str]:
        secs = max(0.01, spent.wall_secs)
        return f"{self.n_documents / secs:,.0f}", f"{self.n_quads / secs:,.0f}"

    def lags(self) -> list[str]:
        """Return the cells of the table of lags; none if there was no crawl."""
        lag = self.lag
        if lag is None:
            return []
        return [
            self.name,
            f"{lag.crawl_secs:.1f} s for {lag.n_documents:,} documents",
            *(f"{n:,} documents, {secs:.1f} s" for n, secs in (lag.most, lag.at_end)),
            f"{lag.later_secs:.1f} s later",
        ]


def markdown(rows: Iterable[StoreRow]) -> str:
    """Return both tables, in Markdown."""
    some = list(rows)
    lags = [cells for row in some if (cells := row.lags())]
    tables = [_table(_COSTS, [row.costs() for row in some])]
    if lags:
        tables.append(_table(_LAGS, lags))
    return "\n".join(tables)


def _table(head: Iterable[str], rows: Iterable[list[str]]) -> str:
    names = list(head)
    lines = [names, ["---"] * len(names), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
