"""Statements of the log in the forms that SPARQL stores accept.

They are grouped by graph in bounded memory, and cut into parts without splitting blank
nodes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import blake2b
from tempfile import TemporaryFile
from typing import IO, Final

from rdfcrawl.core.errors import StoreFault
from rdfcrawl.stores.followers.statements import graph_of
from rdfcrawl.stores.log.documents import LogDocument

_IRI: Final = re.compile(r'[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|^`\\]*').fullmatch
_LABEL: Final = re.compile(rb"^_:(\S+)|> _:(\S+) \.$", re.MULTILINE)
_LABEL_OR_TEXT: Final = re.compile(rb"(?<= )_:(\S+)|^_:(\S+)")
MAX_LABELS: Final = 2_000_000  # about 250 MB
MAX_WHOLE_BYTES: Final = 64 * 1024 * 1024
_HELD_BYTES: Final = 16 * 1024 * 1024
_MAX_FILES: Final = 256


@dataclass(frozen=True, slots=True)
class GraphContent:
    """The new content of a graph.

    Attributes:
        graph: its name.
        n_bytes: approximate length.
        pieces: returns an iterator of N-Triples in complete lines.
    """

    graph: str
    n_bytes: int
    pieces: Callable[[], Iterator[bytes]]

    @classmethod
    def of_lines(cls, graph: str, lines: bytes) -> GraphContent:
        """Return the content of a graph from memory."""
        return cls(graph, len(lines), lambda: iter((lines,) if lines else ()))


def is_iri(text: str) -> bool:
    """Return whether a name is safe within the angle brackets of a query.

    >>> is_iri("http://e/a"), is_iri("http://e/> } ; DROP ALL"), is_iri("a")
    (True, False, False)
    """
    return _IRI(text) is not None


def triples_of(quads: bytes, graph: str) -> bytes:
    r"""Return quads of one graph as triples.

    >>> triples_of(b"<a:s> <a:p> <a:g> <a:g> .\n", "a:g")
    b'<a:s> <a:p> <a:g> .\n'
    """
    # A literal contains no line feed, so each tail ends a line.
    return quads.replace(b" <%s> .\n" % graph.encode(), b" .\n")


def by_graph(quads: Iterable[bytes]) -> dict[str, list[bytes]]:
    """Return triples by their graph."""
    found: dict[str, list[bytes]] = {}
    for piece in quads:
        for line in piece.splitlines(keepends=True):
            graph = graph_of(line)
            triple = line[: -len(graph.encode()) - 5] + b".\n"
            found.setdefault(graph, []).append(triple)
    return found


def own_content(document: LogDocument) -> GraphContent:
    """Return the content of a document that writes only its own graph."""
    graph = document.graph

    def pieces() -> Iterator[bytes]:
        return (triples_of(piece, graph) for piece in document.pieces())

    return GraphContent(graph, document.n_bytes, pieces)


def data_block(graph: str, triples: Iterable[bytes]) -> bytes:
    """Return triples in the form of `INSERT DATA`."""
    return b"GRAPH <%s> {\n%s}\n" % (graph.encode(), b"".join(triples))


class UncutGraph(StoreFault):
    """The triples of linked blank nodes are too long for one request."""


def iter_parts(
    pieces: Callable[[], Iterator[bytes]], *, max_bytes: int, max_lines: int
) -> Iterator[bytes]:
    """Yield triples in parts, each about as long as a request may be.

    Args:
        pieces: returns an iterator of triples in complete lines; is called twice.
        max_bytes: of a part; exceeded if a blank node requires it.
        max_lines: of a part, likewise.

    Raises:
        UncutGraph: a part would be longer than `MAX_WHOLE_BYTES`.
    """
    last = _last_lines(pieces())
    free, bound = _Part(), _Part()
    until = number = -1
    for piece in pieces():
        for line in piece.splitlines(keepends=True):
            number += 1
            labels = _labels(line) if b"_:" in line else ()
            until = max(until, *(last[each] for each in labels)) if labels else until
            (bound if labels else free).add(line)
            if bound.n_bytes > MAX_WHOLE_BYTES:
                raise UncutGraph(
                    "its blank nodes are too closely linked to cut it into parts"
                )
            if number >= until and bound.n_lines + free.n_lines:
                n_bytes = bound.n_bytes + free.n_bytes
                if n_bytes >= max_bytes or bound.n_lines + free.n_lines >= max_lines:
                    yield bound.take() + free.take()
            elif free.n_bytes >= max_bytes or free.n_lines >= max_lines:
                yield free.take()
    if rest := bound.take() + free.take():
        yield rest


def _labels(line: bytes) -> list[int]:
    # Triple terms contain blank nodes, too; a false match in a string does no harm.
    found = _LABEL_OR_TEXT if b"<<(" in line else _LABEL
    return [hash(one or other) for one, other in found.findall(line)]


def _last_lines(pieces: Iterator[bytes]) -> dict[int, int]:
    """Return the number of the last line of each blank node."""
    last: dict[int, int] = {}
    n_before = 0
    for piece in pieces:
        if b"_:" in piece:
            for number, line in enumerate(piece.splitlines(keepends=True), n_before):
                if b"_:" in line:
                    last.update(dict.fromkeys(_labels(line), number))
            if len(last) > MAX_LABELS:
                raise UncutGraph(f"it has more than {MAX_LABELS:,} blank nodes")
        n_before += piece.count(b"\n")
    return last


class _Part:
    """Lines of one part."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self.n_bytes = 0

    @property
    def n_lines(self) -> int:
        return len(self._lines)

    def add(self, line: bytes) -> None:
        self._lines.append(line)
        self.n_bytes += len(line)

    def take(self) -> bytes:
        taken = b"".join(self._lines)
        self._lines.clear()
        self.n_bytes = 0
        return taken


def iter_contents(document: LogDocument) -> Iterator[GraphContent]:
    """Yield the statements of a document in each graph.

    A long document is first split into unnamed temporary files by graph, which
    disappear if the process is killed. Use each content before requesting the next.

    Raises:
        OSError: the disk is full.
    """
    if document.n_bytes <= _HELD_BYTES:
        yield from _held(document.pieces())
        return
    n_files = min(_MAX_FILES, -(-document.n_bytes // _HELD_BYTES) * 2)
    with ExitStack() as stack:
        files = [stack.enter_context(TemporaryFile()) for _ in range(n_files)]
        _spread(document, files)
        for file in files:
            yield from _contents_of(file)


def _held(pieces: Iterator[bytes]) -> Iterator[GraphContent]:
    for graph, lines in by_graph(pieces).items():
        yield GraphContent.of_lines(graph, b"".join(lines))


def _spread(document: LogDocument, files: Sequence[IO[bytes]]) -> None:
    """Write all quads of a graph into the same file."""
    numbers: dict[str, int] = {}
    for piece in document.pieces():
        for line in piece.splitlines(keepends=True):
            graph = graph_of(line)
            number = numbers.get(graph)
            if number is None:
                if len(numbers) > 100_000:
                    numbers.clear()
                digest = blake2b(graph.encode(), digest_size=4).digest()
                number = numbers[graph] = int.from_bytes(digest, "big") % len(files)
            files[number].write(line)


def _contents_of(file: IO[bytes]) -> Iterator[GraphContent]:
    if file.tell() <= 2 * _HELD_BYTES:
        file.seek(0)
        yield from _held(iter((file.read(),)))
        return
    names: dict[str, int] = {}
    for piece in _pieces_of(file):
        for line in piece.splitlines(keepends=True):
            graph = graph_of(line)
            names[graph] = names.get(graph, 0) + len(line)
    for graph, n_bytes in names.items():  # usually one long graph and short ones
        yield GraphContent(graph, n_bytes, lambda graph=graph: _only(file, graph))  # type: ignore[misc]


def _only(file: IO[bytes], graph: str) -> Iterator[bytes]:
    tail = b" <%s> .\n" % graph.encode()
    for piece in _pieces_of(file):
        lines = [x for x in piece.splitlines(keepends=True) if x.endswith(tail)]
        if lines:
            yield triples_of(b"".join(lines), graph)


def _pieces_of(file: IO[bytes]) -> Iterator[bytes]:
    """Yield lines from the beginning; use one iterator at a time."""
    file.seek(0)
    while lines := file.readlines(256 * 1024):
        yield b"".join(lines)
