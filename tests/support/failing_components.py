"""Components of users that fail outside of documents, and a spider that does."""

from __future__ import annotations

import errno
import sys
from typing import TYPE_CHECKING, Any, Self

from scrapy import signals
from scrapy.extensions.feedexport import FeedExporter

from rdfcrawl.core.records import Document
from rdfcrawl.pipelines.store import StorePipeline
from rdfcrawl.spiders.linkeddata import LinkedDataSpider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.crawler import Crawler

    from rdfcrawl.pipelines.callbacks.parsed_document import ParsedDocument

SIGNALS = (
    *("engine_started", "spider_opened", "item_scraped", "spider_idle"),
    *("spider_closed", "engine_stopped"),
)


class FailingHandlers:
    """An extension whose handler of each signal raises."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the extension, with its handlers connected."""
        extension = cls()
        for name in SIGNALS:
            handler = getattr(extension, name)
            crawler.signals.connect(handler, getattr(signals, name))
        return extension

    def engine_started(self) -> None:
        """Raise."""
        raise KeyError("engine_started")

    def spider_opened(self) -> None:
        """Raise."""
        raise KeyError("spider_opened")

    def item_scraped(self) -> None:
        """Raise."""
        raise KeyError("item_scraped")

    def spider_idle(self) -> None:
        """Raise."""
        raise KeyError("spider_idle")

    def spider_closed(self) -> None:
        """Raise."""
        raise KeyError("spider_closed")

    async def engine_stopped(self) -> None:
        """Raise."""
        raise KeyError("engine_stopped")


class FailsWithItems:
    """A pipeline that raises for items of the spider, and when it is closed."""

    def process_item(self, item: object) -> object:
        """Raise for items that are no documents."""
        if not isinstance(item, Document):
            raise KeyError("item")
        return item

    def close_spider(self) -> None:
        """Raise."""
        raise KeyError("close_spider")


class FullDisk:
    """A pipeline that writes to a full disk of its own."""

    def process_item(self, item: object) -> object:
        """Wrap the statements of documents, to write them."""
        if isinstance(item, Document) and item.chunks is not None:
            item.chunks = self._written(item.chunks)
        return item

    async def _written(self, chunks: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for chunk in chunks:
            raise OSError(errno.ENOSPC, "No space left on device", "/theirs")
            yield chunk


class ExitingPipeline:
    """A pipeline that ends the process as if all were well."""

    def process_item(self, item: object) -> object:
        """Exit with 0."""
        del item
        sys.exit(0)


class ReturnsNothing:
    """A pipeline that returns no item."""

    def process_item(self, item: object) -> None:
        """Return None."""


class OwnStore(StorePipeline):
    """A store in place of ours."""


class OwnFeeds(FeedExporter):
    """Feeds in place of ours."""


class FailingSpider(LinkedDataSpider):
    """Yields an item for each document, raises for one, and when it is closed."""

    name = "failing"

    def parse_document(self, document: ParsedDocument) -> Iterator[dict[str, str]]:
        """Yield an item, and raise for one of two documents."""
        yield {"url": document.url}
        if document.url.endswith("/b"):
            raise KeyError("parse_document")

    def closed(self, reason: str) -> None:
        """Raise."""
        raise KeyError("closed", reason)
