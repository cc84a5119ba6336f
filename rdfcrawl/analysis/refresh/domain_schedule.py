"""CrawlScheduleForDomain: share the quota of a domain between sitemaps and links.

Algorithm 6.1 (section 6.3.1, figure 8). In each epoch, the lowest-ranked URLs granted
to a source show the value of one more fetch: the share of them that was added to the
index. The source with the greater share gets more in the next epoch.

The algorithm judges as many URLs as the balance moves by. With a small quota this is
one or two, so most epochs end in a tie, which figure 8 decides in favour of sitemaps.
Here the shares of the last epochs break a tie first (a decision: the paper does not
discuss ties, and with small quotas they would dominate).

A schedule is a value. `move_balance` and `judge_epoch` return the next one, and
`codec.encode` serializes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

SLOW: Final = 0.1  # phi, "a slow converging default"
_KEPT: Final = 0.8  # weight of earlier epochs; only breaks ties


@dataclass(frozen=True, slots=True)
class PastUtility:
    """Results of the last epochs, weighted by age."""

    found: float = 0.0  # added to the index
    judged: float = 0.0

    @property
    def share(self) -> float:
        """Share of the judged URLs that was added to the index; 0 if there are none."""
        return self.found / self.judged if self.judged else 0.0

    def then(self, found: int, judged: int) -> PastUtility:
        """Return the results after one more epoch."""
        return PastUtility(_KEPT * self.found + found, _KEPT * self.judged + judged)


NO_PAST: Final = PastUtility()


@dataclass(frozen=True, slots=True)
class DomainSchedule:
    """The state of Algorithm 6.1 for one domain, between two steps.

    Attributes:
        quota: N_crawl: fetches in an epoch, 2 or more.
        phi: speed of the balance, between 0 and 1.
        k_sitemaps: k_S; k_S + k_D is the quota.
        k_discovery: k_D.
        delta: next step of the balance, and number of URLs to judge.
        utility_sitemaps: share of the judged URLs that was added to the index.
        epoch: number of closed epochs.
        past_sitemaps: results of the last epochs, to break ties.
    """

    quota: int
    phi: float
    k_sitemaps: float
    k_discovery: float
    delta: float
    utility_sitemaps: float = 0.0
    utility_discovery: float = 0.0
    epoch: int = 0
    past_sitemaps: PastUtility = NO_PAST
    past_discovery: PastUtility = NO_PAST

    @property
    def n_sitemaps(self) -> int:
        """Fetches of the quota that are granted to sitemaps; the rest is for links."""
        return min(max(round(self.k_sitemaps), 1), self.quota - 1)

    @property
    def n_judged(self) -> int:
        """Number of URLs of each source to judge in the open epoch."""
        return max(round(self.delta), 1)


def new_schedule(quota: int, phi: float = SLOW) -> DomainSchedule:
    """Return a schedule before its first epoch: lines 1 to 4 of the algorithm.

    Raises:
        ValueError: the quota is less than one fetch for each source, or phi is out of
            range.
    """
    if quota < 2 or not 0 < phi < 1:
        raise ValueError(f"quota {quota}, phi {phi}: need quota >= 2 and 0 < phi < 1")
    half = quota / 2
    return DomainSchedule(quota, phi, half, half, phi * half)


def move_balance(schedule: DomainSchedule) -> DomainSchedule:
    """Return the schedule at the start of its next epoch: lines 10 to 15.

    Earlier epochs break a tie of the last one; if they are equal, too, sitemaps gain,
    as printed. Each source keeps one fetch: without a sample it could never gain.
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
    """Return the schedule with another quota and the same shares."""
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
    )


def judge_epoch(
    schedule: DomainSchedule, sitemaps: Sequence[bool], discovery: Sequence[bool]
) -> DomainSchedule:
    """Return the schedule after an epoch: lines 19 to 21.

    Args:
        schedule: of the domain.
        sitemaps: for each fetched URL granted to sitemaps, in order of rank, whether
            it was added to the index.
        discovery: the same for links.
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

    Without fetched URLs, the utility does not change.
    """
    return found / len(judged) if judged else before
