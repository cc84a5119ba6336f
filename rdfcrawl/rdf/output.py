"""Convert the statements of any reader to the output of a document.

`BlankNodes` names blank nodes by the URL of their document and their order. The parser
keeps labels of the document, which clash between documents, and assigns random ones to
unlabelled nodes, which differ in every crawl. Here the n-th blank node of a document is
`_:b<hash of its URL>n<n>`, so an unchanged document results in unchanged bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple, NewType

from rdfcrawl.core.errors import NeedsSandbox, Reason
from rdfcrawl.rdf.checking import TripleLines, check
from rdfcrawl.rdf.graphs import GraphNames, Trust, check_iri
from rdfcrawl.rdf.links.policy import has_triple_terms
from rdfcrawl.rdf.text import MARK_BYTES

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.rdf.environment import ParseLimits


# Nodes numbered per document, in about 60 MB. Later nodes are named by a hash of their
# label from the parser: equal labels stay equal, but nodes without label in the
# document then differ between crawls.
MAX_NUMBERED = 2**18

# Literals of canonical N-Quads contain no line break, so a blank node is found by
# its position in the line: a subject at the beginning; object and graph at the end, not
# followed by a quotation mark, unlike a label in a literal: `"see _:b"@en .`,
# `"_:b <c"^^<http://d> .` The constant prefix `_:` comes first to speed up the search.
_LABEL = re.compile(
    rb"(_:(?:(?<=\n_:)[^ ]++"
    rb"|(?<= _:)[^ \"]++(?= (?:<[^ \"<>\n]*+> |_:[^ \"\n]++ )?\.\n)))"
)
# Triple terms contain labels anywhere: skip literals and IRIs.
_TOKEN = re.compile(
    rb'("(?>[^"\\\n]++|\\.)*+"|\\.|<[^<> \n]*+>)|(?:(?<=[ \n])(_:[^ \n]++)(?= ))'
)


def without_labels(lines: bytes) -> bytes:
    """Return lines of canonical N-Quads with equal labels for all blank nodes."""
    if has_triple_terms(lines):
        return _TOKEN.sub(lambda found: found[1] or b"_:", b"\n" + lines)[1:]
    return _LABEL.sub(b"_:", b"\n" + lines)[1:]


class BlankNodes(dict[bytes, bytes]):
    """The blank nodes of one document: new labels by old ones, in order."""

    def __init__(self, url: str) -> None:
        super().__init__()
        digest = blake2b(url.encode("utf-8", "surrogatepass"), digest_size=5)
        self._prefix = b"_:b" + digest.hexdigest().encode()
        self._form = self._prefix + b"n%d"

    def __missing__(self, old: bytes) -> bytes:
        n = len(self)
        if n >= MAX_NUMBERED:
            digest = blake2b(old, digest_size=16, key=self._prefix).hexdigest()
            return b"%sh%s" % (self._prefix, digest.encode())
        new = self[old] = self._form % n
        return new

    def forget(self, n_kept: int) -> None:
        """Remove all but the first labels; the other numbers are reused."""
        while len(self) > n_kept:
            self.popitem()

    def relabel(self, lines: bytes) -> bytes:
        """Return lines of canonical N-Quads with every blank node relabelled."""
        return self.relabelled(lines)[0]

    def relabelled(self, lines: bytes) -> tuple[bytes, bytes]:
        """Return the result of `relabel`, and that of `without_labels`."""
        if has_triple_terms(lines):
            new = _TOKEN.sub(lambda x: x[1] or self[x[2]], b"\n" + lines)[1:]
            return new, without_labels(lines)
        if lines.startswith(b"_:"):
            new, bare = self.relabelled(b"\n" + lines)
            return new[1:], bare[1:]
        parts = _LABEL.split(lines)
        if len(parts) == 1:
            return lines, lines
        bare = b"_:".join(parts[::2])
        parts[1::2] = map(self.__getitem__, parts[1::2])
        return b"".join(parts), bare


QuadLines = NewType("QuadLines", bytes)
"""Complete lines of N-Quads: at least one, and at most `CHUNK_BYTES` or one line.

Only `quad_chunks` and `joined_chunks` make chunks. All readers yield them, and all
consumers rely on their form: an empty block of lines is not a chunk, and not the end of
a document.
"""

CHUNK_BYTES: Final = 256 * 1024


def quad_chunks(lines: bytes) -> Iterator[QuadLines]:
    r"""Yield complete lines as chunks; a line longer than a chunk is a chunk itself.

    >>> list(quad_chunks(b"")), list(quad_chunks(b"<urn:a> <urn:b> <urn:c> .\n"))
    ([], [b'<urn:a> <urn:b> <urn:c> .\n'])
    """
    begin, n_bytes = 0, len(lines)
    while n_bytes - begin > CHUNK_BYTES:
        cut = lines.rfind(b"\n", begin, begin + CHUNK_BYTES) + 1
        cut = cut or lines.find(b"\n", begin) + 1
        yield QuadLines(lines[begin:cut])
        begin = cut
    if begin < n_bytes:
        yield QuadLines(lines[begin:] if begin else lines)


def joined_chunks(chunks: Iterable[QuadLines]) -> Iterator[QuadLines]:
    """Yield the chunks of a document in as few chunks as possible.

    Each chunk passes all pipelines, and a page has one for each of its extractors.

    Raises:
        Exception: from the chunks, after those before it; `NeedsSandbox` without.
    """
    held: list[bytes] = []
    n_bytes = 0
    raised: Exception | None = None
    try:
        for chunk in chunks:
            if held and n_bytes + len(chunk) > CHUNK_BYTES:
                yield QuadLines(b"".join(held))
                held.clear()
                n_bytes = 0
            held.append(chunk)
            n_bytes += len(chunk)
    except NeedsSandbox:
        raise
    except Exception as error:
        raised = error
    if held:
        yield QuadLines(b"".join(held) if len(held) > 1 else held[0])
    if raised is not None:
        raise raised


# The end of `rdf:langString` and `rdf:dirLangString`. pyoxigraph accepts such literals
# without a language, and writes them in a form that strict readers refuse.
_TAGLESS = b"angString>"


def has_tagless_strings(lines: bytes) -> bool:
    """Return whether lines may have such literals: one byte is found much faster."""
    return b"^" in lines and _TAGLESS in lines


class OutputMark(NamedTuple):
    """A position in the output to return to."""

    n_quads: int
    n_blank_nodes: int


@dataclass(eq=False, kw_only=True)
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

    url: str
    graph: str | None
    limits: ParseLimits
    log: FaultLog
    key: str = ""
    trust: Trust = "same-origin"
    n_quads: int = field(default=0, init=False)
    is_full: bool = field(default=False, init=False)
    has_unreadable: bool = field(default=False, init=False)
    # most documents have none
    _blank_nodes: BlankNodes | None = field(default=None, init=False)
    _names: dict[bool, GraphNames] = field(default_factory=dict, init=False)
    # the last chunk, and its statements as `bare` returns them
    _last: tuple[bytes, bytes] = field(default=(b"", b""), init=False)
    _drops_marked: bool = field(default=False, init=False)
    _n_skipped: int = field(default=0, init=False)  # statements to skip

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
        self,
        blocks: Iterable[bytes],
        *,
        has_graphs: bool = False,
        all_named: bool = False,
    ) -> Iterator[QuadLines]:
        """Yield the lines as chunks.

        Args:
            blocks: complete lines of canonical N-Quads; not consumed further when full.
            has_graphs: the lines may name graphs.
            all_named: each line does, if `has_graphs`.

        Raises:
            SourceFault: the name of the graph is not an IRI.
        """
        names = self._names.get(has_graphs)
        if names is None:
            names = self._names[has_graphs] = GraphNames(
                None if self.graph is None else check_iri(self.graph),
                url=self.url,
                trust=self.trust,
                has_graphs=has_graphs,
                log=self.log,
            )
        for lines in blocks:
            relabelled, bare = self._relabel(self._drop(lines))
            placed, n_lines, are_own = names.place(
                relabelled,
                all_named=all_named,
                none_named=isinstance(lines, TripleLines),
            )
            kept = self._count(placed, n_lines)
            if are_own and kept is placed:
                self._last = kept, bare
            yield from quad_chunks(kept)
            if self.is_full:
                return

    def bare(self, chunk: QuadLines) -> bytes | None:
        """Return the statements of a chunk as N-Triples with `_:` as all labels.

        Only those of the last chunk are known, if all are in the graph of the document.
        """
        last, bare = self._last
        return bare if last is chunk else None

    def _drop(self, lines: bytes) -> bytes:
        """Return the lines without long lines and lines with bad text."""
        if has_tagless_strings(lines):
            lines = check(lines, self.log)
        longest = self.limits.literal_bytes
        if len(lines) > longest:
            all_lines = lines.splitlines(keepends=True)
            kept = [line for line in all_lines if len(line) <= longest]
            n_dropped = lines.count(b"\n") - len(kept)
            if n_dropped:
                detail = f"statements longer than {longest} bytes"
                self.log.note(Reason.LITERAL_TOO_LONG, detail, n_dropped)
                lines = b"".join(kept)
        is_damaged = self.log.count(Reason.BAD_CHARSET) > 0  # each was counted
        if (is_damaged or self._drops_marked) and MARK_BYTES in lines:
            n_lines = lines.count(b"\n")
            self.has_unreadable = self.has_unreadable or is_damaged
            all_lines = lines.splitlines(keepends=True)
            lines = b"".join(line for line in all_lines if MARK_BYTES not in line)
            if not is_damaged:
                detail = "a backslash without a valid escape"
                self.log.note(Reason.BAD_TERM, detail, n_lines - lines.count(b"\n"))
        return lines

    def _relabel(self, lines: bytes) -> tuple[bytes, bytes]:
        if b"_" not in lines or b"_:" not in lines:  # the first is much cheaper
            return lines, lines
        if self._blank_nodes is None:
            self._blank_nodes = BlankNodes(self.key or self.url)
        return self._blank_nodes.relabelled(lines)

    def _count(self, lines: bytes, n_lines: int) -> bytes:
        """Count the statements; leave out statements over the limit."""
        n_left = self.limits.n_quads - self.n_quads
        if n_lines > n_left:
            lines = b"".join(lines.splitlines(keepends=True)[:n_left])
            n_lines = n_left
            self.log.note(Reason.TOO_LARGE, "more statements than are read")
            self.is_full = True
        self.n_quads += n_lines
        if self._n_skipped:
            n_skipped = min(self._n_skipped, n_lines)
            self._n_skipped -= n_skipped
            lines = b"".join(lines.splitlines(keepends=True)[n_skipped:])
        return lines
