"""Tasks with several waiting callers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

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
