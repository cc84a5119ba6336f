"""Hash what a document says, so that documents which say the same are found."""

from __future__ import annotations

import re
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.rdf.labels import BlankNodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.stores.log.documents import LogDocument

HASH_BYTES: Final = 16
_OWN: Final = b" *\n"  # no graph of another document ends like that
_lacks_object: Final = re.compile(rb"[^ \n]++ [^ \n]++ \*\n").fullmatch


class StatementHash(NamedTuple):
    """What a document says, in short.

    Attributes:
        digest: equal for documents that say the same; None: not to be compared.
        n_statements: lines of the document.
    """

    digest: bytes | None
    n_statements: int


def hash_statements(document: LogDocument) -> StatementHash:
    """Return the hash of a document's statements.

    Those of two documents are equal only if the same triples are in the graphs of both,
    whatever the labels of blank nodes, and the same statements in other graphs: whoever
    has one has all that the other one says. Nothing but the name of its own graph is
    left out of a document, so what it says of its own URL is its own. Of at most 1 MiB
    the order of the lines makes no difference, of more it does.

    Documents with less than two statements in their own graph are not compared, as a
    duplicate is told by one there; nor are those with a line that is none.

    Raises:
        OSError: the segment is gone, or cannot be read.
        TornMember: the segment has been damaged since it was read.
    """
    lines = _lines(document)
    found = blake2b(digest_size=HASH_BYTES)
    n_statements = n_own = 0
    if document.quads is not None:
        said = set(chain.from_iterable(lines))
        lines = iter([sorted(said)])
    for some in lines:
        n_statements += len(some)
        n_own += sum(map(_is_own, some))
        found.update(b"".join(some))
        if any(map(_lacks_object, some)):
            return StatementHash(None, n_statements)
    return StatementHash(found.digest() if n_own > 1 else None, n_statements)


def _lines(document: LogDocument) -> Iterator[list[bytes]]:
    """Yield statements with common labels, and without the name of the own graph."""
    labels, tail = BlankNodes(""), b" <%s> .\n" % document.graph.encode()
    for piece in document.pieces():
        # A literal has no line feed in it, so each tail ends a line.
        lines = labels.relabel(piece).replace(tail, _OWN)
        yield lines.splitlines(keepends=True)


def _is_own(line: bytes) -> bool:
    return line.endswith(_OWN)
