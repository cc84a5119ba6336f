"""Parts of users that fail, each in a different way."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Self

from scrapy.exceptions import IgnoreRequest

from rdfcrawl.core.records import Document
from rdfcrawl.core.visits import flush_stores
from rdfcrawl.sources.harvest.custom import CustomHarvester

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler

    from rdfcrawl.core.records import FollowUp
    from rdfcrawl.rdf.html.page import ParsedPage

GOOD = "<urn:x:s> <urn:x:p> <urn:x:before> ."


class RaisingExtractor:
    """Raises after a statement."""

    marker = "raise"

    def extract(self, page: ParsedPage) -> Iterator[str]:
        """Yield a statement, and raise."""
        del page
        yield GOOD
        raise ValueError("raised")


class MissingExtractor:
    """Needs a library that is not installed."""

    marker = "missing"

    def extract(self, page: ParsedPage) -> Iterator[str]:
        """Yield a statement, and import the library."""
        del page
        yield GOOD
        raise ModuleNotFoundError("No module named 'no_such_library'")


class DyingExtractor:
    """Takes its process with it, as a bug in C does, and says why."""

    marker = "die"

    def extract(self, page: ParsedPage) -> Iterator[str]:
        """Write to standard error, and end the process."""
        del page
        sys.stderr.write("x" * 10_000 + "\nlast words \x1b[2J\n")
        sys.stderr.flush()
        os.abort()
        yield GOOD


class HungryExtractor:
    """Reaches the limit of memory, which is a limit of the page."""

    marker = "hungry"

    def extract(self, page: ParsedPage) -> Iterator[str]:
        """Yield a statement, and take more memory than there may be."""
        del page
        yield GOOD
        yield str(bytearray(2**40))


class RaisingPipeline:
    """Raises for documents whose URL says so."""

    def process_item(self, item: object) -> object:
        """Raise, or pass on other documents."""
        if isinstance(item, Document) and item.status and "pipeline" in item.url:
            raise KeyError("in the pipeline")
        return item


class RaisingHarvester(CustomHarvester):
    """Raises for each response."""

    async def harvest(self, document: Document) -> AsyncIterator[Document | FollowUp]:
        """Raise after a document."""
        yield document.harvested()
        raise ZeroDivisionError("in the harvester")


class RaisingMiddleware:
    """Refuses all visits, as downloader middlewares may."""

    def process_request(self, request: Request) -> None:
        """Raise."""
        raise IgnoreRequest(f"no {request.url}")


class RaisingExtension:
    """Cannot keep its items."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return an extension that receives the signal."""
        extension = cls()
        crawler.signals.connect(extension.keep, flush_stores)
        return extension

    def keep(self) -> None:
        """Raise."""
        raise KeyError("in the extension")


EXTRACTORS = {
    name: f"tests.support.failing_parts.{name.title()}Extractor"
    for name in ("raising", "missing", "dying", "hungry")
}
PIPELINES = {"tests.support.failing_parts.RaisingPipeline": 350}
MEDIA_TYPE = "application/x-raising"
HARVESTERS = {MEDIA_TYPE: "tests.support.failing_parts.RaisingHarvester"}
