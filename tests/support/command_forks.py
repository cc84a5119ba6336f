"""Starts commands from a process that has imported what a crawl needs.

To import it is three quarters of the CPU of a small crawl. A command here is what
`python -m scrapy` runs, in a process of its own that begins with what a worker of
`scrapy workers` begins with. What a command imports, and when, is tested in
`tests/gates/test_start.py`, by commands that import all of it.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from rdfcrawl.progress.forks import LOADED

if TYPE_CHECKING:
    from collections.abc import Sequence
    from io import BufferedWriter

ROOT = Path(__file__).resolve().parents[2]
SCRIPTED_NAMES = Path(__file__).resolve().parent / "scripted_names"
# Beside what workers begin with; none of it starts anything.
_MORE = (
    *("scrapy.cmdline", "scrapy.crawler", "scrapy.shell", "scrapy.contracts"),
    *("twisted.internet.asyncioreactor", "twisted.web.client"),
    *("pyoxigraph", "lxml.html", "ada_url", "protego", "rdfcrawl.settings"),
    *("isal.isal_zlib", "inflate64", "lz4.frame"),
)
_COMMANDS_AND_SPIDERS = "scrapy.commands", "rdfcrawl.commands", "rdfcrawl.spiders"
_MOST_BYTES = 1 << 17
_NUMBER = struct.Struct("i")


class ForkedCommand:
    """A command that runs, or has run; as a `subprocess.Popen` in what it has."""

    def __init__(self, status_fd: int) -> None:
        self._status_fd = status_fd
        self.returncode: int | None = None
        self.pid = self._next_number()

    def poll(self) -> int | None:
        """Return its exit code (negative: the signal), None while it runs."""
        return self._look(0.0)

    def wait(self) -> int:
        """Wait for its end, and return its exit code."""
        while (code := self._look(None)) is None:
            continue
        return code

    def wait_for(self, secs: float) -> None:
        """Wait for its end, for so long at most."""
        self._look(secs)

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it still runs."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it, if it still runs."""
        self.send_signal(signal.SIGKILL)

    def _look(self, secs: float | None) -> int | None:
        if (
            self.returncode is None
            and select.select([self._status_fd], [], [], secs)[0]
        ):
            self.returncode = self._next_number()
            os.close(self._status_fd)
        return self.returncode

    def _next_number(self) -> int:
        number: int = _NUMBER.unpack(os.read(self._status_fd, _NUMBER.size))[0]
        return number


class CommandForks:
    """The process that commands are forked from; it begins with the first of them."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None
        self._environment: dict[str, str] = {}

    def start(
        self,
        words: Sequence[str],
        out: BufferedWriter,
        err: BufferedWriter | None = None,
    ) -> ForkedCommand:
        """Start `scrapy <words>` in the checkout; without `err`, all goes to `out`."""
        if self._requests is None:
            self._requests = self._begin()
        now, then = dict(os.environ), self._environment
        changes = {
            name: now.get(name)
            for name in now.keys() | then.keys()
            if now.get(name) != then.get(name)
        }
        request = json.dumps([words, changes]).encode() + b"\n"
        reader, writer = os.pipe()
        try:
            fds = [out.fileno(), (err or out).fileno(), writer]
            n_sent = socket.send_fds(self._requests, [request], fds)
            self._requests.sendall(request[n_sent:])
        finally:
            os.close(writer)
        return ForkedCommand(reader)

    def stop(self) -> None:
        """End the process; commands that run go on."""
        if self._requests is not None and self._process is not None:
            self._requests.close()
            self._process.wait()

    def _begin(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        self._environment = dict(os.environ)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.command_forks"],
                cwd=ROOT,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
            )
        return ours


def main() -> None:
    """Fork a command for each request that comes over standard input."""
    for name in (*LOADED, *_MORE):
        import_module(name)
    for name in _COMMANDS_AND_SPIDERS:
        package = import_module(name)
        for module in iter_modules(package.__path__, f"{name}."):
            import_module(module.name)
    if "twisted.internet.reactor" in sys.modules:
        raise RuntimeError("an import has begun what commands begin")
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those who watch tell the test
    with socket.socket(fileno=os.dup(0)) as requests:
        while True:
            request, fds, *_ = socket.recv_fds(requests, _MOST_BYTES, 3)
            while not request.endswith(b"\n"):
                more = requests.recv(_MOST_BYTES)
                if not more:
                    return
                request += more
            if os.fork() == 0:
                break
            for fd in fds:
                os.close(fd)
    _watch(request, *fds)


def _watch(request: bytes, out_fd: int, err_fd: int, status_fd: int) -> None:
    """Go on as the command, while this process tells what becomes of it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        os.close(status_fd)
        _run(request, out_fd, err_fd)
        return
    os.closerange(0, 3)  # a test run that is gone is to leave no pipe open
    os.close(out_fd)
    os.close(err_fd)
    os.write(status_fd, _NUMBER.pack(pid))
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with suppress(BrokenPipeError):
        os.write(status_fd, _NUMBER.pack(code))
    os._exit(0)


def _run(request: bytes, out_fd: int, err_fd: int) -> None:
    words, changes = json.loads(request)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for fd, stream in ((nothing, 0), (out_fd, 1), (err_fd, 2)):
        os.dup2(fd, stream)
    for fd in (nothing, out_fd, err_fd):
        os.close(fd)
    for name, value in changes.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    if "SCRIPTED_NAMES" in os.environ:  # as each new process of Python does
        runpy.run_path(str(SCRIPTED_NAMES / "sitecustomize.py"))
    sys.argv[1:] = words
    runpy.run_module("scrapy", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
