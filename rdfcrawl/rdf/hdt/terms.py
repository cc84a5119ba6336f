"""Convert terms between a dictionary and N-Quads.

A dictionary holds IRIs without brackets, literals with quotes but without escapes, and
blank nodes as in N-Quads. The strict parser checks all terms, in batches.
"""

from __future__ import annotations

import io
import re
from bisect import bisect_right
from enum import Enum, auto
from hashlib import blake2b
from itertools import accumulate, chain, cycle, groupby
from typing import TYPE_CHECKING, cast

from rdfcrawl.core import formats
from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.checking import bad_line, new_parser, serialize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_BLANK_NODES = re.compile(rb"(?:_:[A-Za-z0-9]+\n)*+")
_LABEL = re.compile(rb"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?")
_NOT_IN_IRI = bytes(range(0x21)) + b'<>"{}|^`\\'
_NOT_IN_IRIS = _NOT_IN_IRI.replace(b"\n", b"")
# Canonical N-Quads only uses \u for control characters.
_ESCAPE = re.compile(rb"\\(?:u([0-9A-F]{4})|(.))")
_UNESCAPED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}
_BATCH_BYTES = 256 * 1024
_BATCH_TERMS = 4096
_SUFFIX = rb'@[A-Za-z0-9-]+|\^\^<[^\x00-\x20<>"{}|^`\\]+>'
_IS_SUFFIX = re.compile(rb"(?:%b)?" % _SUFFIX)
# Literals, one per line, that are identical in N-Quads.
_AS_THEY_ARE = re.compile(rb'(?:"[^"\\\x00-\x1f\x7f]*"(?:%b)?\n)*+' % _SUFFIX)
_SUFFIXES = re.compile(rb'"(%b|)\n' % _SUFFIX)
_NO_SUFFIX = b'"'  # of bad literals
_MAX_SUFFIXES = 1024

# Canonical N-Quads: the escapes with a letter, the backslash first; \u for the rest.
_LITERAL_ESCAPES = {b"\\": b"\\\\", b'"': b'\\"'} | {
    bytes([code]): b"\\" + letter.encode()
    for code, letter in zip(b"\n\r\t\b\f", "nrtbf", strict=True)
}
_OTHER_CONTROL = re.compile(rb"[\x01-\x07\x0b\x0e-\x1f\x7f]")
_MOST_TOKENS = 4096
_AFTER_ERROR = 16  # size of the batch after a bad term
_BEFORE, _BEHIND = b"<x:> <x:> ", b" .\n"
_IN_QUAD = b" ", b" ", b" ", b" .\n"


class TermWriter:
    """Converter of terms of a dictionary to canonical N-Quads."""

    def __init__(self) -> None:
        self._literals = _LiteralWriter()

    def to_n_quads(
        self, held: Sequence[bytes | Reason], behind: bytes
    ) -> list[bytes | Reason]:
        """Return terms of the dictionary as canonical N-Quads, or reasons.

        Args:
            held: terms, or the reason why one is missing.
            behind: appended to each.

        Raises:
            SourceFault: the parser failed on something other than a term.
        """
        written: list[bytes | Reason] = []
        for batch in _batches(held):
            # Sorted terms are of one kind if the first and the last are.
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
        """Return terms of one kind without escapes; None if there are others."""
        try:
            lines = b"\n".join(cast("Sequence[bytes]", batch)) + b"\n"
        except TypeError:  # one is missing
            return None
        if lines.count(b"\n") != len(batch):
            return None
        kind = _kind(batch[0])
        if kind is _Kind.IRI:
            tokens = (b"<" + lines.replace(b"\n", b">\n<")).split(b"\n")[:-1]
            is_clean = len(lines.translate(None, _NOT_IN_IRIS)) == len(lines)
            if not (is_clean and _are_canonical(tokens)):
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
        """Return terms of one kind, with any characters."""
        if kind is _Kind.NONE:
            return group
        held = cast("list[bytes]", group)
        if kind is _Kind.LITERAL:
            written = self._literals.canonical(held)
        elif kind is _Kind.BLANK:
            written = _canonical_terms([_blank_node(term) for term in held])
        else:
            written = _canonical_terms([_iri(term) for term in held])
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
    """Return a term as an IRI; an empty IRI for other than a single token."""
    is_token = len(held.translate(None, _NOT_IN_IRI)) == len(held)
    return b"<%b>" % held if is_token else b"<>"


def _blank_node(held: bytes) -> bytes:
    """Return a blank node, relabelled if its label is not valid in N-Quads."""
    if _LABEL.fullmatch(held, 2):
        return held
    return b"_:h" + blake2b(held, digest_size=16).hexdigest().encode()


def from_n_quads(tokens: Iterable[bytes]) -> list[bytes]:
    r"""Return terms of canonical N-Quads in dictionary form.

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


class _LiteralWriter:
    """Converter of literals of a dictionary to canonical N-Quads.

    The text between the quotes is escaped here, if UTF-8. The strict parser checks each
    distinct datatype or language once.
    """

    def __init__(self) -> None:
        self._suffixes: dict[bytes, bytes | None] = {}

    def are_canonical(self, lines: bytes) -> bool:
        """Return whether all lines are literals of canonical N-Quads."""
        if not (_AS_THEY_ARE.fullmatch(lines) and _is_utf8(lines)):
            return False
        suffixes = self._canonical(set(_SUFFIXES.findall(lines)))
        return all(old == new for old, new in suffixes.items())

    def canonical(self, held: Sequence[bytes]) -> list[bytes | Reason]:
        """Return literals, which begin with a quote and have no NUL, or `BAD_TERM`."""
        ends = [term.rfind(b'"') for term in held]
        suffixes = [
            term[end + 1 :] if end else _NO_SUFFIX
            for term, end in zip(held, ends, strict=True)
        ]
        texts = [term[1:end] for term, end in zip(held, ends, strict=True)]
        content = b"\0".join(texts)
        if not _is_utf8(content):
            for at, text in enumerate(texts):
                if not _is_utf8(text):
                    suffixes[at] = _NO_SUFFIX
        known = self._canonical(set(suffixes))
        for character, escape in _LITERAL_ESCAPES.items():
            content = content.replace(character, escape)
        content = _OTHER_CONTROL.sub(lambda found: b"\\u%04X" % ord(found[0]), content)
        escaped = content.split(b"\0")
        return [
            Reason.BAD_TERM if new is None else b'"%b"%b' % (text, new)
            for text, new in zip(escaped, map(known.__getitem__, suffixes), strict=True)
        ]

    def _canonical(self, suffixes: set[bytes]) -> dict[bytes, bytes | None]:
        """Return the canonical forms of suffixes, None for bad ones."""
        found = {
            suffix: self._suffixes.get(suffix)
            for suffix in suffixes
            if suffix in self._suffixes
        }
        found |= _canonical_suffixes(suffixes.difference(found))
        if len(self._suffixes) + len(found) <= _MAX_SUFFIXES:
            self._suffixes |= found
        return found


def _canonical_suffixes(suffixes: Iterable[bytes]) -> dict[bytes, bytes | None]:
    found: dict[bytes, bytes | None] = dict.fromkeys(suffixes)
    right = [suffix for suffix in found if _IS_SUFFIX.fullmatch(suffix)]
    for suffix, term in zip(
        right, _canonical_terms([b'""' + suffix for suffix in right]), strict=True
    ):
        found[suffix] = None if isinstance(term, Reason) else term[2:]
    return found


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _are_canonical(iris: list[bytes]) -> bool:
    """Return whether all tokens are IRIs of canonical N-Quads."""
    filled = iris + [b"<x:>"] * (-len(iris) % 4)
    block = b"".join(chain.from_iterable(zip(filled, cycle(_IN_QUAD), strict=False)))
    canonical, error = _canonical(block)
    return error is None and canonical == block


def _canonical_terms(tokens: Sequence[bytes]) -> list[bytes | Reason]:
    """Return the canonical form of each token, or `BAD_TERM`.

    No token contains the end mark of its kind.
    """
    found: list[bytes | Reason] = []
    size = _MOST_TOKENS
    while len(found) < len(tokens):
        some = tokens[len(found) : len(found) + size]
        block = _BEFORE + (_BEHIND + _BEFORE).join(some) + _BEHIND
        canonical, error = _canonical(block)
        lines = canonical.split(b"\n")[:-1]
        found += [line[len(_BEFORE) : -len(b" .")] for line in lines]
        if error is None:
            size = min(size * 4, _MOST_TOKENS)
            continue
        done = min(max(bad_line(error), len(lines) + 1), len(some))
        found += [Reason.BAD_TERM] * (done - len(lines))
        # More bad terms are likely, and each costs the rest of its batch.
        size = _AFTER_ERROR
    return found


def _canonical(block: bytes) -> tuple[bytes, SyntaxError | None]:
    """Return statements as canonical N-Quads, and the error that ended them early."""
    out = io.BytesIO()
    error = serialize(new_parser(block, formats.N_QUADS, None), out)
    if isinstance(error, SourceFault):
        raise error
    return out.getvalue(), error
