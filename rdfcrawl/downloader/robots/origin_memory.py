"""A least-recently-used cache of values by origin, with expiry."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Generic, NamedTuple, Protocol, TypeVar


class SizedEntry(Protocol):
    """A value that knows its approximate size."""

    @property
    def n_bytes(self) -> int:
        """Bytes in memory."""


V = TypeVar("V", bound=SizedEntry)


class _Entry(NamedTuple, Generic[V]):
    value: V
    expires_at: float


class OriginMemory(Generic[V]):
    """Values by origin with expiry, within limits of number and size."""

    def __init__(self, max_origins: int, max_bytes: int) -> None:
        self._max_origins, self._max_bytes = max_origins, max_bytes
        self._entries: OrderedDict[str, _Entry[V]] = OrderedDict()
        self._n_bytes = 0

    def fresh(self, origin: str) -> V | None:
        """Return the value of an origin, unless expired."""
        entry = self._entries.get(origin)
        if entry is None or entry.expires_at <= time.monotonic():
            return None
        self._entries.move_to_end(origin)
        return entry.value

    def last(self, origin: str) -> V | None:
        """Return the value of an origin, even if expired."""
        entry = self._entries.get(origin)
        return None if entry is None else entry.value

    def keep(self, origin: str, value: V, ttl_secs: float) -> None:
        """Store a value for a time; drop the least recently used ones."""
        if old := self._entries.pop(origin, None):
            self._n_bytes -= old.value.n_bytes
        self._entries[origin] = _Entry(value, time.monotonic() + ttl_secs)
        self._n_bytes += value.n_bytes
        while len(self._entries) > self._max_origins or self._n_bytes > self._max_bytes:
            _, dropped = self._entries.popitem(last=False)
            self._n_bytes -= dropped.value.n_bytes
