"""Measure which branches the children of the sandbox take, for `make coverage`.

A child may write no file, its environment names none, and its parent kills it as soon
as a document is read. With this folder on the path, as `make coverage` has it, a child
is forked before it is denied anything: the fork keeps the data that the child sends
with each response, and writes them when the child is gone. All other processes, and all
runs of the tests without this folder on the path, are left alone.
"""

from __future__ import annotations

import atexit
import marshal
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[3]
_LENGTH_BYTES = 8
# As collector.py and tracer.c of coverage pack two line numbers.
_LINE_BITS = 28
_LINE = (1 << _LINE_BITS) - 1
_SIGN_BITS = 56, 57


def _measure() -> None:
    from coverage import Coverage

    reader, writer = os.pipe()
    if os.fork() == 0:
        _keep(reader)
        os._exit(0)
    os.close(reader)
    coverage = Coverage(data_file=None, config_file=str(_ROOT / "pyproject.toml"))
    coverage.start()
    # Its import is measured, too.
    from rdfcrawl.rdf.extraction.child import _Child

    collector: Any = coverage._collector
    n_handed = 0

    def hand_over() -> None:
        nonlocal n_handed
        n_arcs = sum(map(len, collector.data.values()))
        if n_arcs > n_handed:
            n_handed = n_arcs
            arcs = marshal.dumps(dict(collector.data))
            message = len(arcs).to_bytes(_LENGTH_BYTES, "big") + arcs
            while message:
                message = message[os.write(writer, message) :]

    def send(self: _Child, kind: bytes, payload: bytes, n_quads: int = 0) -> None:
        hand_over()
        answer(self, kind, payload, n_quads)

    answer = _Child.send
    _Child.send = send  # type: ignore[method-assign]
    atexit.register(hand_over)


def _keep(reader: int) -> None:
    """Write the last message once the child is gone, however it went."""
    from coverage import CoverageData

    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.closerange(0, reader)
    os.closerange(reader + 1, os.sysconf("SC_OPEN_MAX"))
    kept = b""
    with os.fdopen(reader, "rb") as messages:
        while length := messages.read(_LENGTH_BYTES):
            n_bytes = int.from_bytes(length, "big")
            message = messages.read(n_bytes)
            if len(message) == n_bytes:  # else the child was killed just then
                kept = message
    if kept:
        data = CoverageData(str(_ROOT / ".coverage/data"), suffix=True)
        arcs = marshal.loads(kept)
        data.add_arcs({name: [*map(_lines, each)] for name, each in arcs.items()})


def _lines(arc: int | tuple[int, int]) -> tuple[int, int]:
    if not isinstance(arc, int):
        return arc
    ends = arc & _LINE, arc >> _LINE_BITS & _LINE
    first, second = (
        -line if arc >> sign & 1 else line
        for line, sign in zip(ends, _SIGN_BITS, strict=True)
    )
    return first, second


if any("rdfcrawl.rdf.extraction.child import main" in word for word in sys.orig_argv):
    with suppress(ImportError):  # an environment without coverage
        _measure()
