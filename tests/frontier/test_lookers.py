"""Which workers look for the dead, and in which partitions."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.frontier.worker.worker import LOOKERS, own_partitions

NAMES = st.lists(st.text("abc0123456789-", min_size=1), min_size=1, unique=True)


def looked_at(live: list[str], n: int) -> Counter[int]:
    """Return how many workers look at each partition."""
    counts: Counter[int] = Counter()
    for worker in live:
        own = own_partitions(worker, live, n)
        counts.update(range(n) if own is None else own)
    return counts


@given(NAMES, st.integers(1, 64))
def test_each_partition_is_looked_at(live: list[str], n: int) -> None:
    """If any workers live, then each partition has two of them that look at it."""
    counts = looked_at(live, n)
    assert min(counts[number] for number in range(n)) >= min(LOOKERS, len(live))


@pytest.mark.parametrize(("n_workers", "n"), [(64, 16), (200, 256)])
def test_looks_do_not_grow_with_workers(n_workers: int, n: int) -> None:
    """If there are many workers, then all of them together look twice as ever."""
    live = [f"host{number % 7}-{4000 + number}" for number in range(n_workers)]
    assert set(looked_at(live, n).values()) == {LOOKERS}
    most = max(len(own_partitions(worker, live, n) or ()) for worker in live)
    assert most <= 8 * max(1, LOOKERS * n / n_workers)


def test_unknown_worker_looks_everywhere() -> None:
    """If others do not know of a worker, then that worker relies on none of them."""
    assert own_partitions("d", ["a", "b", "c"], 16) is None
