"""What runs inside of the sandbox: a process that parses one document at a time.

Frames on the pipes are `kind` (1 byte), `length` (4 bytes, big endian) and as many
bytes. In: `J`, a job as JSON. Out: `F`, format and what decided it, as JSON; `C`, a
chunk of N-Quads; `E`, the end with faults and counts, as JSON. End of input ends it.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import struct
import sys
from pathlib import Path
from typing import Any, BinaryIO

from rdfcrawl.rdf.limits import ParseLimits
from rdfcrawl.rdf.parse import Parse, parse

HEADER = struct.Struct(">cI")

# Events of PEP 578 that parsing has no need of.
_DENIED_EVENTS = ("socket.", "subprocess.", "urllib.", "ftplib.", "shutil.", "ctypes.")
_DENIED_OS_EVENTS = frozenset(
    f"os.{call}"
    for call in (
        "exec", "fork", "forkpty", "kill", "killpg", "link", "mkdir", "posix_spawn",
        "putenv", "remove", "rename", "rmdir", "spawn", "symlink", "system", "truncate",
    )
)  # fmt: skip
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def main() -> None:
    """Serve jobs from standard input until it ends."""
    memory_bytes = int(sys.argv[1])
    jobs, answers = sys.stdin.buffer, sys.stdout.buffer
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    # The parent ends its children itself, after they gave back what they read.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.addaudithook(deny_side_effects)
    while header := jobs.read(HEADER.size):
        _, length = HEADER.unpack(header)
        _serve(json.loads(jobs.read(length)), answers)


def deny_side_effects(event: str, args: tuple[Any, ...]) -> None:
    """Audit hook: no network, no process, no writing to files.

    Raises:
        PermissionError: for everything that parsing has no need of.
    """
    if event.startswith(_DENIED_EVENTS) or event in _DENIED_OS_EVENTS:
        raise PermissionError(event)
    if event == "open":
        _, mode, flags = args
        if (isinstance(mode, str) and set(mode) & set("wax+")) or flags & _WRITING:
            raise PermissionError("open for writing")


def _serve(job: dict[str, Any], answers: BinaryIO) -> None:
    limits = ParseLimits(**job.pop("limits"))
    path = Path(job.pop("path"))
    _limit_cpu_time(limits, path.stat().st_size)
    document = parse(path, limits=limits, **job)
    _send_json(answers, b"F", _decision(document))
    for chunk in document:
        _send(answers, b"C", chunk)
    _send_json(answers, b"E", _outcome(document))


def _limit_cpu_time(limits: ParseLimits, n_bytes: int) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    allowed = limits.secs + limits.secs_per_mb * n_bytes / 1e6
    soft = int(used.ru_utime + used.ru_stime + allowed) + 1
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def _decision(document: Parse) -> dict[str, Any]:
    name = document.format.name if document.format else None
    return {"format": name, "decided_by": document.decided_by}


def _outcome(document: Parse) -> dict[str, Any]:
    faults = [(fault.reason, fault.detail, fault.count) for fault in document.faults]
    return {"faults": faults, "is_partial": document.is_partial}


def _send_json(answers: BinaryIO, kind: bytes, value: dict[str, Any]) -> None:
    _send(answers, kind, json.dumps(value).encode())


def _send(answers: BinaryIO, kind: bytes, payload: bytes) -> None:
    answers.write(HEADER.pack(kind, len(payload)))
    answers.write(payload)
    answers.flush()


if __name__ == "__main__":
    main()
