"""Terms as HDT holds them, to and from N-Quads.

An IRI stands there without brackets, a literal with its quotes but with nothing in it
escaped, a blank node as in N-Quads.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from enum import Enum, auto
from hashlib import blake2b
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, cast

from rdfcrawl.errors import Reason
from rdfcrawl.rdf.hdt.canonical import are_canonical, canonical_terms
from rdfcrawl.rdf.hdt.literals import LiteralWriter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_BLANK_NODES = re.compile(rb"(?:_:[A-Za-z0-9]+\n)*+")
_LABEL = re.compile(rb"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?")
_NOT_IN_IRI = bytes(range(0x21)) + b'<>"{}|^`\\'
_NOT_IN_IRIS = _NOT_IN_IRI.replace(b"\n", b"")
# Canonical N-Quads has \u for control characters alone.
_ESCAPE = re.compile(rb"\\(?:u([0-9A-F]{4})|(.))")
_UNESCAPED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}
_BATCH_BYTES = 256 * 1024
_BATCH_TERMS = 4096


class TermWriter:
    """Makes terms of canonical N-Quads of terms of a dictionary."""

    __slots__ = ("_literals",)

    def __init__(self) -> None:
        self._literals = LiteralWriter()

    def to_n_quads(
        self, held: Sequence[bytes | Reason], behind: bytes
    ) -> list[bytes | Reason]:
        """Return terms as canonical N-Quads.

        Args:
            held: as the dictionary holds them, or why one could not be had.
            behind: written behind each.

        Returns:
            One for each; `BAD_TERM` where it is no term.

        Raises:
            SourceFault: the parser failed in another way than on a term.
        """
        written: list[bytes | Reason] = []
        for batch in _batches(held):
            # Sorted terms are mostly of one kind, as the first and the last tell.
            if _kind(batch[0]) is _kind(batch[-1]):
                together = self._together(batch, behind)
                if together is not None:
                    written += together
                    continue
            for kind, same in groupby(batch, _kind):
                group = list(same)
                written += self._together(group, behind) or (
                    self._apart(kind, group, behind)
                )
        return written

    def _together(
        self, batch: Sequence[bytes | Reason], behind: bytes
    ) -> list[bytes] | None:
        """Return terms of one kind that need no escape; None if they are not that."""
        try:
            lines = b"\n".join(cast("Sequence[bytes]", batch)) + b"\n"
        except TypeError:  # one could not be had
            return None
        if lines.count(b"\n") != len(batch):
            return None
        kind = _kind(batch[0])
        if kind is _Kind.IRI:
            tokens = (b"<" + lines.replace(b"\n", b">\n<")).split(b"\n")[:-1]
            is_clean = len(lines.translate(None, _NOT_IN_IRIS)) == len(lines)
            if not (is_clean and are_canonical(tokens)):
                return None
            return [token + behind for token in tokens]
        if kind is _Kind.LITERAL:
            is_good = self._literals.are_canonical(lines)
        else:
            is_good = _BLANK_NODES.fullmatch(lines) is not None
        same = cast("Sequence[bytes]", batch)
        return [term + behind for term in same] if is_good else None

    def _apart(
        self, kind: _Kind, group: list[bytes | Reason], behind: bytes
    ) -> list[bytes | Reason]:
        """Return terms of one kind, whatever is in them."""
        if kind is _Kind.NONE:
            return group
        held = cast("list[bytes]", group)
        if kind is _Kind.LITERAL:
            written = self._literals.canonical(held)
        elif kind is _Kind.BLANK:
            written = canonical_terms([_blank_node(term) for term in held])
        else:
            written = canonical_terms([_iri(term) for term in held])
        return [x if isinstance(x, Reason) else x + behind for x in written]


class _Kind(Enum):
    IRI = auto()
    LITERAL = auto()
    BLANK = auto()
    NONE = auto()


def _kind(term: bytes | Reason) -> _Kind:
    if isinstance(term, Reason):
        return _Kind.NONE
    if term[:1] == b'"':
        return _Kind.LITERAL
    return _Kind.BLANK if term[:2] == b"_:" else _Kind.IRI


def _batches(held: Sequence[bytes | Reason]) -> Iterator[Sequence[bytes | Reason]]:
    ends = list(accumulate(map(len, held)))
    begin = n_bytes = 0
    while begin < len(held):
        end = bisect_right(ends, n_bytes + _BATCH_BYTES, begin + 1)
        end = min(end, begin + _BATCH_TERMS)
        yield held[begin:end]
        begin, n_bytes = end, ends[end - 1]


def _iri(held: bytes) -> bytes:
    """Return a term as an IRI; as one that is none if it is not a single token."""
    is_token = len(held.translate(None, _NOT_IN_IRI)) == len(held)
    return b"<%b>" % held if is_token else b"<>"


def _blank_node(held: bytes) -> bytes:
    """Return a blank node, under another label if N-Quads cannot write its own."""
    if _LABEL.fullmatch(held, 2):
        return held
    return b"_:h" + blake2b(held, digest_size=16).hexdigest().encode()


def from_n_quads(tokens: Iterable[bytes]) -> list[bytes]:
    r"""Return terms of canonical N-Quads as a dictionary holds them.

    >>> from_n_quads([b"<http://example.org/>", rb'"a\"b"@en'])
    [b'http://example.org/', b'"a"b"@en']
    """
    return [
        token[1:-1]
        if token[:1] == b"<"
        else _ESCAPE.sub(_unescaped, token)
        if b"\\" in token
        else token
        for token in tokens
    ]


def _unescaped(found: re.Match[bytes]) -> bytes:
    if found[1]:
        return chr(int(found[1], 16)).encode()
    return _UNESCAPED.get(found[2], found[2])
