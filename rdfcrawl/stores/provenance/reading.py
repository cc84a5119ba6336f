"""Read the log of activities."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from rdfcrawl.stores import reading
from rdfcrawl.stores.provenance.blocks import ActivityBlock, iter_blocks
from rdfcrawl.stores.provenance.records import Activity
from rdfcrawl.stores.segment_file import TornMember, list_segments


def iter_provenance(folder: Path) -> Iterator[ActivityBlock]:
    """Yield the readable blocks of a folder of segments.

    Damaged segments are skipped: no figure of the data depends on them.
    """
    for path in list_segments(folder) if folder.is_dir() else ():
        with suppress(FileNotFoundError, TornMember):
            yield from iter_blocks(reading.iter_blocks(path))


def iter_activities(folder: Path) -> Iterator[Activity]:
    """Yield the readable activities of a folder of segments."""
    for block in iter_provenance(folder):
        yield from block.activities
