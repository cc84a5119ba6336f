"""The ResourceSync spider: copies that are kept equal to their sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.spiders.base import RdfSpider

if TYPE_CHECKING:
    from pathlib import Path


class ResourceSyncSpider(RdfSpider):
    """Synchronizes with the sources in `sources`."""

    name = "resourcesync"
    takes = ("sources", "audit")

    def named(self) -> tuple[str, ...] | Path:
        """Return the sources."""
        return self.arguments.sources
