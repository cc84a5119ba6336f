"""Comparison of the pages of sample URIs with the dump.

The second of the two finds the first in the state store, and compares.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Final

from rdfcrawl.core.errors import Fault, FaultLog, Reason
from rdfcrawl.core.messages import counted
from rdfcrawl.core.namespaces import RC
from rdfcrawl.core.records import Document
from rdfcrawl.core.tasks import DescribedSample, DumpPart, SamplePage
from rdfcrawl.frontier.queue.tables import StateStore
from rdfcrawl.rdf.checking import iter_checked
from rdfcrawl.rdf.graphs import GraphRule, graph_iri
from rdfcrawl.rdf.terms import iri, literal, statement
from rdfcrawl.sources.access import AccessMethod
from rdfcrawl.sources.harvest.dataset_ways import MAX_SAMPLES
from rdfcrawl.sources.harvest.datasets import DatasetRegistry
from rdfcrawl.sources.harvest.known_datasets import KnownDataset
from rdfcrawl.sources.sitemaps.description import is_own_name
from rdfcrawl.sources.sitemaps.semantic import Slicing, UriPrefix
from rdfcrawl.sources.sitemaps.slicing import (
    SampleDifference,
    compare_sample,
    iter_file_blocks,
    slice_dump,
)

_TABLE: Final = "samples"  # of a dataset: "page URI" and "N URI" for part N of the dump
_PAGE: Final = "page"
MAX_SAMPLE_BYTES: Final = 256 * 1024  # of N-Quads; larger ones are not compared


class SampleComparison:
    """Keeps and compares samples, for all workers of a crawl."""

    def __init__(self, store: StateStore, datasets: DatasetRegistry, run: int) -> None:
        self._store = store
        self._datasets = datasets
        self._run = f"{run}\n"  # prefix of the values of this run

    async def put_page(
        self, sample: SamplePage, quads: bytes, document: Document
    ) -> bytes:
        """Keep the page of a sample; return statements about the differences."""
        await self._datasets.files.note_sample(sample, document.url)
        await self._put(sample, _PAGE, quads)
        return await self._compare(sample, document)

    async def put_description(
        self, sample: DescribedSample, quads: bytes, document: Document
    ) -> bytes:
        """Keep the description of a sample; return statements about differences.

        Both sides are reduced to the declared slicing of the endpoint.
        """
        page = SamplePage(sample.dataset, sample.uri)
        await self._put(page, "0", quads)
        return await self._compare(page, document)

    async def put_dump(
        self,
        dataset: KnownDataset,
        part: DumpPart,
        path: Path,
        document: Document,
        *,
        folder: Path,
    ) -> bytes:
        """Keep the samples in a part of a dump; return statements about differences.

        `path` is a file of the relevant quads (`lines_about`), `folder` for sorting.
        """
        statements = b""
        found = await asyncio.to_thread(_descriptions, dataset, path, folder)
        for uri in dataset.samples[:MAX_SAMPLES]:
            sample = SamplePage(dataset.name, uri)
            quads = found.get(document_of(uri), b"")
            if len(quads) <= MAX_SAMPLE_BYTES:
                await self._put(sample, str(part.part), quads)
                statements += await self._compare(sample, document)
        return statements

    async def _put(self, sample: SamplePage, side: str, quads: bytes) -> None:
        entry = {f"{side} {sample.uri}": self._run + quads.decode()}
        await self._store.put(sample.dataset, _TABLE, entry)

    async def _compare(self, sample: SamplePage, document: Document) -> bytes:
        dataset = await self._datasets.known(sample.dataset)
        index = await self._datasets.ways.taken(sample.dataset)
        if dataset is None or index is None:
            return b""
        n_parts = len(dataset.ways[index].parts)
        keys = [f"{side} {sample.uri}" for side in (_PAGE, *range(n_parts))]
        texts = await self._store.get_many(sample.dataset, _TABLE, keys)
        now = [text for text in texts.values() if text.startswith(self._run)]
        sides = [text.removeprefix(self._run) for text in now]
        if len(sides) < len(keys):
            return b""  # the other side comes later, or is of an earlier run
        page, dump = sides[0].encode(), "".join(sides[1:]).encode()
        if dataset.ways[index].way is AccessMethod.SPARQL:
            cut = partial(_cut, sample.uri, dataset.described_by)
            page = await asyncio.to_thread(cut, page)
            dump = await asyncio.to_thread(cut, dump)
        found = compare_sample(page, dump)
        who = document.record.url  # both sides may find each other
        claim = (sample.dataset, _TABLE, f"reported {sample.uri}", who)
        if not found or await self._store.claim(*claim) != who:
            return b""
        lost = counted(len(found.not_in_dump), "statement is", "statements are")
        detail = (
            f"{sample.dataset}: {sample.uri}: {lost} not in the data,"
            f" {len(found.not_in_sample):,} not in the sample"
        )
        document.faults.append(Fault(Reason.SAMPLE_DIFFERS, detail[: Fault.MAX_DETAIL]))
        report = _report(sample, found, _graph_of(sample, document))
        return b"".join(iter_checked(report, FaultLog()))


def lines_about(uris: Iterable[str], chunk: bytes) -> bytes:
    """Return the lines with blank nodes or URIs in the documents of some URIs.

    `chunk` has complete lines of canonical N-Quads.
    """
    documents = {document_of(uri) for uri in uris}
    names = [rb"<%s[>#]" % re.escape(url.encode()) for url in sorted(documents)]
    pattern = rb"^(?:_:|%s|<[^>]*> <[^>]*> (?:_:|%s)).*\n" % ((b"|".join(names),) * 2)
    return b"".join(re.findall(pattern, chunk, re.MULTILINE))


def document_of(uri: str) -> str:
    """Return a URI without fragment."""
    return uri.partition("#")[0]


def _descriptions(dataset: KnownDataset, path: Path, folder: Path) -> dict[str, bytes]:
    """Return the statements of a dump about the documents of the samples."""
    urls = {document_of(uri) for uri in dataset.samples[:MAX_SAMPLES]}
    found = slice_dump(
        iter_file_blocks(path),
        [UriPrefix(url, url) for url in sorted(urls)],
        slicing=dataset.slicing,
        log=FaultLog(),
        folder=folder,
    )
    # A prefix may match further documents.
    return {each.url: each.lines for each in found if each.url in urls}


def _cut(uri: str, slicing: Slicing, quads: bytes) -> bytes:
    """Return the description of a sample in some statements."""
    url = document_of(uri)
    found = slice_dump([quads], [UriPrefix(url, url)], slicing=slicing, log=FaultLog())
    return b"".join(each.lines for each in found if each.url == url)


def _graph_of(sample: SamplePage, document: Document) -> str:
    """Return the graph of a comparison, named after the dataset if allowed."""
    name = sample.dataset
    if not (is_own_name(name) or GraphRule(document.url).admits(name)):
        name = document.url
    return graph_iri(f"{name}#samples")


def _report(
    sample: SamplePage, found: SampleDifference, graph_name: str
) -> Iterable[str]:
    graph, subject = iri(graph_name), iri(sample.uri)
    for triple in found.not_in_dump:
        yield statement(subject, iri(f"{RC}notInDump"), literal(triple), graph)
    for triple in found.not_in_sample:
        yield statement(subject, iri(f"{RC}notInSample"), literal(triple), graph)
