"""Which partitions a worker looks at first."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.frontier.queue.candidate import machine_of, poll_plan

_names = st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=6, unique=True)


@given(workers=_names, n_partitions=st.integers(1, 64))
def test_each_partition_has_one_home(workers: list[str], n_partitions: int) -> None:
    """If all see the same list, then each partition is the home of one worker."""
    homes = [
        p
        for worker in workers
        for p in poll_plan(worker, tuple(workers[::-1]), n_partitions).home
    ]
    assert sorted(homes) == list(range(n_partitions))


def places(workers: list[str], n_partitions: int) -> dict[int, str]:
    """Return the worker that each partition is at home with."""
    return {
        p: worker
        for worker in workers
        for p in poll_plan(worker, tuple(workers), n_partitions).home
    }


_fleets = st.lists(st.integers(1, 4), min_size=2, max_size=5).map(
    lambda sizes: [f"m{m}-{n}-abc" for m, size in enumerate(sizes) for n in range(size)]
)


@pytest.mark.parametrize("n_partitions", [16, 64, 256])
def test_a_worker_that_leaves_moves_little(n_partitions: int) -> None:
    """If one of twelve workers leaves, then most partitions stay on their machines."""
    workers = [f"m{n % 4}-{n}-abc" for n in range(12)]
    moved = 0
    for gone in workers:
        before = places(workers, n_partitions)
        after = places([each for each in workers if each != gone], n_partitions)
        moved += sum(machine_of(before[p]) != machine_of(after[p]) for p in before)
    assert moved / len(workers) / n_partitions < 0.25


@given(workers=_fleets, n_partitions=st.integers(1, 64), data=st.data())
def test_a_worker_that_is_started_anew_moves_nothing_to_another_machine(
    workers: list[str], n_partitions: int, data: st.DataObject
) -> None:
    """If a worker comes back under a new name, then all stays on its machine."""
    gone = data.draw(st.sampled_from(workers))
    anew = [*(x for x in workers if x != gone), f"{machine_of(gone)}-99-def"]
    before, after = places(workers, n_partitions), places(anew, n_partitions)
    for p, worker in before.items():
        assert machine_of(worker) == machine_of(after[p])


@given(workers=_fleets, n_partitions=st.integers(1, 64))
def test_nobody_has_more_than_its_share(workers: list[str], n_partitions: int) -> None:
    """If partitions are few, then a machine has no more than its workers' share."""
    homes = places(workers, n_partitions)
    for machine, n in Counter(map(machine_of, homes.values())).items():
        n_workers = sum(machine_of(each) == machine for each in workers)
        assert n <= math.ceil(n_partitions * n_workers / len(workers))


def test_a_worker_alone_has_all() -> None:
    """If the list lacks the worker itself, then it counts all the same."""
    assert poll_plan("me", (), 5).home == (0, 1, 2, 3, 4)


@pytest.mark.parametrize("n_workers", [2, 4, 16])
def test_shares_are_fair(n_workers: int) -> None:
    """If there are many partitions, then no worker has more than twice its share."""
    workers = [f"host-{i}-abc" for i in range(n_workers)]
    sizes = Counter({w: len(poll_plan(w, tuple(workers), 1024).home) for w in workers})
    assert sizes.total() == 1024
    assert max(sizes.values()) < 2 * 1024 / n_workers
    assert min(sizes.values()) > 1024 / n_workers / 2
