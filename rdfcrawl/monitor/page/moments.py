"""Values of a moment, from one reading of the frontier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rdfcrawl.frontier.queue.worker_reports import DOCUMENTS, LAG, SECS, STUCK, sums_of
from rdfcrawl.frontier.worker.worker_state import FAULT
from rdfcrawl.monitor.metrics.reading import highest_of
from rdfcrawl.monitor.operating.crawl import OperatedCrawl
from rdfcrawl.monitor.operating.status import CrawlStatus, read_status, worker_state
from rdfcrawl.stores.followers.status import FollowerStatus

MOST_WORKERS: Final = 64  # to show
_MOST_FOLLOWERS: Final = 32
_MOST_TEXT: Final = 300  # characters of messages of stores


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierReading:
    """A reading of a frontier.

    Attributes:
        status: of the crawl.
        figures: statistics of all workers, past ones included, added up.
        current: present values of live workers, the highest of each.
    """

    status: CrawlStatus
    figures: Mapping[str, float]
    current: Mapping[str, float]


async def read_frontier(crawl: OperatedCrawl) -> FrontierReading:
    """Read the frontier for the page.

    Raises:
        RedisError: Redis is unreachable.
    """
    status = await read_status(crawl)
    rows = (await crawl.frontier.figures()).values()
    return FrontierReading(
        status=status, figures=sums_of(rows), current=highest_of(rows)
    )


def worker_rows(
    status: CrawlStatus, rates: Mapping[str, float]
) -> list[dict[str, Any]]:
    """Return the workers, live ones first; `MOST_WORKERS` at most.

    Args:
        status: of the crawl.
        rates: documents a second of each, by name, on the average of ten seconds.
    """
    found = sorted(status.workers, key=lambda each: (not each.is_live, each.name))
    return [
        {
            "name": each.name,
            "state": worker_state(each),
            "silent_secs": each.silent_secs,
            "delay_secs": each.delay_secs,
            "n_documents": each.n_documents,
            "n_faults": each.n_faults,
            "documents_per_sec": rates.get(each.name),
            "n_hosts": each.n_hosts if each.is_live else None,
        }
        for each in found[:MOST_WORKERS]
    ]


def follower_rows(
    statuses: Sequence[FollowerStatus], current: Mapping[str, float]
) -> list[dict[str, Any]]:
    """Return the stores that follow a crawl.

    Of stores on other machines only the kind and the lag are known.

    Args:
        statuses: of those on this machine.
        current: figures that workers report of their stores, used if there is no
            status.
    """
    if statuses:
        return [
            {
                "name": each.name[:_MOST_TEXT],
                "state": each.state,
                "detail": each.detail[:_MOST_TEXT],
                "n_behind": each.n_behind,
                "secs_behind": each.secs_behind,
                "n_set_aside": each.n_set_aside,
                "is_stuck": each.is_stuck,
            }
            for each in statuses[:_MOST_FOLLOWERS]
        ]
    kinds: dict[str, dict[str, float]] = {}
    for name, value in current.items():
        kind, _, what = name.removeprefix(LAG).rpartition("/")
        if name.startswith(LAG):
            kinds.setdefault(kind, {})[what] = value
    return [
        {
            "name": kind[:_MOST_TEXT],
            "state": "",
            "detail": "",
            "n_behind": int(figures.get(DOCUMENTS, 0)),
            "secs_behind": figures.get(SECS, 0.0),
            "n_set_aside": int(figures.get("set_aside", 0)),
            "is_stuck": bool(figures.get(STUCK)),
        }
        for kind, figures in sorted(kinds.items())[:_MOST_FOLLOWERS]
    ]


def fault_counts(figures: Mapping[str, float]) -> list[dict[str, Any]]:
    """Return the number of faults for each reason, the most frequent first."""
    found = [
        (-int(value), name.removeprefix(FAULT))
        for name, value in figures.items()
        if name.startswith(FAULT)
    ]
    return [{"reason": reason, "n": -n} for n, reason in sorted(found)]
