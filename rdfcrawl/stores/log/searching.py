"""Search a log of a crawl for members of segments."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rdfcrawl.stores.log.segments import iter_read
from rdfcrawl.stores.members import iter_content
from rdfcrawl.stores.segment_file import list_segments
from rdfcrawl.stores.segment_lock import reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rdfcrawl.stores.log.segments import SegmentDamage
    from rdfcrawl.stores.members import GzipMember


def iter_members_with(
    root: Path,
    kind: str,
    is_wanted: Callable[[bytes], bool],
    on_damage: Callable[[SegmentDamage], None],
) -> Iterator[bytes]:
    """Yield the content of wanted members, in the order of the segments.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`.
        kind: folder of the log in it; if it is missing, nothing is yielded.
        is_wanted: takes the content of a member, returns whether to yield it.
        on_damage: called with each damaged part.

    Raises:
        OSError: the disk cannot be read.
    """
    folder = root / kind
    if not folder.is_dir():
        return
    with reading(folder):
        for path in list_segments(folder):
            name = f"{kind}/{path.name}"
            read = partial(_read_member, is_wanted)
            for content, _ in iter_read(path, name, 0, read=read, on_damage=on_damage):
                if content is not None:
                    yield content


def _read_member(
    is_wanted: Callable[[bytes], bool], fd: int, member: GzipMember
) -> bytes | None:
    content = b"".join(iter_content(fd, member))
    return content if is_wanted(content) else None
