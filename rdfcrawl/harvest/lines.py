"""Statements that a source writes itself, on their way to the stores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rdfcrawl.rdf.checking import iter_checked
from rdfcrawl.rdf.graphs import graph_iri
from rdfcrawl.rdf.limits import DEFAULT_LIMITS
from rdfcrawl.rdf.output import Output

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rdfcrawl.faultlog import FaultLog
    from rdfcrawl.records import Document

_MAX_CHARS: Final = 256 * 1024


class Lines:
    """Gathers statements into chunks: checked, in the document's graph, counted.

    Args:
        document: that they are of.
        log: takes what is no statement.
    """

    def __init__(self, document: Document, log: FaultLog) -> None:
        self._document = document
        self._log = log
        self._output = Output(
            url=document.url,
            graph=graph_iri(document.url),
            limits=DEFAULT_LIMITS,
            log=log,
        )
        self._lines: list[str] = []
        self._n_chars = 0

    def add(self, lines: Iterable[str]) -> bool:
        """Take lines of N-Quads; return whether there is a chunk to be taken."""
        for line in lines:
            self._lines.append(line)
            self._n_chars += len(line)
        return self._n_chars >= _MAX_CHARS

    def take(self) -> bytes:
        """Return what was gathered; empty if it is nothing."""
        checked = iter_checked(self._lines, self._log)
        chunk = b"".join(self._output.chunks(checked))
        self._lines.clear()
        self._n_chars = 0
        self._document.n_quads = self._output.n_quads
        return chunk
