"""The ResourceSync spider: copies that are kept equal to their sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.spiders.base import RdfSpider

if TYPE_CHECKING:
    from pathlib import Path

    from rdfcrawl.records import Record


class ResourceSyncSpider(RdfSpider):
    """Synchronizes with the sources in `sources`."""

    name = "resourcesync"
    takes = "resourcesync"

    def named(self) -> tuple[str, ...] | Path:
        """Return the sources."""
        return self.arguments.sources

    def root(self, url: str, run: int) -> Record:
        """Return the record that a harvest begins with."""
        from rdfcrawl.harvest.resourcesync import root_of

        return root_of(url, run)
