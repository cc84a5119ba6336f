"""Statements of harvesters, on the way to the stores."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Final

from rdfcrawl.rdf.checking import iter_checked
from rdfcrawl.rdf.environment import DEFAULT_LIMITS
from rdfcrawl.rdf.graphs import graph_iri
from rdfcrawl.rdf.output import QuadOutput

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.core.records import HarvestedPart
    from rdfcrawl.rdf.output import QuadLines

_MAX_CHARS: Final = 256 * 1024


class QuadBuffer:
    """Collects statements into checked chunks in the graph of a document.

    `log` receives faults of invalid statements.
    """

    def __init__(self, url: str, log: FaultLog) -> None:
        self._log = log
        self._output = QuadOutput(
            url=url, graph=graph_iri(url), limits=DEFAULT_LIMITS, log=log
        )
        self._lines: list[str] = []
        self._n_chars = 0

    def add(self, lines: Iterable[str]) -> bool:
        """Add lines of N-Quads; return whether a chunk is complete."""
        for line in lines:
            self._lines.append(line)
            self._n_chars += len(line)
        return self._n_chars >= _MAX_CHARS

    def take(self) -> list[QuadLines]:
        """Return the statements so far, and clear the buffer."""
        checked = iter_checked(self._lines, self._log)
        chunks = list(self._output.chunks(checked))
        self._lines.clear()
        self._n_chars = 0
        return chunks


async def iter_quads(
    lines: Iterable[str], url: str, log: FaultLog
) -> AsyncIterator[HarvestedPart]:
    """Yield unchecked lines of N-Quads as chunks of a document, and faults at the end.

    `log` is for this document only; the iterator of lines may add to it.
    """
    buffer = QuadBuffer(url, log)
    for line in lines:
        if buffer.add((line,)):
            for chunk in buffer.take():
                yield chunk
                await asyncio.sleep(0)
    for chunk in buffer.take():
        yield chunk
    for fault in log.all():
        yield fault
