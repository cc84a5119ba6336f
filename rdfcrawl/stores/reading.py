"""Read segments: lines, marks and members, damaged ones skipped.

A reader lists the paths of segments first and opens them later. So a replaced segment
is removed only when there are no readers: readers share the lock of
`quads/readers.lock`, and the process that removes files takes it exclusively.
`rdfcrawl.stores.log` reads documents and versions.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from rdfcrawl.core.messages import counted
from rdfcrawl.stores.files import try_lock
from rdfcrawl.stores.segment_file import (
    GzipMember,
    TornMember,
    find_member,
    is_sealed,
    iter_content,
    iter_members,
    list_segments,
)

T = TypeVar("T")

READERS: Final = "readers.lock"
COMPACTION: Final = "compaction.lock"
# Only at the start of a line; a term of N-Quads never contains a line feed.
_MARK = re.compile(rb"#\tdocument <([^<>\n]*+)> ([0-9]+)\n")
_LINE_FEED = 10


@contextmanager
def reading(segments: Path) -> Iterator[None]:
    """Keep all segments of a folder where they are."""
    try:
        fd = os.open(segments / READERS, os.O_RDONLY | os.O_CREAT, 0o644)
    except OSError:  # the folder is read-only, or gone
        yield
        return
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(fd, fcntl.LOCK_SH)
        yield
    finally:
        os.close(fd)


@contextmanager
def locked_alone(directory_fd: int, name: str) -> Iterator[bool]:
    """Take a lock without waiting; yields whether no other process has it.

    Args:
        directory_fd: of the folder, whose path may change.
        name: `READERS` blocks new readers, `COMPACTION` other compactions.

    Raises:
        OSError: the folder cannot be written to, or its file system has no locks.
    """
    fd = os.open(name, os.O_RDWR | os.O_CREAT, 0o644, dir_fd=directory_fd)
    try:
        yield try_lock(fd)
    finally:
        os.close(fd)


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


@dataclass(frozen=True, slots=True)
class SegmentDamage:
    """Bytes of a finished segment that cannot be read: their documents are lost.

    Attributes:
        segment: its name in checkpoints.
        offset: of the first byte.
        n_bytes: up to the next intact member.
    """

    segment: str
    offset: int
    n_bytes: int

    def __str__(self) -> str:
        return (
            f"damaged segment {self.segment}: {counted(self.n_bytes, 'byte')} from byte"
            f" {self.offset} cannot be read"
        )


def iter_read(
    path: Path,
    name: str,
    offset: int,
    *,
    read: Callable[[int, GzipMember], T],
    on_damage: Callable[[SegmentDamage], None],
) -> Iterator[tuple[T, int]]:
    """Yield the result of `read` for each member, and the offset behind the member.

    A torn member ends an unfinished segment. In a finished one, reading continues at
    the next intact member, and `on_damage` is called.

    Args:
        path: of the segment; it may be gone.
        name: in checkpoints.
        offset: where a member begins, or the end.
        read: takes a descriptor and a member, raises `TornMember` if it is damaged.
        on_damage: called with each damaged part.

    Raises:
        OSError: the disk cannot be read.
    """
    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:  # it was empty
        return
    try:
        n_bytes = os.fstat(fd).st_size
        while True:
            for member in iter_members(fd, n_bytes, offset):
                try:
                    found = read(fd, member)
                except TornMember:
                    break
                offset = member.offset + member.n_bytes
                yield found, offset
            if offset >= n_bytes or not is_sealed(fd, n_bytes):
                return
            following = find_member(fd, n_bytes, offset + 1)
            if following is None:
                return
            on_damage(SegmentDamage(name, offset, following.offset - offset))
            offset = following.offset
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
    finally:
        os.close(fd)
