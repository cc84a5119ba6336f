"""The statements of one document, each once, as terms of N-Quads."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Statement: TypeAlias = list[bytes]  # subject, predicate, object

_MAX_REMEMBERED: Final = 1_000_000  # statements of one document


def iter_statements(pieces: Iterable[bytes], graph: str) -> Iterator[list[Statement]]:
    """Yield the statements of a document, each once, piece by piece.

    A statement in two graphs is two. Of a document of more than a million statements,
    those that are repeated later may be yielded again.

    Args:
        pieces: whole lines of canonical N-Quads, where each has a graph.
        graph: of the document.
    """
    tail = b" <%s> .\n" % graph.encode()
    seen: set[int] = set()
    former: set[bytes] = set()
    for piece in pieces:
        if len(seen) < _MAX_REMEMBERED:
            seen.update(map(hash, former))
        # A literal has no line feed in it, so each tail ends a line.
        is_of_one_graph = piece.count(tail) == piece.count(b"\n")
        lines = set(piece.split(tail if is_of_one_graph else b"\n"))
        lines.discard(b"")
        if seen:
            lines = {line for line in lines if hash(line) not in seen}
        former = lines
        triples = lines if is_of_one_graph else [x[: x.rfind(b" <")] for x in lines]
        # No IRI and no label has a space in it.
        yield [*map(bytes.split, triples, repeat(b" "), repeat(2))]
