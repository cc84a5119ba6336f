"""Which spiders the components of a crawl serve: those whose requests are visits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from scrapy.exceptions import NotConfigured

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from rdfcrawl.arguments import CrawlArguments
    from rdfcrawl.frontier.session import CrawlSession
    from rdfcrawl.options import CrawlOptions
    from rdfcrawl.sources.base import Sources


@runtime_checkable
class VisitingSpider(Protocol):
    """A spider whose requests are visits."""

    options: CrawlOptions
    arguments: CrawlArguments
    session: CrawlSession | None
    sources: Sources


def visiting_spider(crawler: Crawler) -> VisitingSpider:
    """Return the spider of a crawler, whose requests are visits.

    Raises:
        NotConfigured: it is an ordinary spider, or that of `fetch` or `shell`: the
            component that asks stands aside.
    """
    if not isinstance(crawler.spider, VisitingSpider):
        raise NotConfigured
    return crawler.spider
