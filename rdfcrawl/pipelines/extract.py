"""Step one: bytes to N-Quads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import signals

from rdfcrawl.frontier.visiting import visiting_spider
from rdfcrawl.options import parse_limits, parse_memory_bytes
from rdfcrawl.provenance import graph_iri
from rdfcrawl.rdf.parse import parse
from rdfcrawl.rdf.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Self

    from scrapy.crawler import Crawler

    from rdfcrawl.rdf.limits import ParseLimits
    from rdfcrawl.rdf.parse import Parse
    from rdfcrawl.rdf.sandbox import SandboxedParse
    from rdfcrawl.records import Document


class ExtractPipeline:
    """Sets `Document.chunks`: small bodies are parsed here, files in a child."""

    def __init__(self, limits: ParseLimits, *, memory_bytes: int) -> None:
        self._limits = limits
        self._sandbox = Sandbox(memory_bytes=memory_bytes)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of a crawler.

        Raises:
            NotConfigured: its spider makes no visits.
        """
        visiting_spider(crawler)
        settings = crawler.settings
        memory_bytes = parse_memory_bytes(settings)
        pipeline = cls(parse_limits(settings), memory_bytes=memory_bytes)
        crawler.signals.connect(pipeline.spider_closed, signals.spider_closed)
        return pipeline

    async def spider_closed(self) -> None:
        """End the child processes."""
        await self._sandbox.close()

    async def process_item(self, document: Document) -> Document:
        """Give the document its quads; one without a body has none."""
        document.chunks = self._chunks(document)
        return document

    async def _chunks(self, document: Document) -> AsyncIterator[bytes]:
        about: dict[str, Any] = {
            "media_type": document.media_type,
            "charset": document.charset,
            "url": document.url,
            "graph": graph_iri(document.url),
            "limits": self._limits,
        }
        reading: Parse | SandboxedParse
        if document.body is not None:
            reading = parsed = parse(document.body, **about)
            for chunk in parsed:
                yield chunk
        elif document.path is not None:
            reading = sandboxed = await self._sandbox.parse(document.path, **about)
            async for chunk in sandboxed:
                yield chunk
        else:
            return
        document.format, document.decided_by = reading.format, reading.decided_by
        document.n_quads = reading.n_quads
        document.is_partial |= reading.is_partial
        document.faults += reading.faults
