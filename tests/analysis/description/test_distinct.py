"""Counts of different things are exact while they are few, and good estimates then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.analysis.description import table
from rdfcrawl.analysis.description.table import (
    MAX_EXACT,
    STANDARD_ERROR,
    DistinctCount,
    hashes_of,
)

if TYPE_CHECKING:
    import random


def counted(numbers: range) -> DistinctCount:
    """Return the count of as many terms."""
    count = DistinctCount()
    count.add(hashes_of(b"<http://e.example/%d>" % number for number in numbers))
    return count


def test_count_is_exact_up_to_a_bound() -> None:
    """If there are no more than fit, the count is exact; one more is an estimate."""
    assert counted(range(MAX_EXACT)).cardinality == (MAX_EXACT, True)
    assert not counted(range(MAX_EXACT + 1)).cardinality.is_exact


def test_estimates_have_the_error_that_is_said() -> None:
    """If sets of any size are estimated, their errors are as the documents say."""
    errors = []
    for size in [1, 100, 5_000, 20_000, 40_000, 80_000]:
        for part in range(3):
            count = DistinctCount()
            count._registers = bytearray(1 << 14)
            count.add(hashes_of(b"%d %d" % (part, n) for n in range(size)))
            number, is_exact = count.cardinality
            assert not is_exact
            errors.append((number - size) / size)
    assert max(map(abs, errors)) < 3.5 * STANDARD_ERROR
    assert (sum(x * x for x in errors) / len(errors)) ** 0.5 < 1.2 * STANDARD_ERROR


def test_estimate_of_a_large_set() -> None:
    """If a set is far larger than what is counted exactly, the error stays as small."""
    size = 3 * MAX_EXACT
    number, _ = counted(range(size)).cardinality
    assert abs(number - size) < 3 * STANDARD_ERROR * size


@given(
    st.lists(st.lists(st.integers(0, 30), max_size=12), max_size=6),
    st.integers(1, 20),
    st.randoms(use_true_random=False),
)
def test_merging_is_counting_in_any_order(
    parts: list[list[int]], bound: int, chance: random.Random
) -> None:
    """If counts are merged, in any order, through files, they count the union."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "MAX_EXACT", bound)
        whole = DistinctCount()
        for part in parts:
            whole.add(hashes_of(b"%d" % number for number in part))
        counts = []
        for part in parts:
            count = DistinctCount()
            count.add(hashes_of(b"%d" % number for number in part))
            counts.append(DistinctCount.from_bytes(count.to_bytes()))
        chance.shuffle(counts)
        merged = DistinctCount()
        for count in counts:
            merged.merge(count)
        assert merged.to_bytes() == whole.to_bytes()
        size = len({number for part in parts for number in part})
        assert merged.cardinality == (size, size <= bound)
