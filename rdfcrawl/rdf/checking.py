"""Check the statements of readers other than the parser: only well-formed N-Quads pass.

Lines that are not canonical go through the strict parser of pyoxigraph. IRIs of refused
lines are mended if that is safe; other refused lines are dropped and counted.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rdfcrawl.core import formats
from rdfcrawl.core.errors import NeedsSandbox, Reason
from rdfcrawl.core.faultlog import FaultLog
from rdfcrawl.rdf.canonical import iter_runs
from rdfcrawl.rdf.iris import mended_line
from rdfcrawl.rdf.parser import GATHER_BYTES, iter_refused, new_parser, serialize

if TYPE_CHECKING:
    from rdfcrawl.core.formats import Format


def check(block: bytes, log: FaultLog, *, mends: bool = False) -> bytes:
    """Return the valid lines of a block as canonical N-Quads.

    Dropped lines are logged as `BAD_TERM`; IRIs are mended if `mends` (`REPAIRED`).

    Raises:
        SourceFault: the parser failed on something other than a line.
    """
    return b"".join(
        run.lines if run.is_canonical else _parse(run.lines, log, mends=mends)
        for run in iter_runs(block, has_graphs=True)
    )


def _parse(block: bytes, log: FaultLog, *, mends: bool) -> bytes:
    out = io.BytesIO()
    for _, line, error in iter_refused(block, formats.N_QUADS, out):
        repaired = mended(line, log) if mends else b""
        if repaired:
            out.write(repaired)
        else:
            log.note(Reason.BAD_TERM, error.msg)
    return out.getvalue()


def mended(
    line: bytes, log: FaultLog, document_format: Format = formats.N_QUADS
) -> bytes:
    """Return a refused line with its IRIs mended (`REPAIRED`); empty if still bad."""
    found = FaultLog()
    new = mended_line(line, found)
    out = io.BytesIO()
    if new == line or serialize(new_parser(new, document_format, None), out):
        return b""
    for fault in found.all():
        log.note(fault.reason, fault.detail, fault.count)
    return out.getvalue()


def iter_checked(
    statements: Iterable[str], log: FaultLog, *, mends: bool = True
) -> Iterator[bytes]:
    """Yield checked lines of `terms.statement`, `GATHER_BYTES` at a time; see `check`.

    Raises:
        Exception: from the statements, after those before it; `NeedsSandbox` without.
    """
    lines: list[str] = []
    n_chars = 0
    raised: Exception | None = None
    try:
        for line in statements:
            lines.append(line)
            n_chars += len(line)
            if n_chars >= GATHER_BYTES:
                yield check("".join(lines).encode(), log, mends=mends)
                lines.clear()
                n_chars = 0
    except NeedsSandbox:
        raise
    except Exception as error:  # keep the statements before it
        raised = error
    if lines:
        yield check("".join(lines).encode(), log, mends=mends)
    if raised is not None:
        raise raised
