"""Hash the statements of documents, to find duplicates."""

from __future__ import annotations

import re
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.rdf.output import BlankNodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.stores.log.documents import LogDocument

HASH_BYTES: Final = 16
_OWN: Final = b" *\n"  # no other graph name ends like this
_lacks_object: Final = re.compile(rb"[^ \n]++ [^ \n]++ \*\n").fullmatch


class StatementHash(NamedTuple):
    """Hash of the statements of a document.

    Attributes:
        digest: equal for documents with the same statements; None: cannot be compared.
        n_statements: lines of the document.
    """

    digest: bytes | None
    n_statements: int


def hash_statements(document: LogDocument) -> StatementHash:
    """Return the hash of a document's statements.

    Two hashes are equal only if both documents have the same triples in the graph of
    their own URL, up to the labels of blank nodes, and the same statements in other
    graphs. Only the name of its own graph is removed from a document, so statements
    about its own URL make it unique. The order of the lines is ignored up to 1 MiB.

    Documents with less than two statements in their own graph have no digest, since a
    link to a representative is one statement; nor have those with an invalid line.

    Raises:
        OSError: the segment is gone or cannot be read.
        TornMember: the segment has been damaged since it was read.
    """
    lines = _lines(document)
    found = blake2b(digest_size=HASH_BYTES)
    n_statements = n_own = 0
    if document.quads is not None:
        distinct = set(chain.from_iterable(lines))
        lines = iter([sorted(distinct)])
    for some in lines:
        n_statements += len(some)
        n_own += sum(map(_is_own, some))
        found.update(b"".join(some))
        if any(map(_lacks_object, some)):
            return StatementHash(None, n_statements)
    return StatementHash(found.digest() if n_own > 1 else None, n_statements)


def _lines(document: LogDocument) -> Iterator[list[bytes]]:
    """Yield statements with common labels, and without the name of their own graph."""
    labels, tail = BlankNodes(""), b" <%s> .\n" % document.graph.encode()
    for piece in document.pieces():
        # A literal contains no line feed, so each tail ends a line.
        lines = labels.relabel(piece).replace(tail, _OWN)
        yield lines.splitlines(keepends=True)


def _is_own(line: bytes) -> bool:
    return line.endswith(_OWN)
