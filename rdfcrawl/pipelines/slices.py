"""Process dumps of datasets that sitemaps declare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rdfcrawl.core.records import Document
from rdfcrawl.core.tasks.pages import DescribedSample, DumpPart, SamplePage
from rdfcrawl.pipelines.items import HarvestingSpider, harvesting_spider, pass_through

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from scrapy.crawler import Crawler


class SlicesPipeline:
    """Pipeline that cuts dumps and compares samples; other documents pass."""

    def __init__(self, spider: HarvestingSpider) -> None:
        self._spider = spider

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of a crawler whose spider makes visits."""
        return cls(harvesting_spider(crawler))

    def process_item(self, item: object) -> object:
        """Wrap the quads of dumps and samples."""
        if not isinstance(item, Document):
            return pass_through(item)
        task = item.record.task
        if item.chunks is None or task is None or item.record.kind.is_source:
            return item
        if isinstance(task, DumpPart | SamplePage | DescribedSample):
            return self._wrap(item, task)
        return item

    def _wrap(
        self, document: Document, task: DumpPart | SamplePage | DescribedSample
    ) -> Awaitable[Document]:
        # Slow to import, and rarely needed.
        from rdfcrawl.pipelines.dataset_chunks import DatasetChunks  # noqa: PLC0415

        return DatasetChunks(self._spider).wrap(document, task)
