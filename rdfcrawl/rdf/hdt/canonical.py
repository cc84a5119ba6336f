"""Puts terms through the strict parser, many at a time."""

from __future__ import annotations

import io
from itertools import chain, cycle
from typing import TYPE_CHECKING

from rdfcrawl import formats
from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.rdf.parser import new_parser, serialize
from rdfcrawl.rdf.recovery import bad_line

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_TOKENS = 4096
_AFTER_ERROR = 16  # terms that are tried together behind a bad one
_BEFORE, _BEHIND = b"<x:> <x:> ", b" .\n"
_IN_QUAD = b" ", b" ", b" ", b" .\n"


def are_canonical(iris: list[bytes]) -> bool:
    """Return whether tokens are IRIs, as canonical N-Quads has them.

    Raises:
        SourceFault: the parser failed in another way than on a term.
    """
    filled = iris + [b"<x:>"] * (-len(iris) % 4)
    block = b"".join(chain.from_iterable(zip(filled, cycle(_IN_QUAD), strict=False)))
    canonical, error = _canonical(block)
    return error is None and canonical == block


def canonical_terms(tokens: Sequence[bytes]) -> list[bytes | Reason]:
    """Return the canonical form of tokens, or `BAD_TERM` for what is no term.

    Args:
        tokens: none holds what ends a token of its kind.

    Raises:
        SourceFault: the parser failed in another way than on a term.
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
        # Behind a bad term there may be more, and each costs the rest of its batch.
        size = _AFTER_ERROR
    return found


def _canonical(block: bytes) -> tuple[bytes, SyntaxError | None]:
    """Return statements as canonical N-Quads, up to an error."""
    out = io.BytesIO()
    error = serialize(new_parser(block, formats.N_QUADS, None), out)
    if isinstance(error, SourceFault):
        raise error
    return out.getvalue(), error
