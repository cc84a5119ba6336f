"""Starts commands from a process that has imported the modules of a crawl.

Imports are three quarters of the CPU of a small crawl. A command here runs like `python
-m scrapy`, in a process that starts like a worker of `scrapy workers`. The imports of
commands are tested in `tests/gates/test_start.py`, by commands that import everything
themselves.
"""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import TYPE_CHECKING, Any
from zlib import crc32

from tests.support.fork_server import MOST_BYTES, NUMBER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parents[2]
_SERVER = Path(__file__).resolve().with_name("fork_server.py")
LONGEST_SECS = 600.0
RUN_ID = "TEST_RUN_ID"  # a variable, the same in all processes of a run of the tests


class ForkedCommand:
    """A running or finished command; its attributes are those of `subprocess.Popen`."""

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
        if self.returncode is not None:
            return self.returncode
        poll = select.poll()  # descriptors may be beyond those of `select.select`
        poll.register(self._status_fd, select.POLLIN)
        if poll.poll(None if secs is None else secs * 1000):
            self.returncode = self._next_number()
            os.close(self._status_fd)
        return self.returncode

    def _next_number(self) -> int:
        number: int = NUMBER.unpack(os.read(self._status_fd, NUMBER.size))[0]
        return number


class CommandForks:
    """The process that commands are forked from; it begins with the first of them.

    The processes of a run of the tests share one that has the imports, and each
    has a fork of it.

    Args:
        python: of another environment, in which nothing of the checkout is seen.
        env: variables of the process; None for those of this one.
    """

    def __init__(
        self,
        python: str | Path = sys.executable,
        *,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._python = python
        self._env = env
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None
        self._began_with: dict[str, str] = {}
        run_id = os.environ.get(RUN_ID) or str(os.getpid())
        kind = crc32(os.fsencode(python))
        self._place = Path(gettempdir(), f"forks-{run_id}-{kind:x}")

    def start(
        self,
        words: Sequence[str],
        out: Any,
        err: Any = None,
        *,
        folder: Path = ROOT,
        stdin: Any = None,
        env: Mapping[str, str] | None = None,
    ) -> ForkedCommand:
        """Start a command in a folder, as `python <words>` would.

        Args:
            words: `-m` and a module, `-c` and code, or a file; and its arguments.
            out: file for its standard output.
            err: file for its standard error; None for that of its output.
            folder: in which it runs.
            stdin: file for its standard input; None for an empty one.
            env: its variables; None for those of this process, or those of `__init__`.
        """
        if self._requests is None:
            self._requests = self._begin()
        now, then = self._variables(env), self._began_with
        changes = {
            name: now.get(name)
            for name in now.keys() | then.keys()
            if now.get(name) != then.get(name)
        }
        request = json.dumps([[*words], str(folder), changes]).encode() + b"\n"
        reader, writer = os.pipe()
        nothing = os.open(os.devnull, os.O_RDONLY)
        try:
            given = nothing if stdin is None else stdin.fileno()
            fds = [given, out.fileno(), (err or out).fileno(), writer]
            n_sent = socket.send_fds(self._requests, [request], fds)
            self._requests.sendall(request[n_sent:])
        finally:
            os.close(writer)
            os.close(nothing)
        return ForkedCommand(reader)

    def run(
        self,
        *words: str | Path,
        folder: Path = ROOT,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        command = [str(word) for word in words]
        with TemporaryFile() as out, TemporaryFile() as err:
            running = self.start(command, out, err, folder=folder, env=env)
            running.wait_for(LONGEST_SECS)
            running.kill()
            code = running.wait()
            told = [_text_of(file) for file in (out, err)]
        return subprocess.CompletedProcess(command, code, *told)

    def stop(self) -> None:
        """End the process, and with it all commands that still run."""
        if self._requests is not None:
            self._requests.shutdown(socket.SHUT_WR)
            while self._requests.recv(MOST_BYTES):
                continue
            self._requests.close()
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            for path in (self._place, self._place.with_suffix(".lock")):
                path.unlink(missing_ok=True)

    def _begin(self) -> socket.socket:
        from tests.support.processes import end_with_parent  # not in each environment

        place = self._place
        with place.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            found = self._connect(place)
            if found is None:
                place.unlink(missing_ok=True)
                self._process = subprocess.Popen(
                    [self._python, _SERVER, place],
                    cwd=ROOT,
                    env=self._variables(None),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    preexec_fn=end_with_parent,  # noqa: PLW1509  # no other thread forks
                )
            while found is None:
                if self._process is not None and self._process.poll() is not None:
                    raise RuntimeError("the process that forks commands has ended")
                time.sleep(0.01)
                found = self._connect(place)
        return found

    def _connect(self, place: Path) -> socket.socket | None:
        """Return a connection to a fork of its own, and note its variables."""
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(str(place))
            told = b""
            while not told.endswith(b"\n"):
                told += connection.recv(MOST_BYTES) or b"\n"
            self._began_with = json.loads(told)
        except (OSError, ValueError):
            connection.close()
            return None
        return connection

    def _variables(self, env: Mapping[str, str] | None) -> dict[str, str]:
        if env is None:
            env = os.environ if self._env is None else self._env
        return dict(env)


@cache
def shared_forks() -> CommandForks:
    """Return the process from which all tests of this one fork their commands."""
    forks = CommandForks()
    atexit.register(forks.stop)
    return forks


def scrapy(
    *words: str | Path, folder: Path = ROOT, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `scrapy <words>` in a folder to its end."""
    return shared_forks().run("-m", "scrapy", *words, folder=folder, env=env)


def _text_of(file: Any) -> str:
    file.seek(0)
    text: str = file.read().decode(errors="replace")
    return text
