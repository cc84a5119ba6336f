"""The ResourceSync spider: copies that are kept in sync with their sources."""

from __future__ import annotations

from rdfcrawl.spiders.base import RdfSpider


class ResourceSyncSpider(RdfSpider):
    """Synchronizes with the sources in `sources`."""

    name = "resourcesync"
    takes = ("sources", "audit")
