"""The segments that a pipeline writes besides the stores, and their last failure."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import StoreFault
from rdfcrawl.stores.nquads import recover
from rdfcrawl.stores.segments import QuadSegments

if TYPE_CHECKING:
    from pathlib import Path

    from rdfcrawl.stores.segments import SegmentLimits

logger = logging.getLogger(__name__)


class PipelineSegments:
    """The segments of one worker in a folder of a crawl.

    Args:
        folder: of the crawl, shared by its workers.
        limits: of each segment.
    """

    def __init__(self, folder: Path, limits: SegmentLimits) -> None:
        self._folder, self._limits = folder, limits
        self._segments: QuadSegments
        self._is_open = False
        self._fault: StoreFault | None = None  # of the last flush

    def open(self, worker: str) -> None:
        """Repair the segments of dead workers, and open those of this one."""
        recover(self._folder)
        self._segments = QuadSegments(self._folder, worker, self._limits)
        self._is_open = True

    def write_document(self, quads: bytes) -> None:
        """Append the quads of one document."""
        self._segments.write_document(quads)

    async def flush(self) -> StoreFault | None:
        """Make all that was written durable.

        Returns:
            The reason of a failure. Scrapy would log an exception with a traceback.
        """
        self._fault = None
        if self._is_open:  # failed to close; else they are flushed
            try:
                await self._segments.flush(sync=True)
            except StoreFault as fault:
                self._fault = fault
        return self._fault

    async def close(self) -> None:
        """Flush and close the segments; report a failure only once."""
        try:
            await self._segments.close()
        except StoreFault as fault:
            if self._fault is None:  # else it was reported, and the crawl stops
                logger.critical("%s", fault)
        self._is_open = False
