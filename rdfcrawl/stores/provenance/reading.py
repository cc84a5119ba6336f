"""Read the log of activities."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

from rdfcrawl.stores import reading
from rdfcrawl.stores.provenance.blocks import ActivityBlock, iter_blocks
from rdfcrawl.stores.provenance.records import Activity
from rdfcrawl.stores.segment_file import TornMember, list_segments

logger = logging.getLogger(__name__)


def iter_provenance(folder: Path) -> Iterator[ActivityBlock]:
    """Yield the readable blocks of a folder of segments.

    A damaged segment is read up to the damage, which is logged. A segment that has been
    removed meanwhile is skipped.
    """
    for path in list_segments(folder) if folder.is_dir() else ():
        try:
            yield from iter_blocks(reading.iter_blocks(path))
        except FileNotFoundError:
            continue
        except TornMember as error:
            logger.warning(
                "%s: activities after the damage are missing: %s", path, error
            )


def iter_activities(folder: Path) -> Iterator[Activity]:
    """Yield the readable activities of a folder of segments."""
    for block in iter_provenance(folder):
        yield from block.activities
