"""Identify spiders that harvest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from rdfcrawl.frontier.visiting import VisitingSpider, visiting_spider

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from rdfcrawl.fetch.options import HasFetchOptions
    from rdfcrawl.harvest.registry import HarvesterRegistry
    from rdfcrawl.records import Record


class HarvestingSpider(VisitingSpider, Protocol):
    """A spider whose visits bring responses of sources, too.

    `harvesters` is by its own arguments.
    """

    harvesters: HarvesterRegistry

    @property
    def options(self) -> HasFetchOptions:
        """Its options."""
        ...

    def harvesters_of(self, record: Record) -> HarvesterRegistry:
        """Return the harvesters with the arguments of a record."""
        ...


def harvesting_spider(crawler: Crawler) -> HarvestingSpider:
    """Return the spider of a crawler that makes visits; see `visiting_spider`."""
    return cast("HarvestingSpider", visiting_spider(crawler))
