"""Histories of pages: known rates, and a state that is a function of the time."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.dataweb.evolution.draws import (
    DAY_SECS,
    NEVER,
    PoissonProcess,
    draw_uniform,
)
from rdfcrawl.dataweb.evolution.histories import SiteHistory
from rdfcrawl.dataweb.evolution.parameters import (
    DiscoveryWay,
    EvolutionParameters,
    VanishedAs,
)
from tests.support.evolving_sites import ask, site

SEEDS = st.integers(0, 2**63)
TIMES = st.floats(0, 100 * DAY_SECS)


def test_draws_are_even() -> None:
    """If many numbers are drawn, then each tenth has its share, within 5 sigma."""
    n = 20_000
    tenths = [0] * 10
    for key in range(n):
        tenths[int(draw_uniform("even", key) * 10)] += 1
    sigma = math.sqrt(n * 0.1 * 0.9)
    assert max(abs(count - n / 10) for count in tenths) < 5 * sigma


@pytest.mark.parametrize("seed", [1, 2, 20200318])
@pytest.mark.parametrize("rate", [0.02, 0.5, 2.0])
def test_events_come_at_their_rate(rate: float, seed: int) -> None:
    """If events are counted, they are as many as the rate says, within 5 sigma.

    Of a Poisson process the variance of the counts is their mean, too.
    """
    n, days = 400, 50
    counts = [
        PoissonProcess(rate, start=0.0, key=(seed, n)).count(days * DAY_SECS)
        for n in range(n)
    ]
    mean = rate * days
    assert sum(counts) == pytest.approx(n * mean, abs=5 * math.sqrt(n * mean))
    variance = sum((count - mean) ** 2 for count in counts) / n
    spread = 5 * mean * math.sqrt((2 + 1 / mean) / n)
    assert variance == pytest.approx(mean, abs=spread)


def test_pages_change_come_and_vanish_at_the_rates_of_their_site() -> None:
    """If a site grows old, then changes, births and deaths are as many as stated."""
    days = 50.0
    parameters = EvolutionParameters(
        seed=5, n_pages=2000, rates=(0.2, 1.0), births=10.0, vanishing=0.01
    )
    history = SiteHistory(parameters)
    pages = history.pages(days * DAY_SECS)
    n_born = len(pages) - 2000
    assert n_born == pytest.approx(500, abs=5 * math.sqrt(500))
    for rate in parameters.rates:
        some = [page for page in pages if page.rate == rate]
        assert len(some) == pytest.approx(len(pages) / 2, rel=0.1)
        lived = sum(min(page.gone, days * DAY_SECS) - page.born for page in some)
        wanted = lived / DAY_SECS * rate
        n_changes = sum(page.revision(days * DAY_SECS) for page in some)
        assert n_changes == pytest.approx(wanted, abs=5 * math.sqrt(wanted))
    lost = sum(1 for page in pages[:2000] if page.gone <= days * DAY_SECS)
    share = 1 - math.exp(-0.01 * days)
    assert lost == pytest.approx(2000 * share, abs=5 * math.sqrt(2000 * share))


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.lists(TIMES, min_size=1, max_size=3))
def test_state_is_a_function_of_the_time(seed: int, times: list[float]) -> None:
    """If sites get requests at times in any order, each responds like a new one."""
    asked = site(seed=seed, n_pages=8, births=0.5, vanishing=0.05)
    for time in times:
        day = time / DAY_SECS
        fresh = site(seed=seed, n_pages=8, births=0.5, vanishing=0.05)
        paths = [one.path for one in fresh.history.paths(time)]
        for path in ("/", "/list/0", "/sitemap.xml", "/sitemap-0.xml", *paths):
            mine, other = ask(asked, path, day), ask(fresh, path, day)
            assert (mine.status, mine.head, mine.body) == (
                other.status,
                other.head,
                other.body,
            )


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.floats(0, 10 * DAY_SECS))
def test_changes_match_the_document(seed: int, time: float) -> None:
    """If a page is looked at just before and at a change, then its document differs."""
    node = site(seed=seed, n_pages=4, rates=(1.0,), vanishing=0.02)
    for page in node.history.pages(time):
        changes = page.changes(time)
        assert page.revision(time) == len(changes)
        assert page.last_change(time) == (changes[-1] if changes else page.born)
        assert all(a < b for a, b in pairwise([page.born, *changes, NEVER]))
        path = page.paths[0]
        for n, change in enumerate(changes[:3]):
            assert node.body_of(path, n) != node.body_of(path, n + 1)
            assert page.revision(math.nextafter(change, 0)) == n


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.sampled_from(DiscoveryWay))
def test_ways_are_in_the_order_that_they_say(seed: int, way: DiscoveryWay) -> None:
    """If a page is found by one way first, then the other way follows later."""
    parameters = EvolutionParameters(
        seed=seed, n_pages=5, discovery=(way,), vanishing=0.1, duplicates=0.5
    )
    for path in SiteHistory(parameters).paths(5 * DAY_SECS):
        listed, linked = path.listed.start, path.linked.start
        assert min(listed, linked) == path.page.born
        assert {
            DiscoveryWay.BOTH: listed == linked,
            DiscoveryWay.LINK_FIRST: linked < listed,
            DiscoveryWay.SITEMAP_FIRST: listed < linked,
            DiscoveryWay.LINK_ONLY: listed == NEVER,
            DiscoveryWay.SITEMAP_ONLY: linked == NEVER,
        }[way]
        for span in (path.listed, path.linked):
            assert span.end in (NEVER, path.page.gone)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_pages": -1}, "n_pages is -1"),
        ({"html": 1.5}, r"html is 1\.5"),
        ({"rates": (2000.0,)}, r"rates is 2000"),
        ({"rates": ()}, "rates has no value"),
        ({"per_sitemap": 0}, "per_sitemap is 0"),
        ({"vanishing": float("nan")}, "vanishing is nan"),
    ],
)
def test_parameters_out_of_range_are_refused(
    options: dict[str, Any], message: str
) -> None:
    """If a parameter is out of its range, then the message names it."""
    with pytest.raises(ConfigError, match=message):
        site(**options)


def test_vanished_pages_respond_as_configured() -> None:
    """If pages vanish, then with their status; a soft error is that of any URL."""
    node = site(n_pages=60, vanishing=0.2, vanished_as=tuple(VanishedAs), births=0.0)
    made_up = ask(node, "/page/999999", 30)
    assert made_up.status == 200
    statuses = set()
    for page in node.history.pages(0.0):
        answer = ask(node, page.path, 30)
        there = page.is_there(30 * DAY_SECS)
        if not there:
            statuses.add(answer.status)
            assert answer.status == int(page.vanished_as)
        assert (answer.body == made_up.body) is (not there and answer.status == 200)
    assert statuses == {200, 404, 410}
    assert ask(site(), "/page/999999", 0).status == 404
