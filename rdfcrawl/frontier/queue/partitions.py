"""Partitions: where a politeness key is queued, and which worker polls first.

A key lies in the partition of its registered domain. A domain of very many hosts has
some of them in its own partition. The others are away, spread over all other
partitions by a hash. Which hosts are away is decided once, in the domain's own
partition (`lua/add.lua`), where they are marked; here it is only remembered.
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


def machine_of(worker: str) -> str:
    """Return the machine that the name of a worker begins with (`CrawlOptions`)."""
    return worker.rsplit("-", 2)[0]


def home_partitions(
    worker: str, workers: Sequence[str], n_partitions: int
) -> list[int]:
    """Return the partitions that a worker polls first, by rendezvous hashing.

    Each is at home on a machine, which has as many as it has workers, and there with
    one of these. So a worker that is started anew, under another name, leaves all
    partitions on their machines, and with them what is stored of their hosts.
    Workers that see the same list agree. A wrong list costs empty polls, never
    correctness, as a claim is atomic. `worker` counts as live even if the list lacks
    it.
    """
    return list(_homes(worker, tuple(workers), n_partitions)[0])


class PollPlan(NamedTuple):
    """The partitions of a crawl as one worker sees them."""

    home: tuple[int, ...]  # its own
    near: tuple[int, ...]  # of other workers on its machine
    away: tuple[int, ...]  # of other machines


@lru_cache(maxsize=16)  # asked for at each claim; workers come and go rarely
def poll_plan(worker: str, workers: tuple[str, ...], n_partitions: int) -> PollPlan:
    """Return which partitions are at home with a worker, on its machine, elsewhere."""
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
    """Return the partitions of one of several, who have them by their sizes.

    Nobody has more than its share, rounded up: with few partitions, hashing alone gives
    one thrice as many as another.
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
    """Return what is the greatest of all as often as the size of one is great.

    This is weighted rendezvous hashing, by the logarithm method.
    """
    digest = int.from_bytes(_weight(name, partition), "big")
    return -size / log((digest + 0.5) / 2**64)


def _weight(worker: str, partition: int) -> bytes:
    return blake2b(f"{worker}\0{partition}".encode(), digest_size=8).digest()
