"""The graphs of one document of any length, each as a whole, in bounded memory."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Final

from rdfcrawl.followers.graphs import graph_of
from rdfcrawl.followers.sparql.statements import GraphContent, by_graph, triples_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.log.documents import LogDocument

_HELD_BYTES: Final = 16 * 1024 * 1024
_MAX_FILES: Final = 256


def iter_contents(document: LogDocument) -> Iterator[GraphContent]:
    """Yield what a document says in each graph.

    A long document is parted into files by its graphs first. A content is to be used
    before the next is asked for.

    Raises:
        OSError: there is no room for the files.
    """
    if document.n_bytes <= _HELD_BYTES:
        yield from _held(document.pieces())
        return
    n_files = min(_MAX_FILES, -(-document.n_bytes // _HELD_BYTES) * 2)
    with TemporaryDirectory(prefix="rdfcrawl-") as folder:
        for path in _spread(document, Path(folder), n_files):
            yield from _contents_of(path)


def _held(pieces: Iterator[bytes]) -> Iterator[GraphContent]:
    for graph, lines in by_graph(pieces).items():
        yield GraphContent.of_lines(graph, b"".join(lines))


def _spread(document: LogDocument, folder: Path, n_files: int) -> list[Path]:
    """Write all quads of one graph into one file."""
    paths = [folder / str(number) for number in range(n_files)]
    files: list[IO[bytes]] = [path.open("wb") for path in paths]
    numbers: dict[str, int] = {}
    try:
        for piece in document.pieces():
            for line in piece.splitlines(keepends=True):
                graph = graph_of(line)
                number = numbers.get(graph)
                if number is None:
                    if len(numbers) > 100_000:
                        numbers.clear()
                    digest = blake2b(graph.encode(), digest_size=4).digest()
                    number = numbers[graph] = int.from_bytes(digest, "big") % n_files
                files[number].write(line)
    finally:
        for file in files:
            file.close()
    return paths


def _contents_of(path: Path) -> Iterator[GraphContent]:
    if path.stat().st_size <= 2 * _HELD_BYTES:
        yield from _held(iter((path.read_bytes(),)))
        return
    names: dict[str, int] = {}
    for piece in _pieces_of(path):
        for line in piece.splitlines(keepends=True):
            graph = graph_of(line)
            names[graph] = names.get(graph, 0) + len(line)
    for graph, n_bytes in names.items():  # mostly one of them, and the others short
        yield GraphContent(graph, n_bytes, lambda graph=graph: _only(path, graph))  # type: ignore[misc]


def _only(path: Path, graph: str) -> Iterator[bytes]:
    tail = b" <%s> .\n" % graph.encode()
    for piece in _pieces_of(path):
        lines = [x for x in piece.splitlines(keepends=True) if x.endswith(tail)]
        if lines:
            yield triples_of(b"".join(lines), graph)


def _pieces_of(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while lines := file.readlines(256 * 1024):
            yield b"".join(lines)
