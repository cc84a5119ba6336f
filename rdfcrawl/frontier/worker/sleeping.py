"""Waits of a worker between its requests."""

from __future__ import annotations

import asyncio
from typing import Protocol


class WorkerSleep(Protocol):
    """Waits that may end when the worker stops."""

    is_stopping: bool

    async def sleep(self, secs: float) -> None:
        """Wait for `secs`, or until the worker stops."""


class PlainSleep:
    """Waits that do not end when the worker stops."""

    is_stopping = False

    async def sleep(self, secs: float) -> None:
        """Wait for `secs`."""
        await asyncio.sleep(secs)
