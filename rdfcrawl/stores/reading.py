"""Read segments as lines; `rdfcrawl.stores.log` reads documents and versions."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from rdfcrawl.stores.members import TornMember, is_sealed, iter_content, iter_members
from rdfcrawl.stores.segment_file import list_segments
from rdfcrawl.stores.segment_lock import reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

# Only at the start of a line; a term of N-Quads never contains a line feed.
_MARK = re.compile(rb"#\tdocument <([^<>\n]*+)> ([0-9]+)\n")
_LINE_FEED = 10


def iter_blocks(path: Path) -> Iterator[bytes]:
    """Yield the content of one segment in complete lines, about 256 KiB at a time.

    From an unfinished segment, yields the lines written so far.

    Raises:
        TornMember: a member is damaged; run `recover` first.
    """
    fd = os.open(path, os.O_RDONLY)
    try:
        n_bytes = os.fstat(fd).st_size
        end = 0
        for member in iter_members(fd, n_bytes):
            yield from iter_lines(iter_content(fd, member))
            end = member.offset + member.n_bytes
        if end < n_bytes and is_sealed(fd, n_bytes):
            raise TornMember(f"{path}: damaged at byte {end}")
    finally:
        os.close(fd)


def iter_lines(contents: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the same text in pieces of complete lines."""
    held: list[bytes] = []  # of an incomplete line
    for content in contents:
        n_whole = content.rfind(b"\n") + 1
        if n_whole:
            held.append(content[:n_whole])
            yield b"".join(held)
            held.clear()
        if n_whole < len(content):
            held.append(content[n_whole:])
    if held:
        yield b"".join(held)


def iter_quads(directory: Path) -> Iterator[bytes]:
    """Yield the quads of all segments of all workers, in complete lines."""
    with reading(directory):
        for path in list_segments(directory):
            yield from iter_blocks(path)


def iter_marked(
    blocks: Iterable[bytes],
) -> Iterator[tuple[re.Match[bytes] | None, bytes]]:
    """Yield the marks in complete lines, and the quads between them, never empty.

    A mark is a match with the graph and the version.
    """
    for block in blocks:
        begin = 0
        for mark in _MARK.finditer(block):
            if mark.start() > 0 and block[mark.start() - 1] != _LINE_FEED:
                continue
            if begin < mark.start():
                yield None, block[begin : mark.start()]
            yield mark, b""
            begin = mark.end()
        if begin < len(block):
            yield None, block[begin:]
