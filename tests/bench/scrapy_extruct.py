"""The reference of `bench_pages`: one spider of Scrapy, and extruct.

`python -m tests.bench.scrapy_extruct SEEDS FILE` fetches pages with robots.txt, reads
all syntaxes of extruct and writes the items to a file in lines of JSON.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import extruct
import scrapy
from scrapy.crawler import CrawlerProcess

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response


class PageSpider(scrapy.Spider):
    """Reads the annotations of the pages that it starts with."""

    name = "pages"

    def parse(self, response: Response) -> Iterator[dict[str, Any]]:
        """Yield what extruct finds in a page."""
        yield extruct.extract(response.body, base_url=response.url)


def main() -> None:
    """Crawl from a file of seeds."""
    seeds, items = sys.argv[1:]
    process = CrawlerProcess(
        {
            "CONCURRENT_REQUESTS": 64,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
            "DOWNLOAD_DELAY": 0,
            "ROBOTSTXT_OBEY": True,
            "LOG_LEVEL": "ERROR",
            "FEEDS": {items: {"format": "jsonlines"}},
        }
    )
    process.crawl(PageSpider, start_urls=Path(seeds).read_text().split())
    process.start()


if __name__ == "__main__":
    main()
