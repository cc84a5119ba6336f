"""Takes the lines that are to be written: checked, canonical, without graph names."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from rdfcrawl import formats
from rdfcrawl.errors import Reason
from rdfcrawl.rdf.checking import check
from rdfcrawl.rdf.parser import new_parser, serialize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rdfcrawl.faultlog import FaultLog

_BLOCK_BYTES = 512 * 1024
_TERM = rb"(?:<[^ ]*>|_:[^ ]+|\"(?:[^\"\\]|\\.)*\"(?:@[^ ]+|\^\^<[^ ]*>)?)"
# A line of canonical N-Quads that is not about a triple term.
_QUAD = re.compile(rb"(%b %b %b )(?:%b )?\.\n" % (_TERM, _TERM, _TERM, _TERM))
# An escape of U+0000, and not the letters after an escaped backslash.
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


def iter_triples(lines: Iterable[bytes], log: FaultLog) -> Iterator[bytes]:
    """Yield blocks of whole lines of canonical N-Triples.

    Args:
        lines: of N-Triples or N-Quads, or blocks of whole lines.
        log: takes `BAD_TERM` for what is no statement or none of RDF 1.1, and
            `NUL_CHARACTER` for statements with U+0000, which HDT cannot hold.
    """
    for block in _blocks(lines):
        out = io.BytesIO()
        error = serialize(new_parser(block, formats.N_TRIPLES, None), out)
        triples = check(block, log) if error else out.getvalue()
        if error or b"<<(" in triples or b"\\u0000" in triples:
            triples = b"".join(_kept(triples, log))
        if triples:
            yield triples


def _blocks(lines: Iterable[bytes]) -> Iterator[bytes]:
    parts: list[bytes] = []
    n_bytes = 0
    for line in lines:
        parts.append(line)
        if not line.endswith(b"\n"):
            parts.append(b"\n")
        n_bytes += len(line)
        if n_bytes >= _BLOCK_BYTES:
            yield b"".join(parts)
            parts.clear()
            n_bytes = 0
    if parts:
        yield b"".join(parts)


def _kept(quads: bytes, log: FaultLog) -> Iterator[bytes]:
    """Yield the lines that HDT can hold, without the names of graphs."""
    for line in quads.splitlines(keepends=True):
        found = _QUAD.fullmatch(line)
        if found is None:
            log.note(Reason.BAD_TERM, "statements about triple terms")
        elif b"\\u0000" in line and _NUL.search(line):
            log.note(Reason.NUL_CHARACTER, "statements with U+0000 in a literal")
        else:
            yield found[1] + b".\n"
