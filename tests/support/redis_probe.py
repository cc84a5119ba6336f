"""Pipelines that record the reads and writes of Redis so far, for a test to compare."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Self

from rdfcrawl.pipelines.items import harvesting_spider

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from rdfcrawl.pipelines.items import HarvestingSpider


def _note(found: object) -> None:
    with Path(os.environ["REDIS_PROBE"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(found) + "\n")


class BeforeDiscovery:
    """Pipeline that appends the statistics of the server to the file `REDIS_PROBE`."""

    def __init__(self, spider: HarvestingSpider) -> None:
        self._spider = spider

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of a crawler."""
        return cls(harvesting_spider(crawler))

    async def process_item(self, item: object) -> object:
        """Note the statistics."""
        found = await self._spider.joined().redis.info("stats")
        _note(found)
        return item


class AfterDiscovery(BeforeDiscovery):
    """The same after discovery."""
