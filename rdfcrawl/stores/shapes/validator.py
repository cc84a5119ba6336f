"""Validate documents with shapes in a process with limits of memory and time."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from struct import Struct
from typing import IO, Any, Final, Self

from rdfcrawl.core.errors import ConfigError, install_hint
from rdfcrawl.core.processes import bare_environment, finish, module_command

_LENGTH: Final = Struct(">I")
_MEMORY_BYTES: Final = 2**30
_START_SECS: Final = 120.0
_SILENCE_FACTOR: Final = 4  # times the CPU time, since the child shares its CPU
_READ_BYTES: Final = 64 * 1024
_CHILD: Final = "rdfcrawl.stores.shapes.child"


@dataclass(frozen=True, slots=True)
class ShapeFindings:
    """Results of the validation of one document.

    Attributes:
        counts: of results by severity: Violation, Warning, Info, or one of the shapes.
        named: the first results.
        skipped: why the document was not validated, in a word; else empty.
        detail: of `skipped`.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    named: Sequence[Mapping[str, str | None]] = ()
    skipped: str = ""
    detail: str = ""


class ShapesValidator:
    """A process that validates documents; restarted after a document that killed it.

    Args:
        path: of the shapes.
        secs: of CPU time for each document.
    """

    def __init__(self, path: Path, *, secs: float) -> None:
        self._path, self._secs = path, secs
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the process.

        Raises:
            ConfigError: the library is missing, or the shapes are wrong.
            OSError: no process can be started.
        """
        if find_spec("pyshacl") is None:
            raise ConfigError(f"shapes: pyshacl is missing: {install_hint('shapes')}")
        child = self._child = subprocess.Popen(
            module_command(
                _CHILD, str(self._path), str(_MEMORY_BYTES), str(self._secs)
            ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a crash may quote the document
            env=bare_environment(),
        )
        reply = _read_reply(child, _START_SECS)
        if reply is None or "error" in reply:
            self.close()
            reason = (reply or {}).get("error", "cannot be read")
            raise ConfigError(f"shapes: {self._path}: {reason}")

    def judge(self, quads: bytes) -> ShapeFindings:
        """Return the results for a document.

        Args:
            quads: its statements; their graphs are ignored.

        Raises:
            ConfigError: as `start`.
            OSError: no process can be started.
        """
        if self._child is None:
            self.start()
        child = self._child
        if child is None or child.stdin is None:
            raise OSError("a child without pipes")
        with suppress(BrokenPipeError):
            child.stdin.write(_LENGTH.pack(len(quads)) + quads)
            child.stdin.flush()
        reply = _read_reply(child, self._secs * _SILENCE_FACTOR)
        if reply is None:
            code = self.close()
            if code in {-signal.SIGXCPU, -signal.SIGTERM, -signal.SIGKILL}:
                return ShapeFindings(skipped="secs", detail="took too long")
            return ShapeFindings(skipped="crash", detail=f"exit status {code}")
        if "fault" in reply:
            return ShapeFindings(skipped="fault", detail=reply["fault"])
        return ShapeFindings(reply["counts"], reply["named"])

    def close(self) -> int:
        """End the process; return its exit status."""
        child, self._child = self._child, None
        if child is None:
            return 0
        code = finish(child, patience_secs=1.0)
        if child.stdout is not None:
            child.stdout.close()
        return code


def _read_reply(child: subprocess.Popen[bytes], secs: float) -> dict[str, Any] | None:
    """Return the next reply; None if the child is silent for `secs` or has ended."""
    if child.stdout is None:
        return None
    header = _read(child.stdout, _LENGTH.size, secs)
    if header is None:
        return None
    payload = _read(child.stdout, _LENGTH.unpack(header)[0], secs)
    return None if payload is None else json.loads(payload)


def _read(pipe: IO[bytes], n_bytes: int, secs: float) -> bytes | None:
    found = b""
    while len(found) < n_bytes:
        if not select.select([pipe], [], [], secs)[0]:
            return None
        piece = os.read(pipe.fileno(), min(_READ_BYTES, n_bytes - len(found)))
        if not piece:
            return None
        found += piece
    return found
