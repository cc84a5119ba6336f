"""Estimates and choices for histories that hardly any site has."""

from __future__ import annotations

from dataclasses import replace
from email.utils import formatdate
from math import inf, isfinite
from operator import attrgetter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.analysis.measures.refetches import iter_intervals
from rdfcrawl.analysis.measures.uri_facts import (
    LastmodClaim,
    UriFacts,
    UriFetch,
    UriListing,
)
from rdfcrawl.analysis.refresh.freshness import freshness_now, page_outlooks
from rdfcrawl.analysis.refresh.histories import (
    MAX_GROUPS,
    MAX_STRATA,
    SiteHistories,
)
from rdfcrawl.analysis.refresh.policy import DAY_MS, RefreshEpoch
from rdfcrawl.analysis.refresh.sampling import sample
from rdfcrawl.analysis.refresh.stale import StaleProbability

TIMES = st.one_of(
    st.sampled_from([0, 1, 1000, DAY_MS, 20_000 * DAY_MS, 2**53]),
    st.integers(0, 40_000 * DAY_MS),
    st.integers(20_000 * DAY_MS, 20_001 * DAY_MS),
)
LASTMODS = st.none() | TIMES | st.integers(-(2**60), 2**60)
MODIFIED = st.just("") | TIMES.filter(lambda ms: ms < 2**45).map(
    lambda ms: formatdate(ms // 1000, usegmt=True)
)
FETCHES = st.builds(
    UriFetch,
    started_ms=TIMES,
    status=st.sampled_from(
        ["SUCCESSFUL", "PARTIAL", "UNCHANGED", "FAILED", "DELETED", "REDIRECTED"]
    ),
    http_status=st.sampled_from([0, 200, 304, 404, 410, 503]),
    content_hash=st.sampled_from(["", "a", "b"]),
    last_modified=MODIFIED,
)
FETCHED = st.lists(FETCHES, min_size=1, max_size=6)
CLAIMED = st.lists(
    st.builds(LastmodClaim, read_ms=TIMES, lastmod_ms=LASTMODS), max_size=4
)
FREQUENCIES = st.sampled_from(["", "always", "never", "hourly", "yearly", "often"])


@st.composite
def odd_pages(draw: st.DrawFn) -> list[UriFacts]:
    """Return pages of one site, with clocks that may have been set back."""
    n_pages = draw(st.integers(0, 12))
    return [
        UriFacts(
            domain="a.example",
            url=f"https://a.example/{n}",
            listings=(
                UriListing(sitemap="m", first_ms=0, changefreq=draw(FREQUENCIES)),
            ),
            fetches=tuple(sorted(draw(FETCHED), key=attrgetter("started_ms"))),
            claims=tuple(sorted(draw(CLAIMED), key=attrgetter("read_ms"))),
            dated_by=draw(st.sampled_from(["", "m"])),
        )
        for n in range(n_pages)
    ]


def histories_of(pages: list[UriFacts], now_ms: int) -> SiteHistories:
    """Return the histories of pages at a time."""
    found = SiteHistories(now_ms / DAY_MS)
    for facts in pages:
        found.add(facts, iter_intervals(facts))
    return found


def check_freshness(histories: SiteHistories, now_ms: int) -> None:
    """Check that the freshness is a share, and its interval one of shares."""
    found = freshness_now(histories, now_ms / DAY_MS)
    n = histories.n_lost + sum(x.n_pages for x in histories.groups.values())
    assert found.n_pages == n
    assert all(isfinite(x) and isfinite(y) for x, y in found.draws)
    assert all(isfinite(x) and x >= 0 and isfinite(n) for x, n in found.rates.items())
    assert isfinite(found.n_daily)
    assert found.n_daily >= 0
    if n:
        low, high = found.interval
        assert 0 <= low <= high <= 1
        assert 0 <= found.estimate <= 1 + 1e-9


@settings(max_examples=20, deadline=None)
@given(odd_pages(), TIMES)
def test_freshness_of_odd_histories(pages: list[UriFacts], now_ms: int) -> None:
    """If pages have any history, then the freshness is between 0 and 1."""
    check_freshness(histories_of(pages, now_ms), now_ms)


@settings(max_examples=20, deadline=None)
@given(odd_pages(), TIMES, st.sampled_from([1e-9, 1.0, 1e4]))
def test_outlooks_of_odd_histories(
    pages: list[UriFacts], now_ms: int, epoch: float
) -> None:
    """If pages have any history, then a fetch never makes the outlook worse."""
    histories = histories_of(pages, now_ms)
    found = page_outlooks(histories, epoch)
    assert found.keys() == histories.groups.keys()
    for kept, fetched in found.values():
        assert 0 <= kept <= fetched + 1e-12 <= 1 + 1e-9


@given(odd_pages(), TIMES, st.integers(0, 20), st.integers(0, 20))
def test_choices_of_odd_histories(
    pages: list[UriFacts], now_ms: int, n_fetches: int, n_explored: int
) -> None:
    """If pages have any history, then each is chosen once, within the budget."""
    epoch = RefreshEpoch(now_ms=now_ms, n_fetches=n_fetches, n_explored=n_explored)
    chosen = StaleProbability().choose(lambda: pages, epoch)
    assert len(chosen) == len(set(chosen)) <= n_fetches
    assert set(chosen) <= {x.url for x in pages}
    worth_of = StaleProbability().appraiser(lambda: pages, now_ms)
    assert all(isfinite(worth_of(x)) for x in pages)


def dated_page(*days: float, lastmod_ms: int = 1) -> UriFacts:
    """Return a page that never changes, fetched on these days, with a claim in 1970."""
    return UriFacts(
        domain="a.example",
        url="https://a.example/",
        listings=(UriListing(sitemap="m", first_ms=0),),
        fetches=tuple(
            UriFetch(started_ms=round(day * DAY_MS), content_hash="a") for day in days
        ),
        claims=(LastmodClaim(read_ms=0, lastmod_ms=lastmod_ms),),
        dated_by="m",
    )


@pytest.mark.parametrize(
    ("days", "now"),
    [
        ((0, 1200), 1200),  # in which many false claims are probable
        ((0, 842), 0),  # the clock was set back
        ((30, 31), 1),
        ((5, 5), 4),
        ((0, 1e-8), 1e-8),
        (range(2000), 2000),
    ],
)
def test_odd_clocks(days: tuple[float, ...], now: int) -> None:
    """If a clock was set back, or intervals are very long, then all is estimated."""
    pages = [dated_page(*days), UriFacts(domain="a.example", url="b")]
    now_ms = round(now * DAY_MS)
    check_freshness(histories_of(pages, now_ms), now_ms)
    epoch = RefreshEpoch(now_ms=now_ms, n_fetches=2)
    assert len(StaleProbability().choose(lambda: pages, epoch)) <= 2


def test_impossible_points() -> None:
    """If no point is possible, then draws are made from those that were tried."""
    found = sample(lambda _: -inf, [0.0, 1.0], [1.0, 0.0001], 20, "a")
    assert len(found) == 20
    assert all(isfinite(x) for point in found for x in point)


def test_site_of_many_sitemaps() -> None:
    """If hundreds of sitemaps date the pages, then those of most count together."""
    pages = [
        replace(dated_page(0, n % 7 + 1), url=f"u{n}", dated_by=f"{n}")
        for n in range(700)
    ]
    histories = histories_of(pages, 9 * DAY_MS)
    names = {name for name, _ in histories.groups}
    assert len(names) == MAX_STRATA + 1
    check_freshness(histories, 9 * DAY_MS)
    for each in pages:
        assert histories.key_of(each, iter_intervals(each)) in histories.groups


def test_site_of_many_kinds_of_history() -> None:
    """If the histories of pages are all different, then they form limited groups."""
    histories, pages = SiteHistories(50.0), list[UriFacts]()
    for n in range(1500):
        dice = Random(n)
        days, contents = [0], ["a"]
        for _ in range(49):
            days.append(days[-1] + dice.randint(0, 1))
            contents.append(dice.choice("ab" if n % 2 else "aaaab"))
        fetches = tuple(
            UriFetch(started_ms=n + round(day * DAY_MS), content_hash=x)
            for day, x in zip(days, contents, strict=True)
        )
        claims = tuple(
            LastmodClaim(read_ms=day * DAY_MS, lastmod_ms=day * DAY_MS)
            for day in sorted(dice.sample(range(50), n % 50))
        )
        facts = replace(dated_page(0), fetches=fetches, claims=claims)
        pages.append(facts)
        histories.add(facts, iter_intervals(facts))
    keys = {histories.key_of(each, iter_intervals(each)) for each in pages}
    assert keys == histories.groups.keys()
    assert len(keys) <= MAX_GROUPS
    assert sum(x.n_pages for x in histories.groups.values()) == 1500
    check_freshness(histories, 51 * DAY_MS)
