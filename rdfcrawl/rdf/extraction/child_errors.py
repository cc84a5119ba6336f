"""Standard error of a reading child process, and the causes of its death."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING, Final, Self

from rdfcrawl.core.errors import Fault, Reason, one_line

if TYPE_CHECKING:
    from asyncio.subprocess import Process

_MOST_BYTES: Final = 4096  # kept per document, from the end
_EXIT_SECS: Final = 5.0  # for reading the pipe of a dead process
# Written by Rust and Python when the child reaches its memory limit.
_OUT_OF_MEMORY: Final = ("memory allocation of ", "MemoryError")


class ChildErrors(asyncio.Protocol):
    """Reader of the standard error of a child, which must never block.

    Only the last `_MOST_BYTES` are kept: a document may make a library write more.
    """

    def __init__(self) -> None:
        self._tail = b""
        self._transport: asyncio.BaseTransport | None = None
        self._is_over = asyncio.Event()

    @classmethod
    async def open(cls) -> tuple[Self, int]:
        """Return the reader and the descriptor for the child to write to.

        The caller closes the descriptor once the child has it.
        """
        reading_end, writing_end = os.pipe()
        file = os.fdopen(reading_end, "rb", 0)
        _, errors = await asyncio.get_running_loop().connect_read_pipe(cls, file)
        return errors, writing_end

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport for `close`."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Keep the end of the output."""
        self._tail = (self._tail + data)[-_MOST_BYTES:]

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the child has ended or closed its end."""
        del exc
        self._is_over.set()

    def take(self) -> list[str]:
        """Return the lines since the last call, without empty ones."""
        tail, self._tail = self._tail, b""
        lines = tail.decode(errors="backslashreplace").splitlines()
        return [line.rstrip() for line in lines if line.strip()]

    async def last_lines(self) -> list[str]:
        """Return the lines since the last call to `take`, of a child that has ended."""
        try:
            async with asyncio.timeout(_EXIT_SECS):
                await self._is_over.wait()
        except TimeoutError:  # another process inherited the pipe and keeps it open
            pass
        return self.take()

    def close(self) -> None:
        """Stop reading."""
        if self._transport is not None:
            self._transport.close()


async def fault_of_death(process: Process, lines: list[str], part: str) -> Fault:
    """Return the fault of a document whose child has ended.

    A limit reached by the document is a fault of the document; any other death is an
    internal fault.

    Args:
        process: of the child.
        lines: of its standard error.
        part: name of the child in the fault.
    """
    code = await process.wait()
    if code == -signal.SIGXCPU:
        return Fault(Reason.PARSE_SECS, "CPU time used up")
    if line := next((x for x in lines if any(y in x for y in _OUT_OF_MEMORY)), ""):
        return Fault(Reason.TOO_LARGE, one_line(f"needs too much memory: {line}"))
    last = lines[-1] if lines else ""
    how = f"exit status {code}"
    if code < 0:
        how = f"ended by {signal.Signals(-code).name}"
    if code == -signal.SIGKILL:  # not by the parser: by the system or a person
        return Fault(Reason.INTERNAL, f"the reading process was {how}", part=part)
    return Fault(
        Reason.PARSE_CRASH, one_line(f"{how}: {last}" if last else how), part=part
    )
