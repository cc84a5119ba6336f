"""Read large or hostile documents in child processes.

A child has a limit of memory and, per document, of CPU time; it cannot open sockets,
start processes or write to files except one for scratch. An audit hook and, if
supported, the kernel enforce this (see `confinement`). Its environment holds no
secrets. If a child is stopped or crashes, its output is kept and the next document gets
a new child.

A pool of children belongs to a crawl, or to an event loop: the latter ends with its
loop, as in `asyncio.run`, or with this process.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Hashable,
    Sequence,
)
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from rdfcrawl.core.content import QuadChunk
from rdfcrawl.core.errors import OWN, Fault, Reason, SourceFault, one_line, safe_text
from rdfcrawl.core.processes import bare_environment
from rdfcrawl.rdf.extraction.messages import (
    HEADER,
    PIPE_BYTES,
    Confinement,
    ExtractOutcome,
    ReadingJob,
    decode_chunk,
)
from rdfcrawl.rdf.output import quad_chunks

if TYPE_CHECKING:
    from rdfcrawl.rdf.environment import ContextDocument
    from rdfcrawl.rdf.extraction.options import ExtractOptions
    from rdfcrawl.rdf.html.extractors import CustomExtractor

    LoadContext = Callable[..., Awaitable[ContextDocument]]


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


logger = logging.getLogger(__name__)

MEMORY_BYTES = 2**30
SCRATCH_BYTES = 50 * 2**30
# The CPU clock of the child is the limit. These detect a child that hangs, as opposed
# to one on a busy CPU: a longer silence ends it.
_SILENCE_FACTOR = 4
_LEAST_SILENCE_SECS = 10.0
_MOST_REPORTED = 100  # documents whose children write to standard error
_KEPT_BYTES = str(16 * 2**20)  # of memory, free or not
_START = "from rdfcrawl.rdf.extraction.child import main; main()"


async def no_contexts(url: str, *, document_url: str) -> ContextDocument:
    """Refuse every context that is not bundled.

    Raises:
        SourceFault: `REMOTE_CONTEXT`.
    """
    del document_url
    raise SourceFault(Reason.REMOTE_CONTEXT, url)


@dataclass(frozen=True, slots=True, eq=False)
class _Child:
    """A process with its pipes."""

    process: Process
    jobs: asyncio.StreamWriter
    frames: asyncio.StreamReader
    errors: ChildErrors

    async def send(self, kind: bytes, payload: bytes) -> None:
        self.jobs.write(HEADER.pack(kind, len(payload), 0) + payload)
        with suppress(ConnectionError):
            await self.jobs.drain()

    async def end(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
        self.jobs.close()
        # `wait` would block on the end of a pipe that is not read while the buffer of
        # the reader is full.
        await self.process.communicate()
        self.errors.close()


@dataclass(eq=False)
class Sandbox:
    """A pool of reading child processes, used with `async with`.

    Args:
        n: maximum of children; further documents wait for a free one.
        memory_bytes: address space of each child.
        scratch_dir: of the children's scratch files; the system's if unset.
        scratch_bytes: longest scratch file of each child.
        load_context: loads JSON-LD contexts that are not bundled.
        custom: custom extractors, imported at the start of a child.
        confinement: required confinement by the kernel.
        on_confined: called for each child with its confinement by the kernel, such as
            `landlock+seccomp`, or `process` without.
    """

    n: int = 1
    _: KW_ONLY
    memory_bytes: int = MEMORY_BYTES
    scratch_dir: Path | None = None
    scratch_bytes: int = SCRATCH_BYTES
    load_context: LoadContext = no_contexts
    custom: Sequence[CustomExtractor] = ()
    confinement: Confinement = Confinement.AUTO
    on_confined: Callable[[str], object] = str
    _idle: list[_Child] = field(default_factory=list, init=False)
    _n_reported: int = field(default=0, init=False)
    _is_closed: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Make the turns of documents."""
        self._turns = asyncio.Semaphore(self.n)

    @classmethod
    def of(cls, options: ExtractOptions, **more: Any) -> Self:
        """Return a pool with the limits of options, and more arguments."""
        return cls(
            memory_bytes=options.memory_bytes,
            scratch_bytes=options.unpack.n_bytes,
            custom=options.custom,
            confinement=options.confinement,
            **more,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End the idle children; busy ones end with their document."""
        self._is_closed = True
        while self._idle:
            await self._idle.pop().end()

    async def read(
        self,
        source: bytes | Path,
        job: ReadingJob,
        *,
        load_context: LoadContext | None = None,
    ) -> SandboxedReading:
        """Return the N-Quads of one document, like `reading.DocumentReading`.

        Waits for a free child, which is busy until the result is exhausted or closed.
        `load_context` overrides that of the pool.

        Raises:
            OSError: the file cannot be read, or no child can be started.
        """
        n_bytes = source.stat().st_size if isinstance(source, Path) else len(source)
        await self._turns.acquire()
        child: _Child | None = None
        try:
            child = await self._acquire()
            await child.send(b"J", job.to_bytes())
            if isinstance(source, Path):
                await child.send(b"P", os.fsencode(source.absolute()))
            else:
                await child.send(b"B", source)
        except BaseException:
            if child is not None:
                await child.end()
            self._turns.release()
            raise
        secs = job.limits.secs + job.limits.secs_per_mb * n_bytes / 1e6
        silence_secs = max(secs * _SILENCE_FACTOR, _LEAST_SILENCE_SECS)
        load = partial(load_context or self.load_context, document_url=job.url)
        return SandboxedReading(self, child, job.url, silence_secs, load)

    async def _acquire(self) -> _Child:
        while self._idle:
            child = self._idle.pop()
            if child.process.returncode is None:
                return child
        errors, stderr = await ChildErrors.open()
        try:
            process = await self._start(stderr)
        finally:
            os.close(stderr)  # if no child was started, this ends the reader
        if process.stdin is None or process.stdout is None:
            raise OSError("a child without pipes")
        return _Child(process, process.stdin, process.stdout, errors)

    async def _start(self, stderr: int) -> Process:
        with tempfile.TemporaryFile(dir=self.scratch_dir) as scratch:
            return await asyncio.create_subprocess_exec(
                sys.executable,
                *("-c", _START),
                *map(str, (self.memory_bytes, scratch.fileno(), self.scratch_bytes)),
                self.confinement,
                *(each.path for each in self.custom),
                stdin=PIPE,
                stdout=PIPE,
                stderr=stderr,
                limit=PIPE_BYTES,
                env=_environment(),
                pass_fds=(scratch.fileno(),),
            )

    def log_errors(self, url: str, lines: Sequence[str], fault: Fault | None) -> None:
        """Log the standard error of a child, and its fault, if any.

        The text may quote the document: control characters are escaped, and the number
        of documents is limited.
        """
        is_own = fault is not None and fault.reason in OWN
        if not (lines or is_own) or self._n_reported > _MOST_REPORTED:
            return
        self._n_reported += 1
        if self._n_reported > _MOST_REPORTED:
            logger.warning("Further output of reading processes is not logged")
            return
        found = [fault.detail, *lines] if fault else lines
        text = safe_text(" | ".join(found))
        log = logger.error if is_own else logger.warning
        log("%s: reading process: %s", safe_text(url), text)

    async def _release(self, child: _Child, *, is_sound: bool) -> None:
        if is_sound and not self._is_closed:
            self._idle.append(child)
        else:
            await child.end()
        self._turns.release()


@dataclass(eq=False)
class SandboxedReading:
    """A document being read in a child; iterate once, over chunks of N-Quads.

    `outcome` is complete after iteration.
    """

    _sandbox: Sandbox
    _child: _Child | None
    _url: str
    _silence_secs: float
    _load_context: Callable[[str], Awaitable[ContextDocument]]
    outcome: ExtractOutcome = field(default_factory=ExtractOutcome, init=False)
    _n_quads: int = field(default=0, init=False)
    # the child reads no further document
    _is_last: bool = field(default=False, init=False)

    async def __aiter__(self) -> AsyncIterator[QuadChunk]:
        """Yield the chunks; the child waits for the consumer.

        Raises:
            OSError: the disk of the scratch files refuses data for now.
        """
        try:
            while self._child is not None:
                kind, payload = await self._receive(self._child)
                if kind == b"C":
                    for lines in quad_chunks(payload):
                        yield QuadChunk(lines)
                elif kind == b"Z":
                    yield decode_chunk(payload)
                elif kind == b"L":
                    await self._send_context(self._child, payload.decode())
                elif kind == b"S":
                    self._sandbox.on_confined(payload.decode())
                elif kind == b"F":
                    self.outcome = ExtractOutcome.from_json(payload)
                elif kind == b"E":
                    await self._finish(ExtractOutcome.from_json(payload))
                elif kind == b"D":
                    await self._finish(self.outcome)
                    raise OSError(int(payload), f"scratch: {os.strerror(int(payload))}")
        finally:
            await self.close()

    async def close(self) -> None:
        """Discard the rest of the document: the child ends, the next job may begin."""
        child, self._child = self._child, None
        if child is not None:
            await self._sandbox._release(child, is_sound=False)  # noqa: SLF001

    async def _send_context(self, child: _Child, url: str) -> None:
        try:
            context = await self._load_context(url)
        except SourceFault as error:
            await child.send(b"R", error.fault.detail.encode(errors="replace"))
        else:
            final_url = context.url.encode(errors="replace")
            await child.send(b"K", final_url + b"\n" + context.content)

    async def _receive(self, child: _Child) -> tuple[bytes, bytes]:
        """Return the next frame; an empty one after a failure of the child."""
        try:
            async with asyncio.timeout(self._silence_secs):
                header = await child.frames.readexactly(HEADER.size)
                kind, length, n_quads = HEADER.unpack(header)
                payload = await child.frames.readexactly(length)
                if kind in (b"C", b"Z"):
                    self._n_quads = n_quads
                else:  # 0 except at the end
                    self._is_last = bool(n_quads)
                return kind, payload
        except TimeoutError:
            await self._fail(Fault(Reason.PARSE_SECS, "no response from the parser"))
        except (asyncio.IncompleteReadError, ConnectionError):
            lines = await child.errors.last_lines()
            form = self.outcome.format
            part = form.name if form else "reading process"
            fault = await fault_of_death(child.process, lines, part)
            self._sandbox.log_errors(self._url, lines, fault)
            await self._fail(fault)
        return b"", b""

    async def _fail(self, fault: Fault) -> None:
        self.outcome.faults.append(fault)
        self.outcome.is_partial = True
        self.outcome.n_quads = self._n_quads
        await self.close()

    async def _finish(self, outcome: ExtractOutcome) -> None:
        self.outcome = outcome
        child, self._child = self._child, None
        if child is not None:
            self._sandbox.log_errors(self._url, child.errors.take(), None)
            is_sound = not self._is_last
            await self._sandbox._release(child, is_sound=is_sound)  # noqa: SLF001


_Key = tuple[asyncio.AbstractEventLoop, "Hashable"]
_keepers: dict[_Key, tuple[AsyncGenerator[Sandbox], Sandbox]] = {}


async def shared_sandbox(options: ExtractOptions) -> Sandbox:
    """Return the pool of the running event loop for these options."""
    limits = options.processes, options.memory_bytes, options.unpack.n_bytes
    key = asyncio.get_running_loop(), (*limits, options.custom, options.confinement)
    if key not in _keepers:
        keeper = _keep(key, options)
        _keepers[key] = keeper, await anext(keeper)
    return _keepers[key][1]


async def _keep(key: _Key, options: ExtractOptions) -> AsyncGenerator[Sandbox]:
    """Yield a pool; the shutdown of a loop closes its generators."""
    try:
        async with Sandbox.of(options, n=options.processes) as sandbox:
            yield sandbox
    finally:
        del _keepers[key]


def _environment() -> dict[str, str]:
    """Return the environment that a child needs to find the same modules."""
    bytecode = {}
    if sys.dont_write_bytecode:
        bytecode["PYTHONDONTWRITEBYTECODE"] = "1"
    if sys.pycache_prefix is not None:
        bytecode["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
    return {
        # If modules are not compiled at installation, the first child compiles them.
        **bytecode,
        **bare_environment(),
        # glibc returns memory to the system after each large block that is freed, and
        # requests it again: a tenth of the time of a dump.
        "MALLOC_MMAP_THRESHOLD_": _KEPT_BYTES,
        "MALLOC_TRIM_THRESHOLD_": _KEPT_BYTES,
        # Each further thread takes 40 MB of the bounded address space.
        "OPENBLAS_NUM_THREADS": "1",
        # numpy would set these during import, which a child is denied.
        "OPENBLAS_MAIN_FREE": "1",
        "GOTOBLAS_MAIN_FREE": "1",
    }
