"""Child processes for slow work of the page."""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, Self

from rdfcrawl.core.processes import bare_environment, start_module_async

_LINE_BYTES: Final = 64 * 1024 * 1024  # longest line of a child


class PageChild:
    """A process that gets one job, and responds in lines of JSON.

    Args:
        process: started.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, module: str, job: Mapping[str, object]) -> Self:
        """Start a process with a job.

        Args:
            module: to run, by its dotted name.
            job: JSON values.

        Raises:
            OSError: no process can be started.
        """
        process = await start_module_async(
            module,
            job=job,
            stdout=PIPE,
            stderr=DEVNULL,  # a crash may quote the crawled data
            limit=_LINE_BYTES,
            env=bare_environment(),
        )
        return cls(process)

    async def next_line(self, secs: float) -> dict[str, Any] | None:
        """Return the next line; None if the process has ended without one.

        Raises:
            TimeoutError: there was none in time.
        """
        if self._process.stdout is None:
            return None
        async with asyncio.timeout(secs):
            try:
                line = await self._process.stdout.readline()
            except ValueError:  # it was too long
                return None
        found: dict[str, Any] | None = json.loads(line) if line else None
        return found

    async def end(self) -> None:
        """Kill the process."""
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
