"""Fork workers from one process that has imported all modules of a crawl.

Imports take most of the start-up time of a worker. `begin` imports all modules before
the pool has an event loop, a thread or a connection, and forks a process that only
forks: one worker per request of the pool, also to replace a dead one. Each worker then
runs `scrapy crawl`, as in a separate process.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import logging
import os
import select
import signal
import socket
import sys
import threading
from collections import deque
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from rdfcrawl.core.console import program

logger = logging.getLogger(__name__)
_REACTOR = "twisted.internet.reactor"
_MOST_BYTES = 1 << 16
_LOOK_SECS = 0.5


def _in(package: str, names: str) -> list[str]:
    return [f"{package}.{name}" for name in names.split()]


# Each crawl imports them with their dependencies; importing them has no side effects.
LOADED = [
    *("aiohappyeyeballs", "encodings.idna", "multidict", "redis.asyncio"),
    *("resource", "ssl", "uvloop"),
    *_in(
        "rdfcrawl",
        "core.options.scrapy_settings downloader.handler "
        "downloader.visit "
        "frontier.arguments.seeds frontier.scheduler "
        "launch.options launch.progress launch.scrapy_classes "
        "middlewares.robots pipelines.account "
        "pipelines.callbacks.document_callbacks pipelines.chunks "
        "pipelines.callbacks.visit_documents pipelines.discover pipelines.extract "
        "pipelines.feeds pipelines.items pipelines.logs pipelines.quad_feeds "
        "pipelines.spider_options pipelines.store "
        "sources.harvest.datasets sources.harvest.follow_up_queue "
        "sources.harvest.protocol sources.harvest.registry spiders.base "
        "stores.nquads uri.guard.gate",
    ),
    *_in(
        "scrapy",
        "core.downloader.handlers core.engine dupefilters pqueues resolver "
        "responsetypes robotstxt squeues statscollectors utils.engine",
    ),
    *_in(
        "scrapy.downloadermiddlewares",
        "defaultheaders downloadtimeout httpauth httpcompression httpproxy offsite "
        "redirect retry stats useragent",
    ),
    *_in(
        "scrapy.extensions",
        "closespider corestats logcount logstats memusage spiderstate",
    ),
    *_in(
        "scrapy.spidermiddlewares", "depth httperror metacopy referer start urllength"
    ),
]
_FOR_THE_POOL = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ForkedWorker:
    """A running or ended worker, with the interface of `asyncio` processes."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        # Exit code (negative: the signal); None while the worker runs.
        self.returncode: int | None = None
        self._has_ended = asyncio.Event()

    def set_end(self, code: int | None) -> None:
        """Set the exit code; None if it cannot be determined."""
        self.returncode = code
        self._has_ended.set()

    async def wait(self) -> int:
        """Wait for the end, and return the exit code."""
        await self._has_ended.wait()
        if self.returncode is None:
            while _is_running(self.pid):  # noqa: ASYNC110 (not a child: no signal)
                await asyncio.sleep(_LOOK_SECS)
            # As if it had been killed: a replacement finds out the state.
            self.returncode = -signal.SIGKILL
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal if the worker still runs."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


class WorkerForks:
    """The pool's connection to the forking process."""

    def __init__(self, pid: int, requests: socket.socket) -> None:
        self._pid = pid
        self._requests = requests
        self._writer: asyncio.StreamWriter | None = None
        self._listening: asyncio.Task[None] | None = None
        self._starting: deque[asyncio.Future[ForkedWorker | None]] = deque()
        self._running: dict[int, ForkedWorker] = {}

    async def open(self) -> None:
        """Start to receive starts and ends of workers."""
        reader, self._writer = await asyncio.open_unix_connection(sock=self._requests)
        self._listening = asyncio.create_task(self._listen(reader))

    async def start(self, words: Sequence[str], out: Path) -> ForkedWorker | None:
        """Start `scrapy <words>`, appending output to a file; None if it fails."""
        if self._writer is None or self._listening is None or self._listening.done():
            return None
        started = asyncio.get_running_loop().create_future()
        self._starting.append(started)
        self._writer.write(json.dumps([list(words), str(out)]).encode() + b"\n")
        worker: ForkedWorker | None = await started
        return worker

    def close(self) -> None:
        """Let the forking process end after its workers."""
        self._requests.close()
        if not self._running:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        try:
            while line := await reader.readline():
                word, number, *code = line.split()
                if word == b"started":
                    self._note_start(int(number))
                else:
                    self._running.pop(int(number)).set_end(int(code[0]))
        finally:
            while self._starting:
                self._note_start(0)
            for worker in self._running.values():
                worker.set_end(None)

    def _note_start(self, pid: int) -> None:
        worker = ForkedWorker(pid) if pid else None
        if worker is not None:
            self._running[pid] = worker
        started = self._starting.popleft()
        if not started.done():
            started.set_result(worker)


def begin() -> WorkerForks | None:
    """Import the modules of a crawl, and fork the forking process.

    Never returns in that process. Workers end as the command does, by `SystemExit`.

    Returns:
        None if a fork would differ from a new process: on systems other than Linux,
        and if an imported module has started a thread or reactor.
    """
    if sys.platform != "linux":
        return None
    gc.disable()  # imported objects are not garbage
    try:
        for name in LOADED:
            with contextlib.suppress(ImportError):  # another version of a library
                import_module(name)
        gc.freeze()  # do not scan them: their pages stay shared
    finally:
        gc.enable()
    obstacle = _obstacle()
    if obstacle:
        logger.info("workers are started as new processes: %s", obstacle)
        return None
    sys.stdout.flush()
    sys.stderr.flush()
    ours, theirs = socket.socketpair()
    pid = _fork()
    if pid == 0:
        ours.close()
        words, out = _fork_workers(theirs)
        _leave_streams(out)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _FOR_THE_POOL)
        execute(words)
    theirs.close()
    if pid < 0:
        ours.close()
        return None
    return WorkerForks(pid, ours)


def _obstacle() -> str:
    """Return the reason why a fork would not work; empty if there is none."""
    if threading.active_count() > 1 or len([*Path("/proc/self/task").iterdir()]) > 1:
        return "an import has started a thread"
    if _REACTOR in sys.modules:
        return "an import has installed a reactor"
    return "a profiler is running" if sys.getprofile() else ""


def _fork_workers(requests: socket.socket) -> tuple[list[str], str]:
    """Fork a worker for each request, until the pool and all workers have ended.

    Returns only in workers, with the request.
    """
    is_worker = False
    try:
        # Ctrl-C in a terminal reaches all processes, but concerns only workers. It is
        # blocked, not ignored, so workers that are not ready yet receive it later.
        signal.pthread_sigmask(signal.SIG_BLOCK, _FOR_THE_POOL)
        _leave_streams(os.devnull)
        request = _serve(requests)
        is_worker = True
    finally:
        if not is_worker:
            os._exit(0)
    return request


def _serve(requests: socket.socket) -> tuple[list[str], str]:
    woken, waker = socket.socketpair()
    for each in (woken, waker):
        each.setblocking(False)
    at_child = signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
    received = b""
    n_running = 0
    is_open = True
    while is_open or n_running:
        ready = select.select([requests, woken] if is_open else [woken], [], [])[0]
        if woken in ready:
            woken.recv(_MOST_BYTES)
            n_running -= _report_ends(requests)
        if requests in ready:
            more = requests.recv(_MOST_BYTES)
            is_open = bool(more)
            *lines, received = (received + more).split(b"\n")
            for line in lines:
                pid = _fork()
                if pid == 0:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, at_child)
                    for each in (woken, waker, requests):
                        each.close()
                    words, out = json.loads(line)
                    return words, out
                n_running += pid > 0
                _send(requests, f"started {max(0, pid)}")
    os._exit(0)


def _fork() -> int:
    try:
        return os.fork()
    except OSError:
        return -1


def _report_ends(requests: socket.socket) -> int:
    n_ended = 0
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            n_ended += 1
            _send(requests, f"ended {pid} {os.waitstatus_to_exitcode(status)}")
    return n_ended


def _send(requests: socket.socket, line: str) -> None:
    with contextlib.suppress(OSError):  # the pool is gone, the workers continue
        requests.sendall(line.encode() + b"\n")


def _leave_streams(out: str) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    end = os.open(out, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    for fd, stream in ((nothing, 0), (end, 1), (end, 2)):
        os.dup2(fd, stream)
    os.close(nothing)
    os.close(end)


def execute(words: list[str]) -> NoReturn:
    """Continue as `scrapy <words>` or `rdfcrawl <words>`."""
    is_ours = program() == "rdfcrawl"
    line = import_module("rdfcrawl.cli" if is_ours else "scrapy.cmdline")
    sys.argv[1:] = words
    line.execute(sys.argv)
    sys.exit(0)


def _is_running(pid: int) -> bool:
    """Return whether a process runs; it need not be a child."""
    with contextlib.suppress(ChildProcessError):  # a child only if this is process 1
        if os.waitpid(pid, os.WNOHANG)[0]:
            return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def read_words() -> list[str]:
    """Return the words of the command from standard input, which is then empty.

    There are none if the starting process is gone.
    """
    line = sys.stdin.buffer.readline()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.argv = sys.argv[1:2]
    words: list[str] = json.loads(line or "[]")
    return words


def main() -> None:
    """Run the command of a worker; do nothing if the starting process is gone."""
    if words := read_words():
        execute(words)


if __name__ == "__main__":
    main()
