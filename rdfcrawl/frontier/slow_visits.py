"""Who has the places for slow visits, and which hosts are known to be slow.

Two kinds of visits are slow: those whose host keeps them waiting, and those of a long
transfer that comes forward. Half of the places is kept for each kind, and lent to the
other while it is free: hosts that are silent stop no dump, and dumps no silent host.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from time import monotonic
from typing import Final, Generic, TypeVar

V = TypeVar("V")

_REMEMBERED_SECS: Final = 600.0
_MOST_HOSTS: Final = 10_000


class SlowPlaces(Generic[V]):
    """The places for slow visits.

    >>> places = SlowPlaces[str](2)
    >>> [places.give(visit, flows=False) for visit in ("a", "b", "c")]
    [None, None, 'c']
    >>> places.give("dump", flows=True)
    'b'
    """

    def __init__(self, n_places: int) -> None:
        self._n_places = n_places
        self._flows: dict[V, bool] = {}  # in the order in which they came

    def __len__(self) -> int:
        return len(self._flows)

    def __contains__(self, visit: V) -> bool:
        return visit in self._flows

    def __iter__(self) -> Iterator[V]:
        return iter(self._flows)

    def keep(self, visits: AbstractSet[V]) -> None:
        """Take the places of all other visits, which have ended."""
        for visit in [each for each in self._flows if each not in visits]:
            del self._flows[visit]

    def drop(self, visit: V) -> None:
        """Take back a place, if the visit has one."""
        self._flows.pop(visit, None)

    @property
    def is_full(self) -> bool:
        """Whether all places are taken."""
        return len(self) >= self._n_places

    @property
    def has_room(self) -> bool:
        """Whether another one that waits would get a place of its kind."""
        n_waiting = sum(not flows for flows in self._flows.values())
        return len(self) < self._n_places or n_waiting < self._n_places // 2

    def give(self, visit: V, *, flows: bool) -> V | None:
        """Give a slow visit a place; return who has none now, if anybody.

        `flows` says that the visit is a transfer that makes progress.
        """
        if visit in self._flows or len(self) < self._n_places:
            self._flows[visit] = flows
            return None
        half = self._n_places // 2
        share = self._n_places - half if flows else half
        if sum(each is flows for each in self._flows.values()) >= share:
            return visit
        other = next(v for v, f in reversed(self._flows.items()) if f is not flows)
        del self._flows[other]
        self._flows[visit] = flows
        return other


class SlowHosts:
    """The hosts that were slow lately: their next visit is taken for slow at once."""

    def __init__(self) -> None:
        self._seen: OrderedDict[str, float] = OrderedDict()
        self._now: set[str] = set()  # slow in their present visit

    def __contains__(self, key: str) -> bool:
        now = monotonic()
        return now - self._seen.get(key, -_REMEMBERED_SECS) < _REMEMBERED_SECS

    def saw(self, key: str) -> None:
        """Take note that the visit of a host is slow."""
        self._now.add(key)
        self._seen[key] = monotonic()
        self._seen.move_to_end(key)
        if len(self._seen) > _MOST_HOSTS:
            self._seen.popitem(last=False)

    def end(self, key: str) -> None:
        """Take note that a visit is over; one that was quick clears its host."""
        if key in self._now:
            self._now.remove(key)
        elif self._seen:
            self._seen.pop(key, None)
