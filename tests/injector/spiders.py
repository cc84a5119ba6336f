"""A spider for all kinds of sources."""

from __future__ import annotations

from rdfcrawl.spiders.base import RdfSpider


class EverySourceSpider(RdfSpider):
    """Harvests all that arguments name, in one crawl."""

    name = "every-source"
    takes = ("sites", "slice", "portals", "sources", "endpoints", "repositories")
