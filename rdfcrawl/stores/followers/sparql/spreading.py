"""Group the statements of a document of any length by graph, in bounded memory."""

from __future__ import annotations

from contextlib import ExitStack
from hashlib import blake2b
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Final

from rdfcrawl.stores.followers.graphs import graph_of
from rdfcrawl.stores.followers.sparql.statements import (
    GraphContent,
    by_graph,
    triples_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rdfcrawl.stores.log.documents import LogDocument

_HELD_BYTES: Final = 16 * 1024 * 1024
_MAX_FILES: Final = 256


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
