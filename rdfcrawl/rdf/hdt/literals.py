"""Literals of a dictionary as canonical N-Quads.

A dictionary has them with their quotes, but with nothing in them escaped. What is
between the quotes has to be UTF-8 and is escaped here; what is behind them goes through
the strict parser, once for all literals that share it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rdfcrawl.errors import Reason
from rdfcrawl.rdf.hdt.canonical import canonical_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SUFFIX = rb'@[A-Za-z0-9-]+|\^\^<[^\x00-\x20<>"{}|^`\\]+>'
_IS_SUFFIX = re.compile(rb"(?:%b)?" % _SUFFIX)
# Literals, a line each, that are in N-Quads what they are here.
_AS_THEY_ARE = re.compile(rb'(?:"[^"\\\x00-\x1f\x7f]*"(?:%b)?\n)*+' % _SUFFIX)
_SUFFIXES = re.compile(rb'"(%b|)\n' % _SUFFIX)
_NO_SUFFIX = b'"'  # stands for that of what is no literal
_MAX_SUFFIXES = 1024

# Canonical N-Quads: the escapes with a letter, the backslash first; \u for the rest.
_ESCAPES = {b"\\": b"\\\\", b'"': b'\\"'} | {
    bytes([code]): b"\\" + letter.encode()
    for code, letter in zip(b"\n\r\t\b\f", "nrtbf", strict=True)
}
_OTHER_CONTROL = re.compile(rb"[\x01-\x07\x0b\x0e-\x1f\x7f]")


class LiteralWriter:
    """Makes terms of canonical N-Quads of literals of a dictionary."""

    __slots__ = ("_suffixes",)

    def __init__(self) -> None:
        self._suffixes: dict[bytes, bytes | None] = {}

    def are_canonical(self, lines: bytes) -> bool:
        """Return whether lines are literals that N-Quads has as they are."""
        if not (_AS_THEY_ARE.fullmatch(lines) and _is_utf8(lines)):
            return False
        suffixes = self._canonical(set(_SUFFIXES.findall(lines)))
        return all(old == new for old, new in suffixes.items())

    def canonical(self, held: Sequence[bytes]) -> list[bytes | Reason]:
        """Return literals as canonical N-Quads, or `BAD_TERM` for what is none.

        Args:
            held: each begins with a quote and has no NUL.
        """
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
        escaped = _escaped(content).split(b"\0")
        return [
            Reason.BAD_TERM if new is None else b'"%b"%b' % (text, new)
            for text, new in zip(escaped, map(known.__getitem__, suffixes), strict=True)
        ]

    def _canonical(self, suffixes: set[bytes]) -> dict[bytes, bytes | None]:
        """Return the canonical forms of suffixes, None for what is none."""
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
        right, canonical_terms([b'""' + suffix for suffix in right]), strict=True
    ):
        found[suffix] = None if isinstance(term, Reason) else term[2:]
    return found


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _escaped(text: bytes) -> bytes:
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return _OTHER_CONTROL.sub(lambda found: b"\\u%04X" % ord(found[0]), text)
