"""A spider for all kinds of sources."""

from __future__ import annotations

from rdfcrawl.frontier.arguments.crawl import NAMED
from rdfcrawl.spiders.base import RdfSpider


class EverySourceSpider(RdfSpider):
    """Harvests all that arguments name, in one crawl."""

    name = "every-source"
    takes = ("slice", *NAMED)
