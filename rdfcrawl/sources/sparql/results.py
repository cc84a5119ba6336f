"""Result tables of SPARQL endpoints, read as streams of rows."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO, Final

from rdfcrawl.core.content import ByteSource, PulledStream
from rdfcrawl.core.errors import FaultLog, Reason, SourceFault
from rdfcrawl.core.messages import counted
from rdfcrawl.sources.sparql.results_json import iter_json
from rdfcrawl.sources.sparql.results_text import iter_csv, iter_tsv
from rdfcrawl.sources.sparql.results_xml import iter_xml
from rdfcrawl.sources.sparql.settings import ResultLimits

if TYPE_CHECKING:
    from rdfcrawl.sources.sparql.writing import Row

_READERS: Final[
    dict[str, Callable[[BinaryIO, ResultLimits, FaultLog], Iterator[Row | SourceFault]]]
] = {"json": iter_json, "xml": iter_xml, "tsv": iter_tsv, "csv": iter_csv}

_DEFAULT_LIMITS: Final = ResultLimits()
_TABLE_TYPES: Final = {
    "application/sparql-results+json": "json",
    "application/json": "json",
    "text/json": "json",
    "application/x-sparqlstar-results+json": "json",
    "application/sparql-results+xml": "xml",
    "application/xml": "xml",
    "text/xml": "xml",
    "text/tab-separated-values": "tsv",
    "text/csv": "csv",
    "application/csv": "csv",
}


def iter_rows(
    source: bytes | ByteSource,
    *,
    media_type: str,
    log: FaultLog,
    limits: ResultLimits = _DEFAULT_LIMITS,
) -> Iterator[Row]:
    """Yield the rows of a result table, in order.

    A row that is not well-formed is a fault in the log if another one follows that is;
    otherwise it ends the table.

    Args:
        source: unpacked body of the response.
        media_type: of the Content-Type, without parameters. The first bytes take
            precedence: servers declare JSON as text, and error pages as tables.
        log: receives the faults of single rows, and `TOO_MANY_ENTRIES`.
        limits: limits of the table.

    Raises:
        SourceFault: not a table, truncated, or too large; earlier rows were yielded.
    """
    source = ByteSource.of(source)
    kind = table_kind(source.head(), media_type)
    if not kind:
        raise SourceFault(Reason.BAD_ANSWER, f"not a result table: {media_type!r}")
    with source.open() as file:
        bounded = io.BufferedReader(_Bounded(file, limits.body_bytes))
        rows = _READERS[kind](bounded, limits, log)
        for n_before, row in enumerate(_good(rows, log)):
            if n_before >= limits.rows:
                log.note(
                    Reason.TOO_MANY_ENTRIES, f"more than {counted(limits.rows, 'row')}"
                )
                return
            yield row


def _good(rows: Iterator[Row | SourceFault], log: FaultLog) -> Iterator[Row]:
    bad: list[SourceFault] = []
    for row in rows:
        if isinstance(row, SourceFault):
            bad.append(row)
            continue
        for each in bad:
            log.note(each.fault.reason, each.fault.detail)
        bad.clear()
        yield row
    if bad:
        raise bad[0]


def table_kind(head: bytes, media_type: str) -> str:
    """Return the format of a table: `json`, `xml`, `tsv`, `csv`; empty for none."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    declared = _TABLE_TYPES.get(media_type.lower(), "")
    if declared == "xml" and head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "xml"
    if start.startswith(b"{"):
        return "json"
    if start.startswith(b"<"):
        is_tsv = declared == "tsv" or (declared == "csv" and b"\t" in start[:200])
        if is_tsv and not start.startswith((b"<?xml", b"<!", b"<html")):
            return declared
        return "xml" if b"<sparql" in head or b":sparql" in head else ""
    return declared if declared in ("csv", "tsv") else ""


class _Bounded(PulledStream):
    """The first bytes of a file; reading more raises a fault."""

    def __init__(self, file: BinaryIO, max_bytes: int) -> None:
        self._read, self._left = file.read, max_bytes

    def _pull(self, n_bytes: int) -> bytes:
        data = self._read(min(n_bytes, self._left + 1))
        if len(data) > self._left:
            raise SourceFault(Reason.TOO_LARGE, "the response")
        self._left -= len(data)
        return data
