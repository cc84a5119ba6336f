"""Work of the page that could take long, in processes of its own."""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Self

from rdfcrawl.core.processes import bare_environment, start_module_async

if TYPE_CHECKING:
    from collections.abc import Mapping

_LINE_BYTES: Final = 64 * 1024 * 1024  # the longest line that a child may write


class PageChild:
    """A process that is given one job, and answers in lines of JSON.

    Args:
        process: started.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, module: str, job: Mapping[str, object]) -> Self:
        """Return a new process that has its job.

        Args:
            module: that is run, by its dotted name.
            job: what JSON has.

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

    async def answer(self, secs: float) -> dict[str, Any] | None:
        """Return the next line; None if the process has ended without.

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
        """End the process, whatever goes on in there."""
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
