"""CrawlScheduleForDomain: share the quota of a domain between sitemaps and links.

Algorithm 6.1 (section 6.3.1, figure 8). In each epoch the worst URLs that a source was
granted show what another fetch of it would bring: the share of them that was added to
the index. The source with the greater share gets more in the next epoch.

A schedule is a value. `plan_epoch` and `close_epoch` return the next one, which
`codec.encode` makes a text of: a plan is stored before its first fetch, and followed,
not made anew, after a restart. So no epoch has more than its quota.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SLOW: Final = 0.1  # phi, "a slow converging default"


@dataclass(frozen=True, slots=True)
class EpochPlan:
    """The URLs of one epoch, best first; each is in one part.

    Attributes:
        sitemaps: topK_S: granted to sitemaps.
        discovery: topK_D: granted to links.
        further: taken from either where the other had too few; not judged.
    """

    sitemaps: tuple[str, ...] = ()
    discovery: tuple[str, ...] = ()
    further: tuple[str, ...] = ()

    @property
    def n_urls(self) -> int:
        """How many URLs are fetched; not more than the quota."""
        return len(self.sitemaps) + len(self.discovery) + len(self.further)


@dataclass(frozen=True, slots=True)
class DomainSchedule:
    """The state of Algorithm 6.1 for one domain, between two steps.

    Attributes:
        quota: N_crawl: fetches in an epoch, 2 or more.
        phi: how fast the balance moves, between 0 and 1.
        k_sitemaps: k_S; with k_D it is the quota.
        k_discovery: k_D.
        delta: by how much they move next, and how many URLs are judged.
        utility_sitemaps: share of the judged URLs that was added to the index.
        epoch: number of epochs that were closed.
        plan: of the epoch that is open; None between epochs.
    """

    quota: int
    phi: float
    k_sitemaps: float
    k_discovery: float
    delta: float
    utility_sitemaps: float = 0.0
    utility_discovery: float = 0.0
    epoch: int = 0
    plan: EpochPlan | None = None


def new_schedule(quota: int, phi: float = SLOW) -> DomainSchedule:
    """Return a schedule before its first epoch: lines 1 to 4 of the algorithm.

    Raises:
        ValueError: the quota does not give each source one fetch, or the balance would
            not move or move beyond it.
    """
    if quota < 2 or not 0 < phi < 1:
        raise ValueError(f"quota {quota}, phi {phi}: want 2 or more, and 0 < phi < 1")
    half = quota / 2
    return DomainSchedule(quota, phi, half, half, phi * half)


def plan_epoch(
    schedule: DomainSchedule,
    sitemap_queue: Iterable[str],
    discovery_queue: Iterable[str],
) -> DomainSchedule:
    """Return the schedule with the plan of its next epoch: lines 10 to 18.

    An epoch that is open already keeps its plan.

    Args:
        schedule: of the domain.
        sitemap_queue: Seen_S without Crawled_S, best SitemapScore first, without what
            robots.txt refuses; it is read as far as needed.
        discovery_queue: likewise Seen_D without Crawled_D, by DiscoveryScore.
    """
    if schedule.plan is not None:
        return schedule
    moved = _move_balance(schedule)
    n_sitemaps = min(max(round(moved.k_sitemaps), 1), moved.quota - 1)
    counts = [n_sitemaps, moved.quota - n_sitemaps]
    return replace(moved, plan=_grant([sitemap_queue, discovery_queue], counts))


def _move_balance(schedule: DomainSchedule) -> DomainSchedule:
    """Return the schedule after lines 10 to 15; in a tie sitemaps gain, as printed.

    Each source keeps one fetch: without a sample it could never gain again.
    """
    is_better = schedule.utility_sitemaps < schedule.utility_discovery
    step = -schedule.delta if is_better else schedule.delta
    wanted = schedule.k_sitemaps + step
    k_sitemaps = min(max(wanted, 1.0), schedule.quota - 1.0)
    return replace(
        schedule, k_sitemaps=k_sitemaps, k_discovery=schedule.quota - k_sitemaps
    )


def _grant(queues: list[Iterable[str]], counts: list[int]) -> EpochPlan:
    """Return the plan that takes from each queue its count, best first.

    A URL in both goes to the one where it stands further ahead, in a tie to sitemaps,
    and leaves its place in the other to the next. What a queue lacks is taken from the
    other.
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
    schedule: DomainSchedule, is_indexed: Mapping[str, bool]
) -> DomainSchedule:
    """Return the schedule after its open epoch: lines 19 to 21.

    Args:
        schedule: with the plan of the epoch.
        is_indexed: of each URL that was fetched, whether it was added to the index;
            failures were not. What is missing was never asked for, as robots.txt
            refused it meanwhile, and is not judged.

    Raises:
        ValueError: no epoch is open.
    """
    if schedule.plan is None:
        raise ValueError("no epoch is open")
    n_judged = max(round(schedule.delta), 1)
    return replace(
        schedule,
        utility_sitemaps=_utility(
            schedule.plan.sitemaps, is_indexed, n_judged, schedule.utility_sitemaps
        ),
        utility_discovery=_utility(
            schedule.plan.discovery, is_indexed, n_judged, schedule.utility_discovery
        ),
        delta=schedule.phi * min(schedule.k_sitemaps, schedule.k_discovery),
        epoch=schedule.epoch + 1,
        plan=None,
    )


def _utility(
    top: Iterable[str], is_indexed: Mapping[str, bool], n_judged: int, before: float
) -> float:
    """Return the share of the lowest scored URLs that was added to the index.

    Without any fetched URL the utility stays as it was.
    """
    judged = [is_indexed[url] for url in top if url in is_indexed][-n_judged:]
    return sum(judged) / len(judged) if judged else before
