"""Show the captures of a WARC file: the output of `scrapy rdf FILE.warc.gz`."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Final

from rdfcrawl.core.errors import ConfigError, Fault, FaultLog, safe_text
from rdfcrawl.core.messages import counted, escaped
from rdfcrawl.pipelines.callbacks.archive_inspection import inspect_archive
from rdfcrawl.pipelines.callbacks.inspection import InspectionReport, InspectionRequest
from rdfcrawl.rdf.pretty import pretty
from rdfcrawl.stores.files import operator_file

_SHOWN: Final = 20  # captures


def show_archive(request: InspectionRequest, limit: int, to: str | None) -> int:
    """Write a line for each capture to standard error, and statements; return the code.

    Args:
        request: its target is the path of the file.
        limit: of statements on standard output; the first 20 captures are read at most.
        to: file for the statements of all captures, N-Quads; without any, it stays as
            it is. None: standard output.

    Raises:
        ConfigError: the name of the output is wrong.
        OSError: a file cannot be read or written.
        SourceFault: the archive is damaged at its beginning.
    """
    if to is not None:
        if not to.endswith(".nq"):
            raise ConfigError(f"--to {to}: of an archive, must end in .nq")
        with tempfile.TemporaryFile(dir=Path(to).parent) as lines:
            if not asyncio.run(_report(request, lines.write, None)):
                return 1
            lines.seek(0)
            with operator_file(Path(to)) as file:
                shutil.copyfileobj(lines, file)
        return 0
    shown: list[bytes] = []
    left = limit

    def keep(chunk: bytes) -> None:
        nonlocal left
        lines = chunk.splitlines(keepends=True)[:left]
        left -= len(lines)
        shown.extend(lines)

    n_quads = asyncio.run(_report(request, keep, _SHOWN))
    sys.stdout.write(escaped(pretty(b"".join(shown))))
    if n_quads > limit:
        sys.stderr.write(
            f"… {limit} of {counted(n_quads, 'statement')}; --limit shows more\n"
        )
    return 0 if n_quads else 1


async def _report(
    request: InspectionRequest, write: Callable[[bytes], object], most: int | None
) -> int:
    """Write the report; return the number of statements."""
    log, n_captures, n_quads = FaultLog(), 0, 0
    _say("archive", request.target)
    async with aclosing(inspect_archive(request, write, log)) as captures:
        async for capture in captures:
            if n_captures == most:
                _say("captures", f"more than {most}; `crawl warc -a files=` reads all")
                break
            n_captures += 1
            n_quads += capture.outcome.n_quads if capture.outcome else 0
            if n_captures <= _SHOWN:
                _say("capture", _line(capture))
    if not n_captures:
        _say("hint", "no capture has a format of RDF, or annotated pages")
    for fault in log.all():
        _say("fault", _fault_text(fault))
    _say("statements", f"{n_quads:,} of {counted(n_captures, 'capture')}")
    return n_quads


def _line(capture: InspectionReport) -> str:
    document, outcome = capture.document, capture.outcome
    n_quads = outcome.n_quads if outcome else 0
    faults = [*document.faults, *(outcome.faults if outcome else ())]
    faults_text = "".join(f"; {_fault_text(fault)}" for fault in faults)
    kind = document.media_type or "no type"
    return f"{document.url} ({kind}): {counted(n_quads, 'statement')}{faults_text}"


def _fault_text(fault: Fault) -> str:
    return f"{fault.reason}: {fault.detail}" if fault.detail else str(fault.reason)


def _say(name: str, value: str) -> None:
    sys.stderr.write(f"{name:12}{safe_text(value)}\n")
