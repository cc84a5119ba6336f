"""Write statements of RDF 1.2 in RDF 1.1, which all programs read.

The base direction of a text becomes part of its datatype, as JSON-LD has it
(`https://www.w3.org/ns/i18n#ar_rtl`). A triple term becomes a node with the statements
of RDF reification: the subject of `rdf:reifies`, or a blank node of its own.
"""

from __future__ import annotations

import logging
import re
from hashlib import blake2b
from typing import Final

from rdfcrawl.core.messages import counted
from rdfcrawl.core.namespaces import RDF

logger = logging.getLogger(__name__)

I18N: Final = "https://www.w3.org/ns/i18n#"
"""Namespace of datatypes that are a language with a base direction."""

TRIPLE_TERM: Final = "with a triple term"
"""Reason for statements that are left out."""

_STRING: Final = rb'"(?>[^"\\\n]++|\\.)*+"?'
_TEXT: Final = re.compile(
    rb"(" + _STRING + rb")(?:@([A-Za-z0-9]+(?:-[A-Za-z0-9]+)*)--(ltr|rtl))?"
)
_TERM: Final = re.compile(
    rb"<<\(|\)>>|<[^<> \n]*+>|_:[^ \n]++|"
    + _STRING
    + rb"(?:@[^ \n]++|\^\^<[^<> \n]*+>)?"
)
_BEGIN: Final = b" <<( "
_DIRECTIONS: Final = b"--ltr ", b"--rtl "
_REIFIES: Final = f"<{RDF}reifies>".encode()
_REIFICATION: Final = f"%s <{RDF}type> <{RDF}Statement> %s.\n" + "".join(
    f"%s <{RDF}{name}> %s %s.\n" for name in ("subject", "predicate", "object")
)
_MAX_KNOWN: Final = 2**18  # terms and reifiers of a document


def has_triple_term(line: bytes) -> bool:
    """Return whether the object of a statement is a triple term."""
    return _BEGIN in line and line.split(b" ", 3)[2] == b"<<("


def is_rdf_12(line: bytes) -> bool:
    """Return whether a statement has a triple term or a base direction."""
    if has_triple_term(line):
        return True
    may_be = any(each in line for each in _DIRECTIONS)
    return may_be and any(found[2] for found in _TEXT.finditer(line))


def count_rdf_12(quads: bytes) -> int:
    """Return the number of statements with a triple term or a base direction."""
    if not any(each in quads for each in (_BEGIN, *_DIRECTIONS)):
        return 0
    return sum(map(is_rdf_12, quads.splitlines(keepends=True)))


class Rdf11Converter:
    r"""Converter of the statements of one document.

    Args:
        omits_triple_terms: leave out statements with triple terms.

    Attributes:
        n_left_out: such statements.

    >>> Rdf11Converter().convert(b'<x:s> <x:p> "a"@en--ltr <x:g> .\n')
    b'<x:s> <x:p> "a"^^<https://www.w3.org/ns/i18n#en_ltr> <x:g> .\n'
    """

    def __init__(self, *, omits_triple_terms: bool = False) -> None:
        self._omits = omits_triple_terms
        self._terms: dict[bytes, bytes] = {}  # by reifier
        self._described: set[bytes] = set()
        self.n_left_out = 0

    def convert(self, quads: bytes) -> bytes:
        """Return statements, complete lines of N-Quads, in RDF 1.1."""
        if any(each in quads for each in _DIRECTIONS):
            quads = _TEXT.sub(_without_direction, quads)
        if _BEGIN not in quads:
            return quads
        lines = quads.splitlines(keepends=True)
        return b"".join(
            [self._converted(x) if has_triple_term(x) else x for x in lines]
        )

    def _converted(self, line: bytes) -> bytes:
        if self._omits:
            self.n_left_out += 1
            return b""
        terms: list[bytes] = []
        open_: list[int] = []  # where triple terms begin
        found: list[tuple[bytes, list[bytes]]] = []
        for token in _TERM.findall(line):
            if token == b"<<(":
                open_.append(len(terms))
            elif token == b")>>":
                begin = open_.pop()
                parts = terms[begin:]
                is_reified = not open_ and terms[1] == _REIFIES
                node = self._node(parts, terms[0] if is_reified else b"")
                found.append((node, parts))
                terms[begin:] = [node]
            else:
                terms.append(token)
        graph = b" ".join([*terms[3:], b""])
        own = b"" if terms[2] == terms[0] else b" ".join([*terms[:3], graph]) + b".\n"
        return own + b"".join(self._reification(*each, graph) for each in found)

    def _node(self, parts: list[bytes], reifier: bytes) -> bytes:
        """Return the node of a triple term: its reifier, unless that has another."""
        term = blake2b(b" ".join(parts), digest_size=16).hexdigest().encode()
        if reifier and len(self._terms) < _MAX_KNOWN:
            self._terms.setdefault(reifier, term)
        is_own = reifier and self._terms.get(reifier) == term
        return reifier if is_own else b"_:t" + term

    def _reification(self, node: bytes, parts: list[bytes], graph: bytes) -> bytes:
        key = node + graph
        if key in self._described:
            return b""
        if len(self._described) < _MAX_KNOWN:
            self._described.add(key)
        values = [(node, part, graph) for part in parts]
        return _REIFICATION.encode() % (node, graph, *(x for y in values for x in y))


def _without_direction(found: re.Match[bytes]) -> bytes:
    if not found[2]:
        return found[0]
    language = found[2].lower()
    return b"%s^^<%s%s_%s>" % (found[1], I18N.encode(), language, found[3])


def warn_of_triple_terms(n_left_out: int, target: str) -> None:
    """Log the number of statements with triple terms, which a library does not have."""
    if n_left_out:
        count = counted(
            n_left_out,
            "statement with a triple term is",
            "statements with triple terms are",
        )
        logger.warning("%s left out: %s has no such terms", count, target)
