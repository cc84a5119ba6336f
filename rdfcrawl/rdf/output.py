"""Convert the statements of any reader to the output of a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from rdfcrawl.core.errors import Reason
from rdfcrawl.rdf.checking import check
from rdfcrawl.rdf.chunks import QuadLines, quad_chunks
from rdfcrawl.rdf.encoding import MARK_BYTES
from rdfcrawl.rdf.graphs import GraphNames, Trust, check_iri
from rdfcrawl.rdf.labels import BlankNodes

if TYPE_CHECKING:
    from rdfcrawl.core.faultlog import FaultLog
    from rdfcrawl.rdf.environment import ParseLimits

# The end of `rdf:langString` and `rdf:dirLangString`. pyoxigraph accepts such literals
# without a language, and writes them in a form that strict readers refuse.
_TAGLESS = b"angString>"


class OutputMark(NamedTuple):
    """A position in the output to return to."""

    n_quads: int
    n_blank_nodes: int


class QuadOutput:
    """Converter of the canonical lines of one document to chunks of N-Quads.

    Lines that are too long are dropped, blank nodes relabelled, graphs named,
    statements counted. All readers of a document share one output, so that equal
    labels stay equal; see `terms.blank`.

    Args:
        url: of the document, after redirects.
        graph: of the statements; None: the default graph.
        key: source of the blank node labels; `url` if empty.
        trust: see `graphs.GraphRule`.

    Attributes:
        n_quads: statements written so far.
        is_full: the limit is reached; nothing more is written.
        has_unreadable: statements with unreadable characters were left out.
    """

    def __init__(
        self,
        *,
        url: str,
        graph: str | None,
        limits: ParseLimits,
        log: FaultLog,
        key: str = "",
        trust: Trust = "same-origin",
    ) -> None:
        self._url, self._graph, self._trust = url, graph, trust
        self._limits, self._log = limits, log
        self._key = key or url
        self._blank_nodes: BlankNodes | None = None  # most documents have none
        self._names: dict[bool, GraphNames] = {}
        self._drops_marked = False
        self._n_skipped = 0  # statements to skip
        self.n_quads = 0
        self.is_full = False
        self.has_unreadable = False

    def mark(self) -> OutputMark:
        """Return the current position."""
        return OutputMark(self.n_quads, len(self._blank_nodes or ()))

    def rewind(self, mark: OutputMark, *, is_replay: bool) -> None:
        """Return to a mark, to take the statements since then from another reader.

        Blank nodes get the same labels in the same order. If `is_replay`, the same
        statements follow in the same order up to the current position, and are skipped;
        otherwise, none of them was yielded.
        """
        if self._blank_nodes is not None:
            self._blank_nodes.forget(mark.n_blank_nodes)
        self._n_skipped = self.n_quads - mark.n_quads if is_replay else 0
        self.n_quads = mark.n_quads
        self.is_full = False

    def drop_marked(self) -> None:
        """Leave out statements with bad escapes from now on."""
        self._drops_marked = True

    def chunks(
        self, blocks: Iterable[bytes], *, has_graphs: bool = False
    ) -> Iterator[QuadLines]:
        """Yield the lines as chunks.

        Args:
            blocks: complete lines of canonical N-Quads; not consumed further when full.
            has_graphs: the lines may name graphs.

        Raises:
            SourceFault: the name of the graph is not an IRI.
        """
        names = self._names_of(has_graphs=has_graphs)
        for lines in blocks:
            kept = self._count(*names.place(self._relabel(self._drop(lines))))
            yield from quad_chunks(kept)
            if self.is_full:
                return

    def _names_of(self, *, has_graphs: bool) -> GraphNames:
        names = self._names.get(has_graphs)
        if names is None:
            names = self._names[has_graphs] = GraphNames(
                None if self._graph is None else check_iri(self._graph),
                url=self._url,
                trust=self._trust,
                has_graphs=has_graphs,
                log=self._log,
            )
        return names

    def _drop(self, lines: bytes) -> bytes:
        """Return the lines without long lines and lines with bad text."""
        if b"^" in lines and _TAGLESS in lines:  # the first is much cheaper
            lines = check(lines, self._log)
        longest = self._limits.literal_bytes
        if len(lines) > longest:
            all_lines = lines.splitlines(keepends=True)
            kept = [line for line in all_lines if len(line) <= longest]
            n_dropped = lines.count(b"\n") - len(kept)
            if n_dropped:
                detail = f"statements longer than {longest} bytes"
                self._log.note(Reason.LITERAL_TOO_LONG, detail, n_dropped)
                lines = b"".join(kept)
        is_damaged = self._log.count(Reason.BAD_CHARSET) > 0  # each was counted
        if (is_damaged or self._drops_marked) and MARK_BYTES in lines:
            n_lines = lines.count(b"\n")
            self.has_unreadable = self.has_unreadable or is_damaged
            all_lines = lines.splitlines(keepends=True)
            lines = b"".join(line for line in all_lines if MARK_BYTES not in line)
            if not is_damaged:
                detail = "a backslash without a valid escape"
                self._log.note(Reason.BAD_TERM, detail, n_lines - lines.count(b"\n"))
        return lines

    def _relabel(self, lines: bytes) -> bytes:
        if b"_" not in lines or b"_:" not in lines:  # the first is much cheaper
            return lines
        if self._blank_nodes is None:
            self._blank_nodes = BlankNodes(self._key)
        return self._blank_nodes.relabel(lines)

    def _count(self, lines: bytes, n_lines: int) -> bytes:
        """Count the statements; leave out statements over the limit."""
        n_left = self._limits.n_quads - self.n_quads
        if n_lines > n_left:
            lines = b"".join(lines.splitlines(keepends=True)[:n_left])
            n_lines = n_left
            self._log.note(Reason.TOO_LARGE, "more statements than are read")
            self.is_full = True
        self.n_quads += n_lines
        return self._skip(lines, n_lines) if self._n_skipped else lines

    def _skip(self, lines: bytes, n_lines: int) -> bytes:
        n_skipped = min(self._n_skipped, n_lines)
        self._n_skipped -= n_skipped
        return b"".join(lines.splitlines(keepends=True)[n_skipped:])
