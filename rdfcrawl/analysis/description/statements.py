"""The distinct statements of one document, as terms of N-Quads."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Statement: TypeAlias = list[bytes]  # subject, predicate, object

_MAX_REMEMBERED: Final = 1_000_000  # statements of one document


def iter_statements(pieces: Iterable[bytes], graph: str) -> Iterator[list[Statement]]:
    """Yield the distinct statements of a document, piece by piece.

    The same triple in two graphs counts twice. In a document of more than a million
    statements, later repetitions may be yielded.

    Args:
        pieces: complete lines of canonical N-Quads, each with a graph.
        graph: of the document.
    """
    tail = b" <%s> .\n" % graph.encode()
    seen: set[int] = set()
    former: set[bytes] = set()
    for piece in pieces:
        if len(seen) < _MAX_REMEMBERED:
            seen.update(map(hash, former))
        # Literals contain no line feed, so each tail ends a line.
        is_of_one_graph = piece.count(tail) == piece.count(b"\n")
        lines = set(piece.split(tail if is_of_one_graph else b"\n"))
        lines.discard(b"")
        if seen:
            lines = {line for line in lines if hash(line) not in seen}
        former = lines
        triples = lines if is_of_one_graph else [x[: x.rfind(b" <")] for x in lines]
        # IRIs and labels contain no space.
        yield [*map(bytes.split, triples, repeat(b" "), repeat(2))]
