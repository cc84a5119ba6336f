"""Partitions: the queue of a politeness key, and the workers that poll it first.

A key is in the partition of its registered domain. A giant domain has some keys in its
partition. The others are away, spread over all other partitions by hash. The domain's
partition decides once which keys are away (`lua/add.lua`) and marks them; this module
only remembers them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from math import log
from typing import TYPE_CHECKING, Final, NamedTuple
from zlib import crc32

from rdfcrawl.uri import partition_of

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.candidate import Candidate
    from rdfcrawl.frontier.redis.server_state import ServerState

_MAX_KNOWN: Final = 100_000
# Buckets of registered domains per partition, which stay compact up to about a hundred
# domains each.
_DOMAIN_BUCKETS: Final = 128


def away_partition(key: str, n_partitions: int) -> int:
    """Return the partition of a key that is away: never that of its domain."""
    home = partition_of(key, n_partitions)
    if n_partitions == 1:
        return home
    digest = int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big")
    return (home + 1 + digest % (n_partitions - 1)) % n_partitions


def bucket_of(group: str) -> int:
    """Return where a partition counts the hosts of a registered domain or address."""
    return crc32(group.encode()) % _DOMAIN_BUCKETS


class KeyLocations:
    """The keys that are away, as far as this worker knows."""

    def __init__(self, state: ServerState) -> None:
        self.n_partitions = 1  # of the crawl
        self.away: dict[str, int] = {}  # key -> partition
        self._state = state
        self._n_restores = state.n_restores

    def of(self, key: str) -> int:
        """Return the partition of a key: that of its domain, unless it is away."""
        found = self.away.get(key) if self.away else None
        return partition_of(key, self.n_partitions) if found is None else found

    def note_away(self, key: str) -> int:
        """Record that a key is away, and return its partition."""
        found = self.away.get(key)
        if found is None:
            if len(self.away) >= _MAX_KNOWN:
                self.away.clear()
            found = self.away[key] = away_partition(key, self.n_partitions)
        return found

    def refresh(self) -> None:
        """Forget all keys that are away, after a possible loss of data."""
        if self._n_restores != self._state.n_restores:
            self._n_restores = self._state.n_restores
            self.away.clear()

    def partitions(self, candidates: Iterable[Candidate]) -> set[int]:
        """Return the partitions in which candidates were queued."""
        away = self.away
        if not away:
            return {candidate.partition for candidate in candidates}
        return {away.get(each.key, each.partition) for each in candidates}


def machine_of(worker: str) -> str:
    """Return the machine in the name of a worker (`CrawlOptions`)."""
    return worker.rsplit("-", 2)[0]


def home_partitions(
    worker: str, workers: Sequence[str], n_partitions: int
) -> list[int]:
    """Return the partitions that a worker polls first, by rendezvous hashing.

    Each machine is home to partitions in proportion to its number of workers, and each
    partition to one of these. So a restarted worker, under another name, leaves all
    partitions and the stored documents of their hosts on their machines. Workers that
    see the same list agree. A wrong list only costs empty polls, as claims are atomic.
    `worker` counts as live even if the list lacks it.
    """
    return list(_homes(worker, tuple(workers), n_partitions)[0])


class PollPlan(NamedTuple):
    """The partitions of a crawl from the view of one worker."""

    home: tuple[int, ...]  # its own
    near: tuple[int, ...]  # of other workers on this machine
    away: tuple[int, ...]  # of other machines


@lru_cache(maxsize=16)  # called at each claim; the list of workers rarely changes
def poll_plan(worker: str, workers: tuple[str, ...], n_partitions: int) -> PollPlan:
    """Return the partitions of a worker, of its machine, and of other machines."""
    home, of_machine = _homes(worker, workers, n_partitions)
    near = tuple(p for p in of_machine if p not in home)
    away = tuple(sorted({*range(n_partitions)} - {*of_machine}))
    return PollPlan(home, near, away)


def _homes(
    worker: str, workers: tuple[str, ...], n_partitions: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the partitions of a worker, and those of its machine."""
    machines: defaultdict[str, set[str]] = defaultdict(set)
    for name in (*workers, worker):
        machines[machine_of(name)].add(name)
    mine = machine_of(worker)
    sizes = {name: len(names) for name, names in machines.items()}
    of_machine = _at_home(mine, sizes, range(n_partitions))
    return _at_home(worker, dict.fromkeys(machines[mine], 1), of_machine), of_machine


def _at_home(
    name: str, sizes: Mapping[str, int], partitions: Sequence[int]
) -> tuple[int, ...]:
    """Return the partitions of one member, in proportion to the sizes of all.

    No member has more than its share, rounded up: with few partitions, hashing alone
    may give one three times as many as another.
    """
    total = sum(sizes.values())
    room = {each: -(-len(partitions) * size // total) for each, size in sizes.items()}
    found = []
    for p in partitions:
        best = max(room, key=lambda each: (_share(each, p, sizes[each]), each))
        room[best] -= 1
        if not room[best]:
            del room[best]
        if best == name:
            found.append(p)
    return tuple(found)


def _share(name: str, partition: int, size: int) -> float:
    """Return a score that is the highest in proportion to the size of a member.

    This is weighted rendezvous hashing, by the logarithm method.
    """
    digest = int.from_bytes(_weight(name, partition), "big")
    return -size / log((digest + 0.5) / 2**64)


def _weight(worker: str, partition: int) -> bytes:
    return blake2b(f"{worker}\0{partition}".encode(), digest_size=8).digest()
