"""The facts of documents whose statements come from a harvester."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.pipelines.chunks import close_chunks
from rdfcrawl.rdf.extraction.facts import FactsReading
from rdfcrawl.rdf.extraction.messages import ExtractOutcome

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Self

    from scrapy.crawler import Crawler

    from rdfcrawl.core.quad_chunks import QuadChunk
    from rdfcrawl.core.records import Document
    from rdfcrawl.rdf.extraction.messages import ReadingJob


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
