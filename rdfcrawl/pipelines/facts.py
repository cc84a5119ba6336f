"""Add the facts of documents, to compare them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Self

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from rdfcrawl.core.content import QuadChunk
from rdfcrawl.core.records import Document
from rdfcrawl.pipelines.items import close_chunks, harvesting_spider, pass_through
from rdfcrawl.rdf.extraction.facts import FactsReading
from rdfcrawl.rdf.extraction.messages import ExtractOutcome, ReadingJob
from rdfcrawl.rdf.fingerprints import content_hash, content_hash_of


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


class ObservedChunks:
    """The chunks of a harvested document; sets its facts and links at the end.

    Documents with too many statements to hash are counted; their links are logged.

    Args:
        document: gets the facts.
        chunks: of its harvester.
        job: has the kinds of facts.
        crawler: whose statistics are updated.
    """

    __slots__ = "_chunks", "_crawler", "_document", "_has_any", "_job", "_reading"

    def __init__(
        self,
        document: Document,
        chunks: AsyncIterator[QuadChunk],
        job: ReadingJob,
        crawler: Crawler,
    ) -> None:
        self._document, self._chunks = document, chunks
        self._job, self._crawler = job, crawler
        self._reading = FactsReading(job)
        self._has_any = False

    def __aiter__(self) -> Self:
        """Return the iterator itself."""
        return self

    async def __anext__(self) -> QuadChunk:
        """Return the next chunk; at the end, set facts and links of the document."""
        try:
            chunk = await anext(self._chunks)
        except StopAsyncIteration:
            self._end()
            raise
        self._has_any = True
        self._reading.add(chunk.lines)
        return chunk

    async def aclose(self) -> None:
        """Close the chunks that were not read."""
        await close_chunks(self._chunks)

    def _end(self) -> None:
        if not self._has_any:
            return
        self._has_any = False
        outcome, document = ExtractOutcome(), self._document
        self._reading.end(outcome)
        document.reading = document.reading._replace(outlinks=outcome.outlinks)
        found = outcome.facts
        if found.text_hash:
            document.facts = document.facts._replace(
                text_hash=found.text_hash,
                sketch=found.sketch,
                n_shingles=found.n_shingles,
            )
        elif self._job.wants_fingerprint:
            self._crawler.stats.inc_value("document/not_hashed")
