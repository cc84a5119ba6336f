"""The WARC spider: the content of web archives, without new requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings

from rdfcrawl.core.source_tasks import LOCAL_SCHEME
from rdfcrawl.spiders.base import RdfSpider

if TYPE_CHECKING:
    from rdfcrawl.frontier.arguments.crawl import CrawlArguments


class WarcSpider(RdfSpider):
    """Reads the WARC files in `files`, local ones and those of servers."""

    name = "warc"
    takes = ("files",)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Return the spider for a crawler.

        Raises:
            ConfigError: see `RdfSpider`; or the extra `warc` is not installed.
        """
        from rdfcrawl.downloader.warc.captures import check_library

        check_library()
        return super().from_crawler(crawler, *args, **kwargs)

    @classmethod
    def reads_local_files(cls, arguments: CrawlArguments) -> bool:
        """Return whether a crawl begins with files of this machine alone."""
        files = arguments.files if isinstance(arguments.files, tuple) else ()
        are_local = all(url.startswith(f"{LOCAL_SCHEME}:") for url in files)
        return are_local and not arguments.seeds

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Add the fetcher of local files to `FETCH_SCHEMES`; see `RdfSpider`."""
        fetchers = {LOCAL_SCHEME: "rdfcrawl.sources.harvest.warc.LocalWarcFetcher"}
        fetchers |= settings.getdict("FETCH_SCHEMES")
        settings.set("FETCH_SCHEMES", fetchers, priority="spider")
        super().update_settings(settings)
