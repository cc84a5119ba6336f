"""Read the log of activities."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

from rdfcrawl.stores.provenance.blocks import ActivityBlock, iter_blocks
from rdfcrawl.stores.provenance.records import Activity
from rdfcrawl.stores.reading import SegmentDamage, iter_read
from rdfcrawl.stores.segment_file import GzipMember, iter_content, list_segments

logger = logging.getLogger(__name__)


def read_blocks(fd: int, member: GzipMember) -> list[ActivityBlock]:
    """Return the blocks of a member.

    Raises:
        TornMember: it is damaged, or has a line that is no block.
    """
    return list(iter_blocks((b"".join(iter_content(fd, member)),)))


def iter_provenance(folder: Path) -> Iterator[ActivityBlock]:
    """Yield the readable blocks of a folder of segments.

    Damaged members are skipped, and logged. A segment that has been removed meanwhile
    is skipped, too.
    """

    def warn(damage: SegmentDamage) -> None:
        logger.warning("%s: %s", folder.parent, damage)

    for path in list_segments(folder) if folder.is_dir() else ():
        name = f"{folder.name}/{path.name}"
        for found, _ in iter_read(path, name, 0, read=read_blocks, on_damage=warn):
            yield from found


def iter_activities(folder: Path) -> Iterator[Activity]:
    """Yield the readable activities of a folder of segments."""
    for block in iter_provenance(folder):
        yield from block.activities
