"""Which partitions a worker looks at first."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.frontier.partitions import home_partitions

_names = st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=6, unique=True)


@given(workers=_names, n_partitions=st.integers(1, 64))
def test_each_partition_has_one_home(workers: list[str], n_partitions: int) -> None:
    """If all see the same list, then each partition is the home of one worker."""
    homes = [
        p
        for worker in workers
        for p in home_partitions(worker, workers[::-1], n_partitions)
    ]
    assert sorted(homes) == list(range(n_partitions))


@given(workers=_names, n_partitions=st.integers(1, 64))
def test_a_worker_that_leaves_moves_its_own_share_only(
    workers: list[str], n_partitions: int
) -> None:
    """If a worker leaves, then the others keep all homes they had."""
    gone, *others = workers
    for worker in others:
        before = home_partitions(worker, workers, n_partitions)
        after = home_partitions(worker, others, n_partitions)
        assert set(before) <= set(after)
        taken = set(after) - set(before)
        assert taken <= set(home_partitions(gone, workers, n_partitions))


def test_a_worker_alone_has_all() -> None:
    """If the list lacks the worker itself, then it counts all the same."""
    assert home_partitions("me", [], 5) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("n_workers", [2, 4, 16])
def test_shares_are_fair(n_workers: int) -> None:
    """If there are many partitions, then no worker has more than twice its share."""
    workers = [f"host-{i}-abc" for i in range(n_workers)]
    sizes = Counter({w: len(home_partitions(w, workers, 1024)) for w in workers})
    assert sizes.total() == 1024
    assert max(sizes.values()) < 2 * 1024 / n_workers
    assert min(sizes.values()) > 1024 / n_workers / 2
