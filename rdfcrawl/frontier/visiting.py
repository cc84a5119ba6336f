"""Which spiders the components of a crawl serve: those whose requests are visits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from rdfcrawl.frontier.scheduler import VisitingSpider

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


def visiting_spider(crawler: Crawler) -> VisitingSpider:
    """Return the spider of a crawler, whose requests are visits.

    Raises:
        NotConfigured: it is an ordinary spider, or that of `fetch` or `shell`: the
            component that asks stands aside.
    """
    if not isinstance(crawler.spider, VisitingSpider):
        raise NotConfigured
    return crawler.spider
