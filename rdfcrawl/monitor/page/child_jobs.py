"""Common start of the page's child processes: read a job, lower the priority."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from contextlib import suppress
from typing import Any, Final

_DEATH_SIGNAL: Final = 1  # PR_SET_PDEATHSIG, prctl(2)


class ChildOutput:
    """Writes the response of a child process: lines of JSON and nothing else."""

    def __init__(self) -> None:
        self._file = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)

    def send(self, **members: Any) -> None:
        """Write a line."""
        self._file.write(json.dumps(members) + "\n")
        self._file.flush()


def begin_job(nice: int) -> dict[str, Any]:
    """Return the job of this process, which from now on ends with its parent.

    Args:
        nice: by how much to lower the priority.
    """
    parent = os.getppid()
    with suppress(AttributeError, OSError):  # Linux only
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its children
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(nice)
    job: dict[str, Any] = json.loads(sys.stdin.buffer.read())
    return job
