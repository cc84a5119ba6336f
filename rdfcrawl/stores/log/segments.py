"""Read a segment member by member, and skip damaged ones."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from rdfcrawl.core.counting import counted
from rdfcrawl.stores.members import TornMember, find_member, is_sealed, iter_members

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rdfcrawl.stores.members import GzipMember

T = TypeVar("T")


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
