"""Chunks of N-Quads: the unit of statements in the pipelines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NewType

QuadLines = NewType("QuadLines", bytes)
"""Complete lines of N-Quads: at least one, and at most `CHUNK_BYTES` or one line.

Only `quad_chunks` makes chunks. All readers yield them, and all consumers rely on their
form: an empty block of lines is not a chunk, and not the end of a document.
"""

CHUNK_BYTES: Final = 256 * 1024


def quad_chunks(lines: bytes) -> Iterator[QuadLines]:
    r"""Yield complete lines as chunks; a line longer than a chunk is a chunk itself.

    >>> list(quad_chunks(b"")), list(quad_chunks(b"<urn:a> <urn:b> <urn:c> .\n"))
    ([], [b'<urn:a> <urn:b> <urn:c> .\n'])
    """
    begin, n_bytes = 0, len(lines)
    while n_bytes - begin > CHUNK_BYTES:
        cut = lines.rfind(b"\n", begin, begin + CHUNK_BYTES) + 1
        cut = cut or lines.find(b"\n", begin) + 1
        yield QuadLines(lines[begin:cut])
        begin = cut
    if begin < n_bytes:
        yield QuadLines(lines[begin:] if begin else lines)
