"""Open, flush and close the web archive of a crawl."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from rdfcrawl.core.errors import StoreFault
from rdfcrawl.core.signals import flush_stores
from rdfcrawl.pipelines.items import harvesting_spider

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

    from rdfcrawl.downloader.warc.archive import WebArchive

logger = logging.getLogger(__name__)


class ArchivePipeline:
    """Pipeline without items, which makes the web archive durable.

    The records are written during the fetch, before a response is processed.
    """

    def __init__(self, archive: WebArchive) -> None:
        self._archive = archive
        self._fault: StoreFault | None = None  # of the last flush

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of a crawler that keeps an archive.

        Raises:
            ConfigError: a setting is wrong.
            NotConfigured: the archive is disabled.
        """
        if not harvesting_spider(crawler).options.archive.is_wanted:
            raise NotConfigured
        from rdfcrawl.downloader.archiving import archive_of  # noqa: PLC0415  (few crawls)

        pipeline = cls(archive_of(crawler))
        crawler.signals.connect(pipeline.flush, flush_stores)
        return pipeline

    async def open_spider(self) -> None:
        """Repair the files of dead workers, and begin to write.

        Raises:
            StoreFault: the folder cannot be created, read or written.
        """
        try:
            await asyncio.to_thread(self._archive.open)
        except OSError as error:
            raise StoreFault(f"{self._archive.options.folder}: {error}") from error

    async def flush(self) -> StoreFault | None:
        """Make all records durable, before visits are acknowledged.

        Returns:
            The reason of a failure. Scrapy would log an exception with a traceback.
        """
        self._fault = None
        if self._archive.is_open:
            try:
                await asyncio.to_thread(self._archive.flush)
            except OSError as error:
                self._fault = _as_fault(error)
        return self._fault

    async def close_spider(self) -> None:
        """Finish all files."""
        if not self._archive.is_open:
            return
        try:
            await asyncio.to_thread(self._archive.close)
        except OSError as error:
            if self._fault is None:  # else it was reported, and the crawl stops
                logger.critical("%s", _as_fault(error))


def _as_fault(error: OSError) -> StoreFault:
    return StoreFault(f"warc: {error.strerror or error}")
