"""Hash the body of each document, to compare documents."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from scrapy.exceptions import NotConfigured

from rdfcrawl.core.records import Document
from rdfcrawl.pipelines.items import harvesting_spider, pass_through
from rdfcrawl.rdf.fingerprints import content_hash, content_hash_of

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.crawler import Crawler


class FactsPipeline:
    """Pipeline that adds the hash of a body to the facts of its document."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of a crawler.

        Raises:
            ConfigError: the setting is not a boolean.
            NotConfigured: facts are disabled.
        """
        if not harvesting_spider(crawler).options.extract.wants_facts:
            raise NotConfigured
        return cls()

    def process_item(self, item: object) -> object:
        """Hash a body in memory directly, and a file in a thread."""
        if not isinstance(item, Document):
            return pass_through(item)
        response = item.response
        if item.facts.content_hash:  # its reader has hashed it
            return item
        if response.body is not None:
            _note(item, content_hash(response.body))
        elif response.path is not None:
            return self._hash_file(item, response.path)
        return item

    async def _hash_file(self, document: Document, path: Path) -> Document:
        _note(document, await asyncio.to_thread(_hash_of, path))
        return document


def _hash_of(path: Path) -> str:
    with path.open("rb") as file:
        return content_hash_of(file)


def _note(document: Document, found: str) -> None:
    document.facts = document.facts._replace(content_hash=found)
