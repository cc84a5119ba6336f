"""What sample URIs answer, beside what the dump says of them.

Whichever comes second finds the first on the store, and compares.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final

from rdfcrawl.errors import Fault, Reason
from rdfcrawl.faultlog import FaultLog
from rdfcrawl.rdf.checking import iter_checked
from rdfcrawl.rdf.graphs import GraphRule, graph_iri
from rdfcrawl.rdf.namespaces import RC
from rdfcrawl.rdf.terms import iri, literal, statement
from rdfcrawl.sitemaps.description import is_own_name
from rdfcrawl.sitemaps.samples import compare_sample
from rdfcrawl.sitemaps.semantic import UriPrefix
from rdfcrawl.sitemaps.slicing import slice_dump
from rdfcrawl.tasks.pages import SamplePage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from rdfcrawl.frontier.state_store import StateStore
    from rdfcrawl.harvest.datasets import DatasetRegistry, KnownDataset
    from rdfcrawl.records import Document
    from rdfcrawl.sitemaps.samples import SampleDifference
    from rdfcrawl.tasks.pages import DumpPart

_TABLE: Final = "samples"  # of a dataset: "page URI" and "N URI" for part N of the dump
_PAGE: Final = "page"
_BLOCK_BYTES: Final = 256 * 1024
MAX_SAMPLES: Final = 20  # of a dataset that are compared
MAX_SAMPLE_BYTES: Final = 256 * 1024  # of N-Quads; larger ones are not compared


class SampleComparison:
    """Keeps and compares samples, for all workers of a crawl."""

    def __init__(self, store: StateStore, datasets: DatasetRegistry) -> None:
        self._store = store
        self._datasets = datasets

    async def put_page(
        self, sample: SamplePage, quads: bytes, document: Document
    ) -> bytes:
        """Keep what a sample answers; return statements about the differences."""
        await self._put(sample, _PAGE, quads)
        return await self._compare(sample, document)

    async def put_dump(
        self,
        dataset: KnownDataset,
        part: DumpPart,
        path: Path,
        document: Document,
        *,
        folder: Path,
    ) -> bytes:
        """Keep what a part of a dump says; return statements about the differences.

        Args:
            dataset: with samples.
            part: of it.
            path: file of the quads that may matter (`lines_about`).
            document: the part; takes the faults.
            folder: for what has to be sorted.
        """
        statements = b""
        said = await asyncio.to_thread(_descriptions, dataset, path, folder)
        for uri in dataset.samples[:MAX_SAMPLES]:
            sample = SamplePage(dataset.name, uri)
            quads = said.get(document_of(uri), b"")
            if len(quads) <= MAX_SAMPLE_BYTES:
                await self._put(sample, str(part.part), quads)
                statements += await self._compare(sample, document)
        return statements

    async def _put(self, sample: SamplePage, side: str, quads: bytes) -> None:
        entry = {f"{side} {sample.uri}": quads.decode()}
        await self._store.put(sample.dataset, _TABLE, entry)

    async def _compare(self, sample: SamplePage, document: Document) -> bytes:
        dataset = await self._datasets.known(sample.dataset)
        index = await self._datasets.way_taken(sample.dataset)
        if dataset is None or index is None:
            return b""
        n_parts = len(dataset.ways[index].parts)
        keys = [f"{side} {sample.uri}" for side in (_PAGE, *range(n_parts))]
        sides = await self._store.get_many(sample.dataset, _TABLE, keys)
        page, *parts = sides
        if page is None or None in parts:
            return b""  # the other side comes later
        dump = "".join(part for part in parts if part)
        found = compare_sample(page.encode(), dump.encode())
        who = document.record.url  # both sides may find each other at once
        claim = (sample.dataset, _TABLE, f"reported {sample.uri}", who)
        if not found or await self._store.claim(*claim) != who:
            return b""
        detail = (
            f"{sample.dataset}: {sample.uri}: {len(found.not_in_dump)} statements are"
            f" not in the dump, {len(found.not_in_sample)} not in the sample"
        )
        document.faults.append(Fault(Reason.SAMPLE_DIFFERS, detail[: Fault.MAX_DETAIL]))
        graph = _graph_of(sample, document)
        lines = iter_checked(_report(sample, found, graph), FaultLog())
        quads = b"".join(lines)
        document.n_quads += quads.count(b"\n")
        return quads


def lines_about(uris: Iterable[str], chunk: bytes) -> bytes:
    """Return the lines that may belong to descriptions: with the URIs or blank nodes.

    Args:
        uris: of resources; others in the same documents differ by a fragment.
        chunk: whole lines of canonical N-Quads.
    """
    documents = {document_of(uri) for uri in uris}
    names = [rb"<%s[>#]" % re.escape(url.encode()) for url in sorted(documents)]
    pattern = rb"^(?:_:|%s|<[^>]*> <[^>]*> (?:_:|%s)).*\n" % ((b"|".join(names),) * 2)
    return b"".join(re.findall(pattern, chunk, re.MULTILINE))


def document_of(uri: str) -> str:
    """Return a URI without its fragment."""
    return uri.partition("#")[0]


def _descriptions(dataset: KnownDataset, path: Path, folder: Path) -> dict[str, bytes]:
    """Return what a dump says of the documents that the samples are in."""
    urls = {document_of(uri) for uri in dataset.samples[:MAX_SAMPLES]}
    found = slice_dump(
        iter_line_blocks(path),
        [UriPrefix(url, url) for url in sorted(urls)],
        slicing=dataset.slicing,
        log=FaultLog(),
        folder=folder,
    )
    # There are others: a prefix is more than the one document that is called so.
    return {each.url: each.lines for each in found if each.url in urls}


def iter_line_blocks(path: Path) -> Iterator[bytes]:
    """Yield a file of lines in blocks of whole lines."""
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            yield block + file.readline()


def _graph_of(sample: SamplePage, document: Document) -> str:
    """Return the graph of a comparison: of the dataset, if its name may be written.

    A dataset may be called anything; one without a name has one of ours.
    """
    name = sample.dataset
    if not (is_own_name(name) or GraphRule(document.url).admits(name)):
        name = document.url
    return graph_iri(f"{name}#samples")


def _report(
    sample: SamplePage, found: SampleDifference, graph_name: str
) -> Iterable[str]:
    graph = iri(graph_name)
    subject = iri(sample.uri)
    for name, triples in (
        ("notInDump", found.not_in_dump),
        ("notInSample", found.not_in_sample),
    ):
        for triple in triples:
            text = literal(triple)
            yield statement(subject, iri(RC + name), text, graph)
