"""The quads of dumps of datasets that sitemaps declare, and of samples.

With `slice=1`, a dump is cut into the descriptions of its resources, each in a separate
graph. Sample URIs are compared with their descriptions in the dump.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rdfcrawl.core.content import QuadChunk
from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.core.records import Document
from rdfcrawl.core.tasks import DescribedSample, DumpPart, SamplePage
from rdfcrawl.pipelines.items import HarvestingSpider, closing
from rdfcrawl.rdf.output import CHUNK_BYTES, quad_chunks
from rdfcrawl.rdf.text import gathered
from rdfcrawl.sources.harvest.dataset_ways import MAX_SAMPLES
from rdfcrawl.sources.harvest.known_datasets import KnownDataset
from rdfcrawl.sources.harvest.sample_comparison import (
    MAX_SAMPLE_BYTES,
    SampleComparison,
    lines_about,
)
from rdfcrawl.sources.sitemaps.slicing import iter_file_blocks, slice_dump

_BATCH_SIZE: Final = 200  # descriptions
# With these faults, a comparison would be misleading.
_LOSSES: Final = frozenset(
    {
        *(Reason.TRUNCATED_BODY, Reason.TOO_LARGE, Reason.BAD_CONTENT_ENCODING),
        *(Reason.BAD_ARCHIVE, Reason.CHECKSUM, Reason.SYNTAX),
    }
)


class DatasetChunks:
    """Wraps the quads of dumps and samples, while they pass."""

    def __init__(self, spider: HarvestingSpider) -> None:
        self._spider = spider

    async def wrap(
        self, document: Document, task: DumpPart | SamplePage | DescribedSample
    ) -> Document:
        """Wrap the quads of a document if they need processing."""
        if document.chunks is None:
            return document
        if not isinstance(task, DumpPart):
            document.chunks = self._sample(document, document.chunks, task)
            return document
        datasets = self._spider.harvesters.context.datasets
        dataset = await datasets.known(task.dataset)
        if dataset is not None:
            document.chunks = self._dump(document, document.chunks, dataset, task)
        return document

    def _wants_slices(self, document: Document) -> bool:
        session = self._spider.session
        return session is not None and session.profiles.of(document.record).slice

    @property
    def _samples(self) -> SampleComparison:
        context = self._spider.harvesters.context
        return SampleComparison(context.state_store, context.datasets, context.run)

    async def _sample(
        self,
        document: Document,
        chunks: AsyncIterator[QuadChunk],
        sample: SamplePage | DescribedSample,
    ) -> AsyncIterator[QuadChunk]:
        """Pass the quads of a sample on, and keep them for the comparison.

        The response of an endpoint is not stored again.
        """
        is_page = isinstance(sample, SamplePage)
        kept: list[bytes] = []
        n_bytes = 0
        async with closing(chunks):
            async for chunk in chunks:
                n_bytes += len(chunk.lines)
                if n_bytes <= MAX_SAMPLE_BYTES:
                    kept.append(chunk.lines)
                if is_page:
                    yield chunk
        is_whole = n_bytes <= MAX_SAMPLE_BYTES and _is_whole(document)
        if is_whole and (
            report := await self._compare(sample, b"".join(kept), document)
        ):
            yield QuadChunk(report)

    async def _compare(
        self, sample: SamplePage | DescribedSample, quads: bytes, document: Document
    ) -> bytes:
        if isinstance(sample, SamplePage):
            return await self._samples.put_page(sample, quads, document)
        return await self._samples.put_description(sample, quads, document)

    async def _dump(
        self,
        document: Document,
        chunks: AsyncIterator[QuadChunk],
        dataset: KnownDataset,
        part: DumpPart,
    ) -> AsyncIterator[QuadChunk]:
        """Pass the quads of a dump on, cut if requested; compare the samples.

        The report of the comparison is not part of the dump, and follows the slices.
        """
        samples = dataset.samples[:MAX_SAMPLES]
        folder = self._folder()
        with TemporaryDirectory(prefix="dump-", dir=folder) as place:
            about = Path(place, "about.nq")
            if samples:
                chunks = _noted(chunks, samples, about)
            if self._wants_slices(document) and dataset.prefixes:
                chunks = self._sliced(document, chunks, dataset, Path(place))
            async with closing(chunks):
                async for chunk in chunks:
                    yield chunk
            if samples and _is_whole(document):
                report = await self._samples.put_dump(
                    dataset, part, about, document, folder=folder
                )
                if report:
                    yield QuadChunk(report)

    async def _sliced(
        self,
        document: Document,
        chunks: AsyncIterator[QuadChunk],
        dataset: KnownDataset,
        place: Path,
    ) -> AsyncIterator[QuadChunk]:
        """Yield the descriptions in the quads of a dump."""
        log = FaultLog()
        path = place / "dump.nq"
        with path.open("wb") as file:
            async with closing(chunks):
                async for chunk in chunks:
                    file.write(chunk.lines)
        slices = slice_dump(
            iter_file_blocks(path),
            dataset.prefixes,
            slicing=dataset.slicing,
            log=log,
            folder=place,
        )
        while batch := await asyncio.to_thread(
            lambda: list(islice(slices, _BATCH_SIZE))
        ):
            for block in gathered((each.lines for each in batch), CHUNK_BYTES):
                for lines in quad_chunks(block):
                    yield QuadChunk(lines)
        document.faults += log.all()

    def _folder(self) -> Path:
        folder = self._spider.options.crawl.paths.spool
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def _is_whole(document: Document) -> bool:
    """Return whether a document was fetched and read without losses."""
    is_there = 200 <= document.status < 300 and not document.is_partial
    return is_there and not any(x.reason in _LOSSES for x in document.faults)


async def _noted(
    chunks: AsyncIterator[QuadChunk], samples: Collection[str], path: Path
) -> AsyncIterator[QuadChunk]:
    """Pass quads on, and write those that may describe samples to a file."""
    with path.open("wb") as file:
        async with closing(chunks):
            async for chunk in chunks:
                file.write(lines_about(samples, chunk.lines))
                yield chunk
