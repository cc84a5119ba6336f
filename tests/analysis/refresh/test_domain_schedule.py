"""Algorithm 6.1, CrawlScheduleForDomain."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.analysis.refresh.domain_schedule import (
    DomainSchedule,
    new_schedule,
    with_quota,
)
from tests.support.epoch_plans import EpochPlan, close_epoch, plan_epoch

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass
class SimulatedDomain:
    """A domain whose URLs are indexed at rates that fall with their rank.

    In each epoch both sources see new URLs of all ranks, and forget those of before.
    """

    sitemap_rate: Callable[[int], float]
    discovery_rate: Callable[[int], float]
    dice: random.Random = field(default_factory=lambda: random.Random(3))

    def queues(self, epoch: int, n: int = 1000) -> tuple[list[str], list[str]]:
        """Return both queues, best first."""
        return (
            [f"s{epoch}.{rank}" for rank in range(n)],
            [f"d{epoch}.{rank}" for rank in range(n)],
        )

    def crawl(self, plan: EpochPlan) -> dict[str, bool]:
        """Return the result of each URL of a plan."""
        urls = (*plan.sitemaps, *plan.discovery, *plan.further)
        return {url: self._is_indexed(url) for url in urls}

    def _is_indexed(self, url: str) -> bool:
        rank = int(url.partition(".")[2])
        rate = self.sitemap_rate if url.startswith("s") else self.discovery_rate
        return self.dice.random() < rate(rank)


def run(domain: SimulatedDomain, schedule: DomainSchedule, n_epochs: int) -> float:
    """Return the mean share of sitemaps in the last half of some epochs."""
    shares = []
    for epoch in range(n_epochs):
        schedule, plan = plan_epoch(schedule, *domain.queues(epoch))
        assert plan.n_urls <= schedule.quota
        shares.append(schedule.k_sitemaps / schedule.quota)
        schedule = close_epoch(schedule, plan, domain.crawl(plan))
    return sum(shares[n_epochs // 2 :]) / len(shares[n_epochs // 2 :])


def test_first_epochs_by_hand() -> None:
    """If the algorithm is followed by hand, then the values are those.

    N = 20, phi = 0.2: k = 10, 10, delta = 2. Utilities are 0, so sitemaps gain: 12, 8.
    Of the worst 2 of each, one of sitemaps is indexed and both of links: 0.5 < 1.
    Delta = 0.2 * 8 = 1.6; then 10.4, 9.6, and the worst round(1.6) = 2 are judged.
    """
    schedule = new_schedule(20, 0.2)
    assert (schedule.k_sitemaps, schedule.k_discovery, schedule.delta) == (10, 10, 2)
    sitemaps = [f"s{n}" for n in range(30)]
    links = [f"d{n}" for n in range(30)]
    schedule, plan = plan_epoch(schedule, sitemaps, links)
    assert plan == EpochPlan(tuple(sitemaps[:12]), tuple(links[:8]))
    indexed = dict.fromkeys(sitemaps[:11] + links[:8], True) | {"s11": False}
    schedule = close_epoch(schedule, plan, indexed)
    assert (schedule.utility_sitemaps, schedule.utility_discovery) == (0.5, 1)
    assert schedule.delta == pytest.approx(1.6)
    schedule, plan = plan_epoch(schedule, sitemaps[12:], links[8:])
    assert schedule.k_sitemaps == pytest.approx(10.4)
    assert schedule.k_discovery == pytest.approx(9.6)
    assert plan == EpochPlan(tuple(sitemaps[12:22]), tuple(links[8:18]))


def reference(
    quota: int, phi: Fraction, outcomes: list[tuple[list[bool], list[bool]]]
) -> list[tuple[Fraction, Fraction, Fraction]]:
    """Return k_S, k_D and delta of each epoch, by figure 8 line for line.

    In a tie, the judged URLs of all epochs before count, each epoch for 0.8 of the one
    after it.

    `outcomes` has, of each epoch, whether the URLs of each queue are indexed, best
    first.
    """
    k_s = k_d = Fraction(quota, 2)
    delta = phi * Fraction(quota, 2)
    utility_s = utility_d = Fraction(0)
    found = []
    past_s, past_d = [0.0, 0.0], [0.0, 0.0]
    for in_sitemaps, in_links in outcomes:
        is_less = utility_s < utility_d
        if utility_s == utility_d and past_s[1]:
            is_less = past_s[0] / past_s[1] < past_d[0] / past_d[1]
        if is_less:
            k_d, k_s = k_d + delta, k_s - delta
        else:
            k_s, k_d = k_s + delta, k_d - delta
        if k_s < 1:
            k_s, k_d = Fraction(1), Fraction(quota - 1)
        if k_d < 1:
            k_s, k_d = Fraction(quota - 1), Fraction(1)
        n_s = round(k_s)
        top_s, top_d = in_sitemaps[:n_s], in_links[: quota - n_s]
        n_judged = max(1, round(delta))
        worst_s, worst_d = top_s[-n_judged:], top_d[-n_judged:]
        utility_s = Fraction(sum(worst_s), len(worst_s))
        utility_d = Fraction(sum(worst_d), len(worst_d))
        for past, worst in ((past_s, worst_s), (past_d, worst_d)):
            past[:] = 0.8 * past[0] + sum(worst), 0.8 * past[1] + len(worst)
        delta = phi * min(k_s, k_d)
        found.append((k_s, k_d, delta))
    return found


@given(
    st.integers(2, 60),
    st.integers(1, 15),
    st.lists(st.integers(0, 2**32), min_size=1, max_size=25),
)
def test_epochs_equal_the_reference(
    quota: int, sixteenths: int, seeds: list[int]
) -> None:
    """If any outcomes come, then each epoch has the values of figure 8."""
    outcomes = []
    for seed in seeds:
        dice = random.Random(seed)
        rates = dice.random(), dice.random()
        outcomes.append(
            tuple([dice.random() < rate for _ in range(quota)] for rate in rates)
        )
    expected = reference(quota, Fraction(sixteenths, 16), outcomes)  # type: ignore[arg-type]
    schedule = new_schedule(quota, sixteenths / 16)
    for (in_sitemaps, in_links), (k_s, k_d, delta) in zip(
        outcomes, expected, strict=True
    ):
        names = [f"s{n}" for n in range(quota)], [f"d{n}" for n in range(quota)]
        schedule, plan = plan_epoch(schedule, *names)
        assert plan.n_urls == quota
        assert schedule.k_sitemaps == pytest.approx(float(k_s))
        assert schedule.k_discovery == pytest.approx(float(k_d))
        is_indexed = dict(zip(names[0], in_sitemaps, strict=True)) | dict(
            zip(names[1], in_links, strict=True)
        )
        schedule = close_epoch(schedule, plan, is_indexed)
        assert schedule.delta == pytest.approx(float(delta))


def test_better_source_gets_the_quota() -> None:
    """If one source is better at every rank, then it gets nearly all."""
    better = SimulatedDomain(lambda _: 0.9, lambda _: 0.1)
    assert run(better, new_schedule(100), 120) > 0.9
    worse = SimulatedDomain(lambda _: 0.1, lambda _: 0.9)
    assert run(worse, new_schedule(100), 120) < 0.1


def test_marginal_rates_become_equal() -> None:
    """If rates fall with rank, then the shares are where the last URLs gain the same.

    Rates 1 - r/1000 and 1 - r/250 are equal for r_S = 4 r_D: of 1000, 800 and 200.
    """
    domain = SimulatedDomain(lambda r: 1 - r / 1000, lambda r: 1 - r / 250)
    assert run(domain, new_schedule(1000), 100) == pytest.approx(0.8, abs=0.05)


def test_ties_of_small_samples_do_not_favour_sitemaps() -> None:
    """If one or two URLs are judged in an epoch, then shares are right all the same.

    Rates 1 - r/100 and 1 - r/25 are equal where 100 is shared as 80 and 20. With a
    quota of 10, of which one URL is judged, the better source gets the most.
    """
    domain = SimulatedDomain(lambda r: 1 - r / 100, lambda r: 1 - r / 25)
    assert run(domain, new_schedule(100), 200) == pytest.approx(0.8, abs=0.05)
    worse = SimulatedDomain(lambda _: 0.4, lambda _: 0.6)
    assert run(worse, new_schedule(10), 300) < 0.3


def test_another_quota_keeps_the_shares() -> None:
    """If the quota is changed, then it is shared as before; each source keeps one."""
    schedule = with_quota(replace(new_schedule(10), k_sitemaps=8.0), 100)
    assert (schedule.k_sitemaps, schedule.k_discovery) == (80, 20)
    assert schedule.delta == pytest.approx(5)
    assert with_quota(schedule, 100) == schedule
    assert with_quota(replace(schedule, k_sitemaps=99.0), 4).k_discovery == 1


def test_dead_source_can_come_back() -> None:
    """If a source that had least becomes the better one, then it gains again."""
    schedule = new_schedule(20, 0.5)
    domain = SimulatedDomain(lambda _: 0.0, lambda _: 1.0)
    for epoch in range(30):
        schedule, plan = plan_epoch(schedule, *domain.queues(epoch))
        schedule = close_epoch(schedule, plan, domain.crawl(plan))
    assert schedule.k_sitemaps == 1
    domain = replace(domain, sitemap_rate=lambda _: 1.0, discovery_rate=lambda _: 0.0)
    assert run(domain, schedule, 60) > 0.9


def test_short_queue_leaves_its_quota_to_the_other() -> None:
    """If a queue is too short, then further URLs come from the other, not judged."""
    links = [f"d{n}" for n in range(20)]
    schedule, plan = plan_epoch(new_schedule(10), ["s0"], links)
    assert plan == EpochPlan(("s0",), tuple(links[:4]), tuple(links[4:9]))
    outcome = dict.fromkeys(["s0", *links[:4]], True) | dict.fromkeys(links[4:], False)
    assert close_epoch(schedule, plan, outcome).utility_discovery == 1


def test_empty_queues_change_no_utility() -> None:
    """If nothing is left to crawl, then epochs pass and nothing is divided by 0."""
    schedule = replace(new_schedule(10), utility_sitemaps=0.25, utility_discovery=0.75)
    schedule = close_epoch(*plan_epoch(schedule, [], []), {})
    assert (schedule.utility_sitemaps, schedule.utility_discovery) == (0.25, 0.75)
    assert schedule.epoch == 1


def test_refused_urls_are_not_judged_and_failures_are() -> None:
    """If a URL was not requested, then the one before it is judged instead."""
    schedule, plan = plan_epoch(new_schedule(8), list("abcdefgh"), [])
    outcome = {"a": True, "b": True, "c": False}  # the rest was refused
    assert close_epoch(schedule, plan, outcome).utility_sitemaps == 0
    assert close_epoch(schedule, plan, {"a": True}).utility_sitemaps == 1


@pytest.mark.parametrize(("quota", "phi"), [(1, 0.1), (0, 0.1), (10, 0.0), (10, 1.0)])
def test_impossible_schedules_are_refused(quota: int, phi: float) -> None:
    """If a source could get nothing, or the balance not move, then that is refused."""
    with pytest.raises(ValueError, match="quota"):
        new_schedule(quota, phi)
