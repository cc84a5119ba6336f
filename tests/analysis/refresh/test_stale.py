"""Refresh by the probability of stale copies, with reliable and unreliable lastmods."""

from __future__ import annotations

import pytest

from rdfcrawl.analysis.measures.refetches import FetchInterval
from rdfcrawl.analysis.refresh.policy import DAY_MS, FixedInterval, RefreshEpoch
from rdfcrawl.analysis.refresh.stale import StaleProbability
from rdfcrawl.analysis.refresh.trust import (
    LastmodTrust,
    TrustCount,
    judge_site,
)
from tests.support.changing_pages import ChangingSite, Honesty, uneven_rates

GROUPS: list[tuple[str, Honesty]] = [
    ("true.xml", "truthful"),
    ("false.xml", "rewritten"),
    ("", "none"),
]
RATES = uneven_rates(200, mean=0.1)


def trust(site: ChangingSite) -> LastmodTrust:
    """Return how far a site is trusted at the end of its day."""
    return judge_site((x.facts() for x in site.pages), site.day * DAY_MS).dated


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("seed", range(2))
def test_truthful_sitemap_leads_to_what_has_changed(seed: int) -> None:
    """If lastmods are true, then no change is missed, for 1.05 fetches each at most."""
    site = ChangingSite(RATES, "truthful", seed)
    found = site.run(StaleProbability(), n_epochs=60, budget=40)
    assert found.n_missed == 0
    assert found.n_fetches <= 1.05 * found.n_changed
    assert trust(site).is_trusted


@pytest.mark.parametrize("honesty", ["silent", "rewritten", "random"])
def test_lying_sitemap_is_found_out(honesty: Honesty) -> None:
    """If a site that was trusted begins to lie, then ten epochs later it is not."""
    site = ChangingSite(RATES, "truthful", seed=2)
    site.run(StaleProbability(), n_epochs=25, budget=40)
    assert trust(site).is_trusted
    site.honesty = honesty
    n_epochs = 0
    while trust(site).is_trusted:
        site.run(StaleProbability(), n_epochs=1, budget=40)
        n_epochs += 1
        assert n_epochs <= 10


@pytest.mark.parametrize("honesty", ["none", "silent", "rewritten", "random"])
def test_liar_is_never_trusted(honesty: Honesty) -> None:
    """If lastmods are wrong from the start, then the site is refreshed without them."""
    site = ChangingSite(RATES, honesty, seed=3)
    for _ in range(15):
        found = site.run(StaleProbability(), n_epochs=1, budget=20)
        assert found.n_fetches == 20
        assert not trust(site).is_trusted


def test_incomplete_sitemap_is_combined_with_rates() -> None:
    """If a sitemap has 70 % of the changes, then other pages are fetched, too.

    Freshness is above that without a sitemap, and above that of its claims alone.
    """
    found = {
        kind: ChangingSite(RATES, kind)
        .run(StaleProbability(), n_epochs=40, budget=25, warm_up=15)
        .freshness
        for kind in ("none", "incomplete")
    }
    assert found["incomplete"] > found["none"] + 0.05
    assert found["incomplete"] > 0.83


def test_late_truth_is_trusted_again() -> None:
    """If a silent site starts to state its changes, then it becomes trusted."""
    site = ChangingSite(RATES, "silent", seed=1)
    site.run(StaleProbability(), n_epochs=10, budget=40)
    assert not trust(site).is_trusted
    site.honesty = "truthful"
    site.run(StaleProbability(), n_epochs=40, budget=40)
    assert trust(site).is_trusted


def test_each_sitemap_is_judged_by_its_own_pages() -> None:
    """If one sitemap is true, one lies and some pages have no date, only it is led by.

    All changes that it states are fetched; the others cost it no trust.
    """
    site = ChangingSite(RATES, "truthful", seed=4)
    for n, page in enumerate(site.pages):
        page.dated_by, page.honesty = GROUPS[n % 3]
        page.claims = page.claims if page.dated_by else []
    result = site.run(StaleProbability(), n_epochs=40, budget=60)
    assert result.n_fetches == 40 * 60  # other pages get the rest
    found = judge_site((x.facts() for x in site.pages), site.day * DAY_MS)
    assert {name: x.is_trusted for name, x in found.by_sitemap.items()} == {
        "true.xml": True,
        "false.xml": False,
    }
    assert not found.dated.is_trusted
    assert all(x.copy == x.version for x in site.pages if x.dated_by == "true.xml")


def interval(n: int, *, is_claimed: bool, content_changed: bool) -> FetchInterval:
    """Return an interval of the day before day `n`."""
    end = n * DAY_MS
    changed_ms = end - 1 if content_changed else None
    return FetchInterval(end - DAY_MS, end, content_changed, is_claimed, changed_ms)


def judged(
    *counts: tuple[int, bool, bool], n_pages: int = 1, n_latest: int = 200
) -> LastmodTrust:
    """Return trust after one interval each day: number, is claimed, has changed."""
    count, day = TrustCount(n_latest), 0
    for n, is_claimed, content_changed in counts:
        for _ in range(n):
            day += 1
            count.add(
                interval(day, is_claimed=is_claimed, content_changed=content_changed)
            )
    count.n_pages = n_pages
    return count.judge(day * DAY_MS)


def test_trust_is_the_mean_of_beta() -> None:
    """If every page is fetched each day, then both are those of Beta(1, 1)."""
    nothing = judged()
    assert (nothing.precision, nothing.recall) == (0.5, 0.5)
    assert nothing.is_precise
    assert not nothing.is_trusted
    seven, eight = judged((7, True, True)), judged((8, True, True))
    assert (seven.recall, eight.recall) == (8 / 9, 9 / 10)
    assert (seven.is_trusted, eight.is_trusted) == (False, True)
    missed = judged((9, True, True), (1, False, True))
    assert missed.recall == pytest.approx(10 / (9 + 9 + 2))


def test_unclaimed_changes_stand_for_pages_that_were_not_sampled() -> None:
    """If one of 50 pages is sampled, then a change there stands for many.

    The first claim ended 10 days ago: 50 pages for 9 days are 450 page-days, of which
    one was sampled.
    """
    found = judged((9, True, True), (1, False, True), n_pages=50)
    assert found.recall == pytest.approx(10 / (9 + 450 + 2))


def test_only_the_latest_intervals_count() -> None:
    """If a site has become better, then its old intervals are forgotten."""
    found = judged((50, True, False), (20, True, True), n_latest=20)
    assert found.precision == 21 / 22


def test_imprecise_site_is_not_trusted() -> None:
    """If most claims are wrong, then a site is not trusted, though none is missed."""
    found = judged((30, True, True), (40, True, False))
    assert found.recall >= 0.9
    assert not found.is_precise
    assert not found.is_trusted


def test_one_fetch_goes_to_a_claim() -> None:
    """If the budget is a single fetch, then a precise claim has it."""
    site = ChangingSite([0.5, 0.5, 0.5], "truthful", seed=5)
    site.run(FixedInterval(99 * DAY_MS), n_epochs=4, budget=0)
    pages = [page.facts() for page in site.pages]
    stale = {page.url for page in site.pages if page.copy != page.version}
    epoch = RefreshEpoch(now_ms=5 * DAY_MS, n_fetches=1)
    (chosen,) = StaleProbability().choose(lambda: pages, epoch)
    assert chosen in stale


def test_scarce_fetches_go_to_the_slowest_claims() -> None:
    """If more changes are claimed than fetched, then slow pages come first.

    Their copies stay fresh for longer, so freshness is above that of oldest-first.
    """
    site = ChangingSite([2.0] * 20 + [0.2] * 20, "truthful", seed=7)
    site.run(FixedInterval(0), n_epochs=12, budget=40)
    site.run(FixedInterval(0), n_epochs=3, budget=0)
    pages = [page.facts() for page in site.pages]
    stale = {page.url for page in site.pages if page.copy != page.version}
    slow = stale & {page.url for page in site.pages[20:]}
    epoch = RefreshEpoch(now_ms=site.day * DAY_MS, n_fetches=len(slow) + 1)
    claimed = StaleProbability().choose(lambda: pages, epoch)[: len(slow)]
    assert len(slow) < len(stale)
    assert len(slow & set(claimed)) >= 0.8 * len(slow)
