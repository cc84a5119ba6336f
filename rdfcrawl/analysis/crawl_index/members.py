"""Members of the logs of a crawl that an index has not read yet."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.crawl_index.activities import IndexedActivity, iter_indexed
from rdfcrawl.analysis.crawl_index.pieces import read_pieces
from rdfcrawl.stores.reading import iter_read, reading
from rdfcrawl.stores.segment_file import list_segments

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from rdfcrawl.stores.reading import SegmentDamage
    from rdfcrawl.stores.segment_file import GzipMember

KINDS: Final = ("provenance", "quads", "links", "decisions")


@dataclass(frozen=True)
class LogMember:
    """One member of a segment, or a piece of a large one.

    Pieces of provenance start at activities, others at lines.

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
    def activities(self) -> tuple[IndexedActivity, ...]:
        """Activities in the provenance; empty for other logs."""
        if self.kind != "provenance":
            return ()
        return tuple(iter_indexed(self.content))


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
        pieces = read_pieces(fd, member, is_provenance=kind == "provenance")
        return (LogMember(*place, *piece) for piece in pieces)

    for pieces, _ in iter_read(path, path.name, start, read=read, on_damage=_ignore):
        yield from pieces


def _ignore(_damage: SegmentDamage) -> None:
    """Skip damaged parts; readers of the log report them."""
