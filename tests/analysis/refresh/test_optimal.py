"""Freshness-optimal refresh, against its definition and in a simulation."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rdfcrawl.analysis.refresh.optimal import (
    OptimalFreshness,
    allocate,
    best_frequency,
    budget_for,
    freshness_of,
)
from rdfcrawl.analysis.refresh.policy import (
    DAY_MS,
    FixedInterval,
    RefreshEpoch,
    RefreshPolicy,
)
from tests.support.changing_pages import (
    ChangingSite,
    mean_freshness,
    optimal_freshness,
    uneven_rates,
)

RATES = st.floats(0.001, 100)


@given(RATES, st.floats(0.01, 0.99))
def test_best_frequency_has_the_wanted_gain(rate: float, wanted: float) -> None:
    """If a frequency is chosen, then dF/df there is the multiplier."""
    multiplier = wanted / rate
    frequency = best_frequency(rate, multiplier)
    step = frequency * 1e-5
    above, below = (mean_freshness(rate, frequency + x) for x in (step, -step))
    assert (above - below) / (2 * step) == pytest.approx(multiplier, rel=1e-3)


@given(RATES)
def test_page_that_changes_too_often_is_given_up(rate: float) -> None:
    """If no fetch gains enough, then there is none; nor where nothing changes."""
    assert best_frequency(rate, 1.001 / rate) == 0
    assert best_frequency(0.0, 0.5) == 0


def test_tiny_gains_keep_their_digits() -> None:
    """If a page hardly changes, then its frequency is that of the series.

    x^2 / 2 = mu lambda near 0, so f = lambda / sqrt(2 mu lambda).
    """
    assert best_frequency(1e-8, 1e-4) == pytest.approx(1e-8 / (2e-12) ** 0.5, rel=1e-5)


def test_paper_example_of_five_pages() -> None:
    """If five pages change 1 to 5 times a day, then 5 fetches go to the slow ones.

    Cho and Garcia-Molina (2000), table 4: 1.15, 1.36, 1.35, 1.14, 0.00.
    """
    found = allocate(dict.fromkeys((1.0, 2.0, 3.0, 4.0, 5.0), 1), 5.0)
    expected = [1.15, 1.36, 1.35, 1.14, 0.00]
    assert [found[rate] for rate in sorted(found)] == pytest.approx(expected, abs=0.005)


@given(st.dictionaries(RATES, st.integers(1, 5), min_size=2, max_size=6), RATES)
def test_no_exchange_of_fetches_gains_freshness(
    rates: dict[float, int], budget: float
) -> None:
    """If fetches of one page are given to another, then mean freshness falls."""
    frequencies = allocate(rates, budget)
    spent = sum(frequencies[rate] * n for rate, n in rates.items())
    assert spent == pytest.approx(budget)

    def total(frequency: dict[float, float]) -> float:
        return sum(mean_freshness(x, frequency[x]) * n for x, n in rates.items())

    one, other = sorted(rates)[:2]
    moved = 0.05 * frequencies[one]
    assume(moved)
    changed = frequencies | {
        one: frequencies[one] - moved,
        other: frequencies[other] + moved * rates[one] / rates[other],
    }
    assert total(changed) <= total(frequencies) + 1e-9


@given(
    st.dictionaries(st.floats(1e-9, 1e10), st.integers(1, 9), min_size=1, max_size=5),
    st.floats(0.05, 0.95),
    st.sampled_from([1.0, 24.0]),
)
def test_budget_reaches_the_wanted_freshness(
    rates: dict[float, int], freshness: float, most: float
) -> None:
    """If rates differ by many orders of magnitude, then a budget is still exact.

    There is none if even the greatest frequencies do not reach the freshness.
    """
    budget = budget_for(rates, freshness, most)
    if budget is None:
        assert freshness_of(rates, 1e9, most) < freshness
    else:
        enough, less = (freshness_of(rates, budget * x, most) for x in (1 + 1e-6, 0.99))
        assert enough >= freshness - 1e-6
        assert less < freshness + 1e-6 or not budget


def test_no_page_is_fetched_more_than_it_may() -> None:
    """If the budget is ample, then pages have the greatest allowed frequency."""
    assert allocate({1.0: 2, 0.0: 9}, 50.0, most=1.0) == {1.0: 1.0, 0.0: 0.0}
    assert allocate({}, 5.0) == {}
    assert allocate({2.0: 1}, 0.0) == {2.0: 0.0}


def test_freshness_comes_near_the_optimum() -> None:
    """If rates are known, then freshness is nearly the best; estimates are between."""
    rates = uneven_rates(100, mean=0.15)
    budget = 10
    known = {f"https://a.example/{n}": x / DAY_MS for n, x in enumerate(rates)}
    policies: dict[str, RefreshPolicy] = {
        "fixed": FixedInterval(10 * DAY_MS),
        "estimated": OptimalFreshness(),
        "known": OptimalFreshness(lambda facts: known[facts.url], exploration=0.0),
    }
    found = {
        name: ChangingSite(rates, seed=4)
        .run(policy, n_epochs=60, budget=budget, warm_up=25)
        .freshness
        for name, policy in policies.items()
    }
    optimum = optimal_freshness(rates, budget)
    assert found["fixed"] < found["estimated"] <= found["known"] + 0.01
    assert found["known"] == pytest.approx(optimum, abs=0.03)


def test_choice_explores_and_fills_the_budget() -> None:
    """If pages would be given up, then a share of the budget still goes to them."""
    site = ChangingSite([40.0] * 5 + [0.1] * 35)
    known = {page.url: page.rate / DAY_MS for page in site.pages}
    policy = OptimalFreshness(lambda facts: known[facts.url], exploration=0.25)
    site.run(policy, n_epochs=3, budget=8)
    pages = [page.facts() for page in site.pages]
    chosen = policy.choose(lambda: pages, RefreshEpoch(now_ms=4 * DAY_MS, n_fetches=8))
    assert len(set(chosen)) == 8
    everything = RefreshEpoch(now_ms=4 * DAY_MS, n_fetches=99)
    assert len(policy.choose(lambda: pages, everything)) == 40
    assert OptimalFreshness().choose(list, everything) == []
