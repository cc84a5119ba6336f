"""Child processes that run a module of the package, and locks between processes.

A job goes through standard input, as one line of JSON. A command line would show it to
all users of the machine. A lock of a file, by flock(2), ends with the process.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

_POLL_SECS: Final = 0.05  # between two attempts to lock a file


def module_command(module: str, *words: str) -> list[str]:
    """Return the command line that runs a module with this Python."""
    return [sys.executable, "-m", module, *words]


def bare_environment() -> dict[str, str]:
    """Return an environment without secrets in which a child finds the same modules.

    An egg or a checkout may be on the path of this process only.
    """
    paths = (entry or os.getcwd() for entry in sys.path)  # noqa: PTH109
    return {"PYTHONPATH": os.pathsep.join(paths), "LANG": "C.UTF-8"}


def start_module(
    module: str,
    *words: str,
    job: object,
    stdout: IO[bytes] | int,
    stderr: IO[bytes] | int | None = None,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start a module in a separate session, and write its job.

    Ctrl-C in a terminal goes to the crawl, which then ends the child. Standard input
    stays open until `close_input`.

    Args:
        module: its dotted name.
        words: its arguments.
        job: a value for JSON.
        stdout: as of `subprocess.Popen`.
        stderr: likewise.
        pass_fds: file descriptors that the child inherits.

    Raises:
        OSError: the process does not start.
    """
    process = subprocess.Popen(
        module_command(module, *words),
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=stderr,
        pass_fds=pass_fds,
        start_new_session=True,
    )
    if process.stdin is not None:
        with suppress(BrokenPipeError):  # its exit code and its output have the reason
            process.stdin.write(json.dumps(job).encode() + b"\n")
            process.stdin.flush()
    return process


async def start_module_async(
    module: str,
    *words: str,
    job: object,
    stdout: IO[bytes] | int,
    stderr: IO[bytes] | int,
    limit: int = 65_536,
    env: dict[str, str] | None = None,
) -> asyncio.subprocess.Process:
    """Start a module, write its job, and close its standard input.

    Args:
        module: its dotted name.
        words: its arguments.
        job: a value for JSON.
        stdout: as of `subprocess.Popen`.
        stderr: likewise.
        limit: the longest line of its output, in bytes.
        env: its environment; that of this process by default.

    Raises:
        OSError: the process does not start.
    """
    process = await asyncio.create_subprocess_exec(
        *module_command(module, *words),
        stdin=asyncio.subprocess.PIPE,
        stdout=stdout,
        stderr=stderr,
        limit=limit,
        env=env,
    )
    if process.stdin is not None:
        process.stdin.write(json.dumps(job).encode() + b"\n")
        process.stdin.close()
    return process


def close_input(process: subprocess.Popen[bytes]) -> None:
    """Close the standard input of a child, its sign to end."""
    if process.stdin is not None:
        with suppress(BrokenPipeError):
            process.stdin.close()


def finish(process: subprocess.Popen[bytes], *, patience_secs: float) -> int:
    """End a child and return its exit code.

    It gets `patience_secs` to end after its standard input, as many after SIGTERM, and
    is then killed.
    """
    close_input(process)
    for stop in (process.terminate, process.kill):
        try:
            return process.wait(patience_secs)
        except subprocess.TimeoutExpired:
            stop()
    return process.wait()


def try_lock(fd: int, *, is_shared: bool = False) -> bool:
    """Lock an open file; return False if another process has it locked.

    Args:
        fd: descriptor of the file or folder.
        is_shared: several processes may have such a lock.

    Raises:
        OSError: the file system has no locks.
    """
    kind = fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_for_lock(fd: int, secs: float, *, is_shared: bool = False) -> bool:
    """Lock an open file as `try_lock` does, for which it waits up to some seconds."""
    deadline = time.monotonic() + secs
    while not try_lock(fd, is_shared=is_shared):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECS)
    return True


@contextmanager
def open_locked(path: Path, flags: int = os.O_RDWR) -> Iterator[int | None]:
    """Open and lock a file or folder; yield its descriptor.

    None: it does not exist, or another process has it locked.

    Raises:
        OSError: it cannot be opened, or the file system has no locks.
    """
    try:
        fd = os.open(path, flags, 0o644)
    except FileNotFoundError:
        yield None
        return
    try:
        yield fd if try_lock(fd) else None
    finally:
        os.close(fd)
