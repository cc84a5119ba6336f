"""Which partitions a worker looks at first (rendezvous hashing)."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def home_partitions(
    worker: str, workers: Sequence[str], n_partitions: int
) -> list[int]:
    """Return the partitions that a worker is the home of.

    Each partition belongs to the worker with the greatest hash of (worker,
    partition): all workers that see the same list agree, and a worker that comes or
    goes moves its own share only. A wrong view of the list costs empty polls, never
    correctness: a claim is atomic.

    Args:
        worker: this worker; counted among the workers even if the list lacks it.
        workers: the live workers.
        n_partitions: partitions of the crawl.
    """
    everyone = {*workers, worker}
    return [
        p
        for p in range(n_partitions)
        if worker == max(everyone, key=lambda name: (_weight(name, p), name))
    ]


@lru_cache(maxsize=16)  # asked for at each claim; workers come and go rarely
def homes_and_others(
    worker: str, workers: tuple[str, ...], n_partitions: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the home partitions of a worker, and all others."""
    home = home_partitions(worker, workers, n_partitions)
    return tuple(home), tuple(sorted({*range(n_partitions)} - {*home}))


def _weight(worker: str, partition: int) -> bytes:
    return blake2b(f"{worker}\0{partition}".encode(), digest_size=8).digest()
