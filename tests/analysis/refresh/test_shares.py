"""A budget that is too small for all hosts is shared by one price."""

from __future__ import annotations

import random
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.analysis.refresh.optimal import budget_for, freshness_of, worth_of
from rdfcrawl.analysis.refresh.outlook import OutlookCount, grouped_rates
from rdfcrawl.analysis.refresh.policy import DAY_MS
from rdfcrawl.analysis.refresh.shares import BudgetShares
from tests.support.changing_pages import kept_fresh, optimal_freshness

WORTHS = st.lists(st.lists(st.floats(0, 1e9), max_size=8), max_size=12)


def shared(offers: list[list[float]], budget: int, turn: int = 0) -> list[int]:
    """Return the share of each host."""
    shares = BudgetShares(budget, turn)
    for worths in offers:
        shares.offer(worths)
    settled = shares.settled()
    found = [settled.next_share(worths) for worths in offers]
    assert all(each.n_explored <= each.n_fetches for each in found)
    return [each.n_fetches for each in found]


@pytest.mark.parametrize(
    ("offers", "budget", "got"),
    [
        ([[5.0] * 5, [5.0] * 5], 100, [5, 5]),
        ([[9.0, 8.0, 1.0], [7.0, 2.0]], 3, [2, 1]),
        ([[1.0] * 4, [1.0] * 8, []], 6, [2, 4, 0]),
        ([[0.0], [3.0]], 1, [0, 1]),
        ([[1.0, 1.0]], 0, [0]),
        ([], 7, []),
    ],
)
def test_fetches_go_where_they_are_worth_most(
    offers: list[list[float]], budget: int, got: list[int]
) -> None:
    """If hosts offer more than there is, then all fetches above one price are made."""
    assert shared(offers, budget) == got


def test_offers_at_the_price_take_turns() -> None:
    """If hosts offer the same, then all have their turns, and pages below have some."""
    turns = [shared([[1.0] * 3] * 5, 2, turn) for turn in range(0, 30, 2)]
    assert {sum(column) for column in zip(*turns, strict=True)} == {6}
    explored = [shared([[9.0] * 60, [0.0] * 60], 60, turn)[1] for turn in range(9)]
    assert explored == [3] * 9


@given(WORTHS, st.integers(0, 100), st.integers(0, 10**6))
def test_a_budget_is_spent_and_never_exceeded(
    offers: list[list[float]], budget: int, turn: int
) -> None:
    """If hosts offer something, then they get all of it, or the full budget."""
    found = shared(offers, budget, turn)
    assert sum(found) == min(sum(map(len, offers)), budget)
    assert all(n <= len(worths) for n, worths in zip(found, offers, strict=True))


@given(st.floats(0.001, 100), st.floats(0.001, 100))
def test_worth_is_the_gain_of_a_fetch(rate: float, age: float) -> None:
    """If a page is fetched at an interval, then its worth there is dF/df."""
    assert worth_of(rate, age) == pytest.approx(
        (1 - (1 + rate * age) * exp(-rate * age)) / rate, abs=1e-9
    )
    assert worth_of(rate, 1e9) == pytest.approx(1 / rate)


def small_and_large() -> list[list[float]]:
    """Return the rates of nine small sites, and of one that is 30 times as large."""
    dice = random.Random(1)
    sizes = [20] * 9 + [600]
    return [[round(dice.gammavariate(0.5, 0.2), 3) for _ in range(n)] for n in sizes]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    ("hosts", "budget"),
    [
        (small_and_large(), 60),
        ([[0.001] * 100] * 3 + [[0.3] * 100] * 3, 60),
        ([[0.03 * 3**k] * 60 for k in range(5)], 60),
    ],
    ids=["small-and-large", "archives", "faster-and-faster"],
)
def test_freshness_is_near_that_of_one_optimum(
    hosts: list[list[float]], budget: int
) -> None:
    """If sites differ in size or rates, then shares give 0.95 of the best freshness."""
    rates = [rate for some in hosts for rate in some]
    found = kept_fresh(hosts, budget, 40)
    assert found >= 0.95 * optimal_freshness(rates, budget)


def test_outlook_of_a_portal() -> None:
    """If a portal has 20,000 pages and 100 fetches a day, a round takes 200 days.

    The budget that it needs has the wanted freshness.
    """
    rates = grouped_rates([0.1 / DAY_MS] * 10_000 + [0.004 / DAY_MS] * 10_000)
    count = OutlookCount(DAY_MS)
    count.add("portal.example", rates, 100)
    (found,) = count.outlooks()
    assert found.round_days == 200
    assert found.needed is not None
    freshness = freshness_of(rates, found.needed / DAY_MS, 1 / DAY_MS)
    assert freshness == pytest.approx(0.9, abs=0.001)
    assert found.freshness < freshness
    told = "portal.example: 100 of 20,000 pages an epoch, so a round takes 200 days"
    assert str(found).startswith(told)
    count.add("other.example", grouped_rates([9 / DAY_MS] * 60), 0)
    both, worst, _ = count.outlooks()
    assert (both.hosts, both.n_pages, both.n_fetches) == ("2 hosts", 20_060, 100)
    assert (worst.hosts, worst.round_days, worst.needed) == (
        "other.example",
        None,
        None,
    )
    assert "a round never ends" in str(worst)
    assert "0.9 is out of reach in epochs of 1 day" in str(worst)


def test_budget_of_pages_that_never_change_is_nothing() -> None:
    """If no page changes, then all copies are fresh without a fetch."""
    assert budget_for({0.0: 5}, 0.9) == 0
    assert freshness_of({0.0: 5}, 0.0) == 1
    assert budget_for({0.0: 5, 1.0: 5}, 0.4) == 0
