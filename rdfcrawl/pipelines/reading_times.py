"""Reading times of documents, counted in buckets at little cost."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from rdfcrawl.frontier.worker.worker_state import PARSE_SECS_BOUNDS, PARSE_SECS_SUM

if TYPE_CHECKING:
    from collections.abc import Collection

    from scrapy.statscollectors import StatsCollector

_NAMES = tuple(f"document/parse_secs/{each}" for each in (*PARSE_SECS_BOUNDS, "more"))


_place_of = partial(bisect_left, PARSE_SECS_BOUNDS)


def add_reading_times(stats: StatsCollector, times: Collection[float]) -> None:
    """Add the reading times of documents to the statistics of a worker."""
    for place, n in Counter(map(_place_of, times)).items():
        stats.inc_value(_NAMES[place], n)
    if times:
        before = stats.get_value(PARSE_SECS_SUM, 0.0)
        stats.set_value(PARSE_SECS_SUM, before + sum(times))
