"""Check the statements of our own readers: only well-formed N-Quads pass.

Each line is canonical by a strict grammar, or goes through the strict parser of
pyoxigraph. A refused line has its IRIs mended where that is safe, else it is dropped
and counted.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rdfcrawl import formats
from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.faultlog import FaultLog
from rdfcrawl.rdf.canonical import iter_runs
from rdfcrawl.rdf.iris import mended_line
from rdfcrawl.rdf.parser import GATHER_BYTES, new_parser, serialize
from rdfcrawl.rdf.recovery import bad_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rdfcrawl.formats import Format


def check(block: bytes, log: FaultLog, *, mends: bool = False) -> bytes:
    """Return the valid lines, as canonical N-Quads.

    Args:
        block: whole lines, one statement each.
        log: takes one `BAD_TERM` for each dropped line.
        mends: IRIs are mended, and counted as `REPAIRED`.

    Raises:
        SourceFault: the parser failed in another way than on a line.
    """
    return b"".join(
        run.lines if run.is_canonical else _parse(run.lines, log, mends=mends)
        for run in iter_runs(block, has_graphs=True)
    )


def _parse(block: bytes, log: FaultLog, *, mends: bool) -> bytes:
    out = io.BytesIO()
    lines: list[bytes] = []
    done = 0
    while error := serialize(new_parser(block, formats.N_QUADS, None), out):
        if isinstance(error, SourceFault):
            raise error
        lines = lines or block.splitlines(keepends=True)
        done += bad_line(error)
        repaired = mended(lines[done - 1], log) if mends else b""
        if repaired:
            out.write(repaired)
        else:
            log.note(Reason.BAD_TERM, error.msg)
        block = b"".join(lines[done:])
        if not block:
            break
    return out.getvalue()


def mended(
    line: bytes, log: FaultLog, document_format: Format = formats.N_QUADS
) -> bytes:
    """Return the statement of a refused line with its IRIs mended; empty if still bad.

    `log` takes one `REPAIRED` for each IRI. The format is N-Triples or N-Quads.
    """
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
    """Yield checked lines, about `GATHER_BYTES` at a time; see `check`.

    Args:
        statements: lines of `terms.statement`.
        log: takes one `BAD_TERM` for each dropped line.
        mends: IRIs are mended; not where a standard has such statements dropped.

    Raises:
        SourceFault: of the statements, after those that came before it.
    """
    lines: list[str] = []
    n_chars = 0
    fault: SourceFault | None = None
    try:
        for line in statements:
            lines.append(line)
            n_chars += len(line)
            if n_chars >= GATHER_BYTES:
                yield check("".join(lines).encode(), log, mends=mends)
                lines.clear()
                n_chars = 0
    except SourceFault as error:  # what came before it is kept
        fault = error
    if lines:
        yield check("".join(lines).encode(), log, mends=mends)
    if fault is not None:
        raise fault
