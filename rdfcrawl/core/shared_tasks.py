"""Tasks with several waiting callers, and a memory for their results."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from time import monotonic
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

T = TypeVar("T")


class SharedTasks(Generic[T]):
    """Tasks by name; at most one runs for each name.

    Cancelling a caller does not cancel the task of the others.
    """

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Task[T]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._running

    async def run(self, name: str, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return the result of the task with a name; start it if none is running."""
        task = self._running.get(name)
        if task is None:
            task = self._running[name] = asyncio.create_task(start())
            task.add_done_callback(lambda _: self._running.pop(name, None))
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Cancel all tasks."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class SizedEntry(Protocol):
    """A value that knows its approximate size."""

    @property
    def n_bytes(self) -> int:
        """Bytes in memory."""


K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=SizedEntry)


class _Entry(NamedTuple, Generic[V]):
    value: V
    expires_at: float


class SizedMemory(Generic[K, V]):
    """Values by key with expiry, within limits of number and size."""

    def __init__(self, max_keys: int, max_bytes: int) -> None:
        self._max_keys, self._max_bytes = max_keys, max_bytes
        self._entries: OrderedDict[K, _Entry[V]] = OrderedDict()
        self._n_bytes = 0

    def fresh(self, key: K) -> V | None:
        """Return the value of a key, unless expired."""
        entry = self._entries.get(key)
        if entry is None or entry.expires_at <= monotonic():
            return None
        self._entries.move_to_end(key)
        return entry.value

    def last(self, key: K) -> V | None:
        """Return the value of a key, even if expired."""
        entry = self._entries.get(key)
        return None if entry is None else entry.value

    def keep(self, key: K, value: V, ttl_secs: float) -> None:
        """Store a value for a time; drop the least recently used ones."""
        if old := self._entries.pop(key, None):
            self._n_bytes -= old.value.n_bytes
        self._entries[key] = _Entry(value, monotonic() + ttl_secs)
        self._n_bytes += value.n_bytes
        while len(self._entries) > self._max_keys or self._n_bytes > self._max_bytes:
            _, dropped = self._entries.popitem(last=False)
            self._n_bytes -= dropped.value.n_bytes
