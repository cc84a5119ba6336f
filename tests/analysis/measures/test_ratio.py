"""Quotients that may be undefined, and sums that do not depend on their order."""

from __future__ import annotations

from math import fsum

from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.analysis.measures.ratio import ExactSum, MeasuredRatio

FINITE = st.floats(-1e300, 1e300)


def test_empty_denominator_is_undefined() -> None:
    """If a denominator is 0, then the measure has no value, neither 0 nor 1."""
    assert MeasuredRatio(0, 0).value is None
    assert MeasuredRatio(5, 0).value is None
    assert MeasuredRatio(0, 5).value == 0.0


@given(st.lists(FINITE, max_size=50))
def test_sum_is_exact(values: list[float]) -> None:
    """If floats are added in any order, then the sum is that of `math.fsum`."""
    total = ExactSum()
    for value in values:
        total.add(value)
    assert total.value == fsum(values)
