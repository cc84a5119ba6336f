"""Child processes that run a module of the package.

A job goes through standard input, as one line of JSON. A command line would show it to
all users of the machine.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import IO


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
