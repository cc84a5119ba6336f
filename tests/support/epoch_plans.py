"""The URLs of an epoch by Algorithm 6.1 in memory, to compare those of the queue with.

A URL in both queues goes to the one that ranks it higher, in a tie to sitemaps. If a
queue is too short, then the other one fills up.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING

from rdfcrawl.analysis.refresh.domain_schedule import judge_epoch, move_balance

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rdfcrawl.analysis.refresh.domain_schedule import DomainSchedule


@dataclass(frozen=True, slots=True)
class EpochPlan:
    """The URLs of one epoch, best first; each is in one part.

    Attributes:
        sitemaps: topK_S: granted to sitemaps.
        discovery: topK_D: granted to links.
        further: taken from either if the other had too few; not judged.
    """

    sitemaps: tuple[str, ...] = ()
    discovery: tuple[str, ...] = ()
    further: tuple[str, ...] = ()

    @property
    def n_urls(self) -> int:
        """Number of URLs to fetch; at most the quota."""
        return len(self.sitemaps) + len(self.discovery) + len(self.further)


def plan_epoch(
    schedule: DomainSchedule,
    sitemap_queue: Iterable[str],
    discovery_queue: Iterable[str],
) -> tuple[DomainSchedule, EpochPlan]:
    """Return the schedule of the next epoch, and its URLs; queues are best first."""
    moved = move_balance(schedule)
    counts = [moved.n_sitemaps, moved.quota - moved.n_sitemaps]
    return moved, _grant([sitemap_queue, discovery_queue], counts)


def _grant(queues: list[Iterable[str]], counts: list[int]) -> EpochPlan:
    """Return a plan that takes the best URLs of each queue, up to its count.

    A URL in both goes to the queue that ranks it higher, in a tie to sitemaps; the next
    URL of the other queue replaces it. If a queue is too short, the other one fills up.
    """
    rest = [iter(queue) for queue in queues]
    parts: list[list[str]] = [[], []]
    taken: set[str] = set()
    is_reading = True
    while is_reading:  # once for each rank
        is_reading = False
        for part, urls, count in zip(parts, rest, counts, strict=True):
            if len(part) < count and (url := next(urls, None)) is not None:
                is_reading = True
                if url not in taken:
                    taken.add(url)
                    part.append(url)
    n_further = sum(counts) - len(taken)
    others = dict.fromkeys(url for url in chain(*rest) if url not in taken)
    further = islice(others, n_further)
    return EpochPlan(tuple(parts[0]), tuple(parts[1]), tuple(further))


def close_epoch(
    schedule: DomainSchedule, plan: EpochPlan, is_indexed: Mapping[str, bool]
) -> DomainSchedule:
    """Return the schedule after an epoch; URLs without an outcome are not judged."""
    return judge_epoch(
        schedule,
        [is_indexed[url] for url in plan.sitemaps if url in is_indexed],
        [is_indexed[url] for url in plan.discovery if url in is_indexed],
    )
