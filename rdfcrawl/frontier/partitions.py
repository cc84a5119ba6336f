"""Partitions: where a politeness key is queued, and which worker polls first.

A key lies in the partition of its registered domain. A domain of very many hosts has
some of them in its own partition. The others are away, spread over all other
partitions by a hash. Which hosts are away is decided once, in the domain's own
partition (`lua/add.lua`), where they are marked; here it is only remembered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Final
from zlib import crc32

from rdfcrawl.uri import partition_of

if TYPE_CHECKING:
    from rdfcrawl.frontier.candidate import Candidate
    from rdfcrawl.frontier.server_state import ServerState

_MAX_KNOWN: Final = 100_000
# Registered domains are counted in so many hashes of a partition, which stay compact
# as long as there are not a hundred times as many of them.
_DOMAIN_BUCKETS: Final = 128


def away_partition(key: str, n_partitions: int) -> int:
    """Return the partition of a key that is away: any but its domain's."""
    home = partition_of(key, n_partitions)
    if n_partitions == 1:
        return home
    digest = int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big")
    return (home + 1 + digest % (n_partitions - 1)) % n_partitions


def bucket_of(group: str) -> int:
    """Return where a partition counts the hosts of a registered domain or address."""
    return crc32(group.encode()) % _DOMAIN_BUCKETS


class KeyLocations:
    """Which keys are away, as far as this worker was told."""

    def __init__(self, state: ServerState) -> None:
        self.n_partitions = 1  # of the crawl
        self.away: dict[str, int] = {}  # key -> partition
        self._state = state
        self._n_restores = state.n_restores

    def of(self, key: str) -> int:
        """Return the partition of a key: that of its domain, if no other is known."""
        found = self.away.get(key) if self.away else None
        return partition_of(key, self.n_partitions) if found is None else found

    def note_away(self, key: str) -> int:
        """Take note that a key is away, and return its partition."""
        found = self.away.get(key)
        if found is None:
            if len(self.away) >= _MAX_KNOWN:
                self.away.clear()
            found = self.away[key] = away_partition(key, self.n_partitions)
        return found

    def refresh(self) -> None:
        """Forget all that was told before the server may have lost data."""
        if self._n_restores != self._state.n_restores:
            self._n_restores = self._state.n_restores
            self.away.clear()

    def partitions(self, candidates: Iterable[Candidate]) -> set[int]:
        """Return the partitions in which candidates were queued."""
        away = self.away
        if not away:
            return {candidate.partition for candidate in candidates}
        return {away.get(each.key, each.partition) for each in candidates}


def home_partitions(
    worker: str, workers: Sequence[str], n_partitions: int
) -> list[int]:
    """Return the partitions that a worker polls first, by rendezvous hashing.

    Workers that see the same list agree, and a worker that comes or goes moves its own
    share only. A wrong list costs empty polls, never correctness, as a claim is atomic.
    `worker` counts as live even if the list lacks it.
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
