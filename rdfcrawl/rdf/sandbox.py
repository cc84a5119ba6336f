"""Parsing in bounded child processes: for documents that are large or hostile.

A child has a limit of memory and, per document, of CPU time; it may open no socket,
start no process and write no file, and its environment holds no secrets. When it
is stopped or crashes, what it had read is kept and the next document gets a new one.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from rdfcrawl import formats
from rdfcrawl.errors import Fault, Reason
from rdfcrawl.rdf.child import HEADER
from rdfcrawl.rdf.limits import DEFAULT_LIMITS, ParseLimits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from rdfcrawl.rdf.graphs import Trust

MEMORY_BYTES = 2**30
# The CPU clock of the child is the limit. These only tell a child that hangs from
# one that shares its CPU with many: no answer for so long ends it.
_SILENCE_FACTOR = 4
_LEAST_SILENCE_SECS = 10.0
_FORMATS = {each.name: each for each in formats.FORMATS}
_START = "from rdfcrawl.rdf.child import main; main()"


@dataclass(frozen=True, slots=True, eq=False)
class _Child:
    """A process with its two pipes."""

    process: Process
    jobs: asyncio.StreamWriter
    answers: asyncio.StreamReader

    async def end(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
        self.jobs.close()
        await self.process.wait()


class Sandbox:
    """A pool of child processes that parse; use it as `async with`.

    Args:
        n: children at most; more documents than that wait for their turn.
        memory_bytes: address space of each child.
    """

    def __init__(self, n: int = 1, *, memory_bytes: int = MEMORY_BYTES) -> None:
        self._turns = asyncio.Semaphore(n)
        self._memory_bytes = memory_bytes
        self._idle: list[_Child] = []
        self._is_closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End the children that are idle; those at work end with their document."""
        self._is_closed = True
        while self._idle:
            await self._idle.pop().end()

    async def parse(
        self,
        path: Path,
        *,
        url: str,
        graph: str | None,
        media_type: str = "",
        charset: str = "",
        base: str | None = None,
        trust: Trust = "same-origin",
        limits: ParseLimits = DEFAULT_LIMITS,
    ) -> SandboxedParse:
        """Return the N-Quads of one document, as `rdf.parse.parse` does.

        It waits for a free child. The child is taken until the answer is read to
        its end or closed.

        Raises:
            OSError: the file cannot be read, or no child can be started.
        """
        n_bytes = path.stat().st_size
        job = {
            "path": os.fspath(path.absolute()),
            "url": url,
            "graph": graph,
            "media_type": media_type,
            "charset": charset,
            "base": base,
            "trust": trust,
            "limits": asdict(limits),
        }
        await self._turns.acquire()
        child: _Child | None = None
        try:
            child = await self._take()
            secs = limits.secs + limits.secs_per_mb * n_bytes / 1e6
            silence_secs = max(secs * _SILENCE_FACTOR, _LEAST_SILENCE_SECS)
            document = SandboxedParse(self, child, silence_secs)
            await document._begin(child, job)  # noqa: SLF001
        except BaseException:
            if child is not None:
                await child.end()
            self._turns.release()
            raise
        return document

    async def _take(self) -> _Child:
        while self._idle:
            child = self._idle.pop()
            if child.process.returncode is None:
                return child
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-c", _START, str(self._memory_bytes)),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,  # a crash may quote the document
            env=_environment(),
        )
        if process.stdin is None or process.stdout is None:
            raise OSError("a child without pipes")
        return _Child(process, process.stdin, process.stdout)

    async def _give_back(self, child: _Child, *, is_sound: bool) -> None:
        if is_sound and not self._is_closed:
            self._idle.append(child)
        else:
            await child.end()
        self._turns.release()


class SandboxedParse:
    """One document being read in a child: iterate it once, over chunks of N-Quads.

    Attributes:
        format: what the document is read as; unset if it is not RDF.
        decided_by: what told the format; empty if the child crashed before.
        faults: all that was wrong; complete after iteration.
        n_quads: statements handed out so far.
        is_partial: reading ended before the end of the document.
    """

    def __init__(self, sandbox: Sandbox, child: _Child, silence_secs: float) -> None:
        self.format: formats.Format | None = None
        self.decided_by = ""
        self.faults: list[Fault] = []
        self.n_quads = 0
        self.is_partial = False
        self._sandbox, self._silence_secs = sandbox, silence_secs
        self._child: _Child | None = child

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the chunks; the child waits while nobody asks for more."""
        try:
            while self._child is not None:
                kind, payload = await self._receive(self._child)
                if kind == b"C":
                    self.n_quads += payload.count(b"\n")
                    yield payload
                elif kind == b"E":
                    await self._finish(json.loads(payload))
        finally:
            await self.close()

    async def close(self) -> None:
        """Give up what was not read: the child ends, the turn is passed on."""
        child, self._child = self._child, None
        if child is not None:
            await self._sandbox._give_back(child, is_sound=False)  # noqa: SLF001

    async def _begin(self, child: _Child, job: dict[str, Any]) -> None:
        payload = json.dumps(job).encode()
        child.jobs.write(HEADER.pack(b"J", len(payload)) + payload)
        with suppress(ConnectionError):
            await child.jobs.drain()
        kind, answer = await self._receive(child)
        if kind == b"F":
            decision = json.loads(answer)
            self.format = _FORMATS.get(decision["format"])
            self.decided_by = decision["decided_by"]

    async def _receive(self, child: _Child) -> tuple[bytes, bytes]:
        """Return the next frame; an empty one after the child failed."""
        try:
            async with asyncio.timeout(self._silence_secs):
                header = await child.answers.readexactly(HEADER.size)
                kind, length = HEADER.unpack(header)
                return kind, await child.answers.readexactly(length)
        except TimeoutError:
            await self._fail(Fault(Reason.PARSE_SECS, "no answer from the parser"))
        except (asyncio.IncompleteReadError, ConnectionError):
            code = await child.process.wait()
            if code == -signal.SIGXCPU:
                await self._fail(Fault(Reason.PARSE_SECS, "CPU time used up"))
            else:
                await self._fail(Fault(Reason.PARSE_CRASH, f"exit status {code}"))
        return b"", b""

    async def _fail(self, fault: Fault) -> None:
        self.faults.append(fault)
        self.is_partial = True
        await self.close()

    async def _finish(self, outcome: dict[str, Any]) -> None:
        self.faults += (
            Fault(Reason(reason), detail, count)
            for reason, detail, count in outcome["faults"]
        )
        self.is_partial = outcome["is_partial"]
        child, self._child = self._child, None
        if child is not None:
            await self._sandbox._give_back(child, is_sound=True)  # noqa: SLF001


def _environment() -> dict[str, str]:
    """Return what a child needs to find the same modules, and nothing else."""
    return {
        # An egg or a checkout is on the path of this process only.
        "PYTHONPATH": os.pathsep.join(entry or os.getcwd() for entry in sys.path),  # noqa: PTH109
        "PYTHONDONTWRITEBYTECODE": "1",
        "LANG": "C.UTF-8",
    }
