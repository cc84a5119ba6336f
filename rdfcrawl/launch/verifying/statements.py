"""Compare the statements of documents, on disk if they are long."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from rdfcrawl.stores.followers.verification import (
    compare_statements,
    is_same,
    quads_of,
)
from rdfcrawl.stores.log.documents import LogDocument

_HELD_BYTES: Final = 1024 * 1024
_CHANGES: Final = b"<http://www.openarchives.org/rs/terms/"
_ONE_GRAPH: Final = b" <urn:x-rdfcrawl:one> .\n"


def are_same(
    ones: Sequence[LogDocument], others: Sequence[LogDocument], scratch: Path
) -> bool | None:
    """Return whether documents have the same statements; None if it is unknown.

    The graphs of documents count as one; other graphs are compared by their names.

    Args:
        ones: documents.
        others: likewise.
        scratch: folder of temporary files.
    """
    if [each.digest for each in ones] == [each.digest for each in others]:
        return True
    is_one = len({each.graph for each in (*ones, *others)}) == 1
    read = _as_they_are if is_one else _in_one_graph
    statements = read(ones), read(others)
    if (
        max(sum(each.n_bytes for each in some) for some in (ones, others))
        <= _HELD_BYTES
    ):
        return is_same(*map(quads_of, statements))
    kinds = {*compare_statements(*statements, scratch).values()} - {"equal"}
    return None if kinds == {"not_compared"} else not kinds


def _as_they_are(documents: Iterable[LogDocument]) -> Iterator[bytes]:
    for each in documents:
        yield from lasting(each)


def _in_one_graph(documents: Iterable[LogDocument]) -> Iterator[bytes]:
    for each in documents:
        end = re.escape(f" <{each.graph}> .\n".encode())
        renamed: Callable[..., bytes] = re.compile(end).sub
        for piece in lasting(each):
            yield renamed(_ONE_GRAPH, piece)


def lasting(document: LogDocument) -> Iterator[bytes]:
    """Yield the statements of a document, without those about its last change.

    The description of a resource has these if a list of changes led to it.
    """
    for piece in document.pieces():
        yield _without_changes(b"", piece) if _CHANGES in piece else piece


_without_changes: Final = re.compile(
    rb"^<[^>\n]*> <http://www\.openarchives\.org/rs/terms/(?:change|datetime)> .*\n",
    re.MULTILINE,
).sub
