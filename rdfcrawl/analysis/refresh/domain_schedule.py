"""CrawlScheduleForDomain: share the quota of a domain between sitemaps and links.

Algorithm 6.1 (section 6.3.1, figure 8). In each epoch the worst URLs that a source was
granted show what another fetch of it would bring: the share of them that was added to
the index. The source with the greater share gets more in the next epoch.

The algorithm judges as many URLs as the balance moves by: with a small quota one or
two, so that most epochs end in a tie, in which figure 8 lets sitemaps gain. Here a tie
is broken by the same shares over the last epochs, if these differ (a decision: the
paper says nothing of ties, and with small quotas they would decide alone).

A schedule is a value. `plan_epoch` and `close_epoch` return the next one, which
`codec.encode` makes a text of: a plan is stored before its first fetch, and followed,
not made anew, after a restart. So no epoch has more than its quota.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SLOW: Final = 0.1  # phi, "a slow converging default"
_KEPT: Final = 0.8  # of what was judged before, in each epoch; it only breaks ties


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
class PastUtility:
    """What was judged in the last epochs, where one counts less than that after it."""

    found: float = 0.0  # added to the index
    judged: float = 0.0

    @property
    def share(self) -> float:
        """Share of those judged that was added to the index; 0 if none was judged."""
        return self.found / self.judged if self.judged else 0.0

    def then(self, found: int, judged: int) -> PastUtility:
        """Return the same after one more epoch."""
        return PastUtility(_KEPT * self.found + found, _KEPT * self.judged + judged)


NO_PAST: Final = PastUtility()


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
        past_sitemaps: what the last epochs found, to break a tie.
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
    past_sitemaps: PastUtility = NO_PAST
    past_discovery: PastUtility = NO_PAST

    @property
    def n_sitemaps(self) -> int:
        """How many of the quota are granted to sitemaps; all others are to links."""
        return min(max(round(self.k_sitemaps), 1), self.quota - 1)

    @property
    def n_judged(self) -> int:
        """How many URLs of either source are judged in the epoch that is open."""
        return max(round(self.delta), 1)


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
    moved = move_balance(schedule)
    counts = [moved.n_sitemaps, moved.quota - moved.n_sitemaps]
    return replace(moved, plan=_grant([sitemap_queue, discovery_queue], counts))


def move_balance(schedule: DomainSchedule) -> DomainSchedule:
    """Return the schedule as its next epoch begins: lines 10 to 15.

    In a tie of the last epoch the epochs before it decide; if these are equal, too,
    sitemaps gain, as printed. Each source keeps one fetch: without a sample it could
    never gain again.
    """
    sitemaps, links = schedule.utility_sitemaps, schedule.utility_discovery
    if sitemaps == links:
        sitemaps = schedule.past_sitemaps.share
        links = schedule.past_discovery.share
    step = -schedule.delta if sitemaps < links else schedule.delta
    wanted = schedule.k_sitemaps + step
    k_sitemaps = min(max(wanted, 1.0), schedule.quota - 1.0)
    return replace(
        schedule, k_sitemaps=k_sitemaps, k_discovery=schedule.quota - k_sitemaps
    )


def with_quota(schedule: DomainSchedule, quota: int) -> DomainSchedule:
    """Return the schedule with another quota, shared as the one before, and no plan."""
    if quota == schedule.quota:
        return schedule
    scale = quota / schedule.quota
    k_sitemaps = min(max(schedule.k_sitemaps * scale, 1.0), quota - 1.0)
    return replace(
        schedule,
        quota=quota,
        k_sitemaps=k_sitemaps,
        k_discovery=quota - k_sitemaps,
        delta=schedule.delta * scale,
        plan=None,
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
    plan = schedule.plan
    return judge_epoch(
        replace(schedule, plan=None),
        [is_indexed[url] for url in plan.sitemaps if url in is_indexed],
        [is_indexed[url] for url in plan.discovery if url in is_indexed],
    )


def judge_epoch(
    schedule: DomainSchedule, sitemaps: Sequence[bool], discovery: Sequence[bool]
) -> DomainSchedule:
    """Return the schedule after an epoch: lines 19 to 21.

    Args:
        schedule: of the domain.
        sitemaps: of what was granted to sitemaps and was fetched, best first, whether
            it was added to the index.
        discovery: likewise of what was granted to links.
    """
    worst = [part[-schedule.n_judged :] for part in (sitemaps, discovery)]
    found = [sum(part) for part in worst]
    return replace(
        schedule,
        utility_sitemaps=_share(found[0], worst[0], schedule.utility_sitemaps),
        utility_discovery=_share(found[1], worst[1], schedule.utility_discovery),
        delta=schedule.phi * min(schedule.k_sitemaps, schedule.k_discovery),
        epoch=schedule.epoch + 1,
        past_sitemaps=schedule.past_sitemaps.then(found[0], len(worst[0])),
        past_discovery=schedule.past_discovery.then(found[1], len(worst[1])),
    )


def _share(found: int, judged: Sequence[bool], before: float) -> float:
    """Return the share of the judged URLs that was added to the index.

    Without any fetched URL the utility stays as it was.
    """
    return found / len(judged) if judged else before
