"""Trust in the lastmod values of a site, learned from refetches.

Pages with a claimed change are fetched soon, others only as samples, so unclaimed
changes are found late or never. Therefore claimed and unclaimed intervals are counted
separately, and unclaimed changes are extrapolated from the sampled time to the time of
all pages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.measures.refetches import N_LATEST

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rdfcrawl.analysis.measures.refetches import FetchInterval

LEAST_RECALL: Final = 0.9
LEAST_PRECISION: Final = 0.5  # below it, most claimed fetches are useless


@dataclass(frozen=True, slots=True)
class LastmodTrust:
    """Precision and recall of a site's lastmods, each the mean of a Beta distribution.

    The prior is Beta(1, 1), with mean 0.5.
    """

    precision: float
    recall: float

    @property
    def is_precise(self) -> bool:
        """Whether pages with a claimed change are worth fetching before others."""
        return self.precision >= LEAST_PRECISION

    @property
    def is_trusted(self) -> bool:
        """Whether to fetch only pages with a claimed change, and samples."""
        return self.is_precise and self.recall >= LEAST_RECALL


class _LatestIntervals:
    """The intervals of a site that ended last, and their sums."""

    def __init__(
        self, n_latest: int, latest: Iterable[tuple[int, int, bool]] = ()
    ) -> None:
        self._n_latest = n_latest
        self._latest = sorted(latest)  # a heap of end, length, is changed

    def add(self, interval: FetchInterval) -> None:
        length = interval.end_ms - interval.begin_ms
        each = (interval.end_ms, length, interval.is_changed)
        if len(self._latest) < self._n_latest:
            heappush(self._latest, each)
        else:
            heappushpop(self._latest, each)

    @property
    def number(self) -> int:
        return len(self._latest)

    @property
    def n_changed(self) -> int:
        return sum(is_changed for _, _, is_changed in self._latest)

    @property
    def length_ms(self) -> int:
        return sum(length for _, length, _ in self._latest)

    def since(self, time_ms: int) -> _LatestIntervals:
        """Return the intervals that ended at a time or later."""
        latest = (each for each in self._latest if each[0] >= time_ms)
        return _LatestIntervals(self._n_latest, latest)

    @property
    def first_end_ms(self) -> int:
        return self._latest[0][0]


@dataclass(slots=True)
class TrustCount:
    """Latest intervals of one site, claimed and unclaimed, up to 200 each."""

    n_latest: int = N_LATEST
    _claimed: _LatestIntervals = field(init=False)
    _unclaimed: _LatestIntervals = field(init=False)

    def __post_init__(self) -> None:
        """Start without intervals."""
        self._claimed = _LatestIntervals(self.n_latest)
        self._unclaimed = _LatestIntervals(self.n_latest)

    def add(self, interval: FetchInterval) -> None:
        """Count one interval of any page of the site."""
        (self._claimed if interval.is_claimed else self._unclaimed).add(interval)

    def judge(self, *, n_pages: int, now_ms: int) -> LastmodTrust:
        """Return precision and recall of the site at a time.

        precision = (claimed and changed + 1) / (claimed + 2)
        recall = (claimed and changed + 1) / (claimed and changed + missed + 2)

        `missed` is the number of unclaimed changes since the end of the first claimed
        interval: those seen, times the page-time of all pages by the page-time seen;
        at least those seen.
        """
        found, unclaimed = self._claimed.n_changed, self._unclaimed
        weight = 1.0
        if self._claimed.number:
            begin_ms = self._claimed.first_end_ms
            unclaimed = unclaimed.since(begin_ms)
            page_time = n_pages * (now_ms - begin_ms)
            weight = max(page_time / max(unclaimed.length_ms, 1), 1.0)
        missed = weight * unclaimed.n_changed
        return LastmodTrust(
            precision=(found + 1) / (self._claimed.number + 2),
            recall=(found + 1) / (found + missed + 2),
        )
