"""A budget that is too small for all hosts is shared by them."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.monitor.refreshing.planning import FairShare


def shared(wanted: list[int], budget: int, turn: int = 0) -> list[int]:
    """Return the share of each host."""
    share = FairShare(Counter(wanted), budget, turn=turn)
    return [min(n, share.next_most(n)) for n in wanted]


@pytest.mark.parametrize(
    ("wanted", "budget", "got"),
    [
        ([5, 5, 5], 100, [5, 5, 5]),
        ([1, 9, 9], 9, [1, 4, 4]),
        ([0, 9, 1], 4, [0, 3, 1]),
        ([9, 9, 9], 4, [2, 1, 1]),
        ([9, 9], 0, [0, 0]),
        ([], 7, []),
    ],
)
def test_no_host_gets_more_than_another_that_wants_more(
    wanted: list[int], budget: int, got: list[int]
) -> None:
    """If hosts want more than there is, then each gets as much as any other."""
    assert shared(wanted, budget) == got


def test_remainder_rotates() -> None:
    """If there is less than one for each host, then all have their turns."""
    turns = [shared([3] * 5, 2, turn) for turn in range(5)]
    assert [sum(column) for column in zip(*turns, strict=True)] == [2] * 5


@given(st.lists(st.integers(0, 30), max_size=30), st.integers(0, 300), st.integers(0))
def test_a_budget_is_spent_and_never_exceeded(
    wanted: list[int], budget: int, turn: int
) -> None:
    """If hosts want something, then they get all of it, or the full budget."""
    assert sum(shared(wanted, budget, turn)) == min(sum(wanted), budget)
