"""Pass documents, and items made of them, through spider middlewares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.http import Response
from scrapy.utils.defer import maybe_deferred_to_future

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from rdfcrawl.core.records import Document
    from rdfcrawl.core.visits import Visit


def has_spider_middlewares(settings: BaseSettings) -> bool:
    """Return whether a project has spider middlewares in addition to Scrapy's.

    Scrapy's built-in ones leave items unchanged, and would cost a tenth of a document.
    """
    orders = settings.getdict("SPIDER_MIDDLEWARES").values()
    return any(order is not None for order in orders)


async def scrape(
    output: Iterable[Any] | AsyncIterator[Any],
    document: Document,
    visit: Visit,
    crawler: Crawler,
    *,
    is_document: bool = False,
) -> None:
    """Process output as if a callback had yielded it for a document.

    Items pass the spider middlewares and the item pipelines, requests the scheduler. If
    `is_document`, the output is the document itself, and the scheduler puts it back if
    a middleware fails.
    """
    meta = {
        "visit": visit,
        "depth": document.record.depth,
        "handle_httpstatus_all": True,
        "document": document if is_document else None,
    }

    def callback(_: Response) -> Iterable[Any] | AsyncIterator[Any]:
        return output

    request = Request(document.url, callback=callback, meta=meta)
    headers = {"Content-Type": document.media_type} if document.media_type else None
    response = Response(
        document.url, status=document.status, headers=headers, request=request
    )
    scraped: Any = crawler.engine.scraper.enqueue_scrape(response, request)
    await maybe_deferred_to_future(scraped)
