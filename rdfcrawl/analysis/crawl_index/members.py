"""Members of the logs of a crawl that an index has not read yet, and what they hold.

Members are split into pieces of complete lines, to limit memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from rdfcrawl.stores.provenance.blocks import ActivityBlock, iter_blocks
from rdfcrawl.stores.provenance.records import Activity
from rdfcrawl.stores.reading import SegmentDamage, iter_read, reading
from rdfcrawl.stores.segment_file import (
    GzipMember,
    TornMember,
    is_whole,
    iter_content,
    list_segments,
)

PIECE_BYTES: Final = 4 * 1024 * 1024
"""Content of a piece; a piece that ends within a line is longer."""
MOST_PIECE_BYTES: Final = 16 * 1024 * 1024
"""Maximum content: longer lines are dropped."""
_DOCUMENT: Final = b"#\tdocument "
KINDS: Final = ("provenance", "quads", "links", "decisions")


class MemberPiece(NamedTuple):
    """A part of a member, or all of it.

    Attributes:
        content: complete lines.
        mark: line of the document to which the first lines belong, if the piece starts
            within a document; otherwise empty.
        is_last: this is the last piece of the member.
    """

    content: bytes
    mark: bytes
    is_last: bool


def read_pieces(fd: int, member: GzipMember) -> Iterator[MemberPiece]:
    """Return the pieces of a member, decompressed on demand.

    Args:
        fd: of the segment; keep it open until the last piece was read.
        member: its place there.

    Raises:
        TornMember: the member is damaged; raised here, before any piece is returned.
    """
    pieces = _iter_pieces(iter_content(fd, member))
    first = next(pieces)
    # The checksum is at the end, so a large member is read twice.
    if not first.is_last and not is_whole(fd, member):
        raise TornMember(member)
    return chain((first,), pieces)


def _iter_pieces(blocks: Iterator[bytes]) -> Iterator[MemberPiece]:
    mark, kept, is_in_long_line = b"", bytearray(), False
    for block in blocks:
        begin = 0
        if is_in_long_line:
            if not (begin := block.find(b"\n") + 1):
                continue
            is_in_long_line = False
        kept += block[begin:]
        if len(kept) < PIECE_BYTES:
            continue
        if end := kept.rfind(b"\n") + 1:
            content = bytes(kept[:end])
            del kept[:end]
            yield MemberPiece(content, mark, is_last=False)
            mark = _last_mark(content) or mark
        elif len(kept) >= MOST_PIECE_BYTES:
            kept.clear()  # a line cut in two could be read as two lines
            is_in_long_line = True
    yield MemberPiece(bytes(kept), mark, is_last=True)


def _last_mark(content: bytes) -> bytes:
    at = content.rfind(b"\n" + _DOCUMENT) + 1
    if not content.startswith(_DOCUMENT, at):
        return b""
    return content[at : content.index(b"\n", at) + 1]


@dataclass(frozen=True)
class LogMember:
    """One member of a segment, or a piece of a large one.

    Attributes:
        kind: of the log, one of `KINDS`.
        segment: its name in that folder.
        offset: of the member in the segment.
        n_bytes: compressed size of the member.
        content: complete lines.
        mark: line of the document to which the first lines belong, if a piece starts
            within a document; otherwise empty.
        is_last: this is the last piece of the member.
    """

    kind: str
    segment: str
    offset: int
    n_bytes: int
    content: bytes
    mark: bytes = b""
    is_last: bool = True

    @property
    def name(self) -> str:
        """Name of the segment in checkpoints: `kind/segment`."""
        return f"{self.kind}/{self.segment}"

    @property
    def end(self) -> int:
        """Offset of the end of the member."""
        return self.offset + self.n_bytes

    @cached_property
    def blocks(self) -> tuple[ActivityBlock, ...]:
        """Blocks of the provenance; none for other logs."""
        if self.kind != "provenance":
            return ()
        return tuple(iter_blocks((self.content,)))

    @property
    def activities(self) -> Iterator[Activity]:
        """Activities in the provenance; none for other logs."""
        return chain.from_iterable(each.activities for each in self.blocks)


def iter_new_members(root: Path, offsets: Mapping[str, int]) -> Iterator[LogMember]:
    """Yield the members after some offsets, log by log, if they are complete.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`; missing logs have no members.
        offsets: by `LogMember.name`, the end of the part already read.

    Raises:
        OSError: the disk cannot be read.
    """
    for kind in KINDS:
        if not (root / kind).is_dir():
            continue
        with reading(root / kind):
            for path in list_segments(root / kind):
                start = offsets.get(f"{kind}/{path.name}", 0)
                yield from _read_segment(path, kind, start)


def _read_segment(path: Path, kind: str, start: int) -> Iterator[LogMember]:
    def read(fd: int, member: GzipMember) -> Iterator[LogMember]:
        place = kind, path.name, member.offset, member.n_bytes
        pieces = read_pieces(fd, member)
        return (LogMember(*place, *piece) for piece in pieces)

    for pieces, _ in iter_read(path, path.name, start, read=read, on_damage=_ignore):
        yield from pieces


def _ignore(_damage: SegmentDamage) -> None:
    """Skip damaged parts; readers of the log report them."""
