"""Logs of crawls, written from a list of events of URLs."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from rdfcrawl.core.errors import Fault, FaultLog, Reason
from rdfcrawl.core.namespaces import RC
from rdfcrawl.core.records import Document, FetchedResponse, ReadResult, Record
from rdfcrawl.core.times import parse_point
from rdfcrawl.pipelines.provenance import activity_of
from rdfcrawl.rdf.terms import unix_ms
from rdfcrawl.sources.harvest.response import QuadBuffer
from rdfcrawl.sources.sitemaps.description import describe_entry
from rdfcrawl.sources.sitemaps.entry import SitemapEntry
from rdfcrawl.stores.crawl_folder import ensure_identity
from rdfcrawl.stores.nquads import document_mark
from rdfcrawl.stores.provenance.blocks import ActivityBlock, encode_block
from rdfcrawl.stores.provenance.records import SameContent, WorkerAgent
from rdfcrawl.stores.segments import QuadSegments
from rdfcrawl.uri import NormalForm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from rdfcrawl.sources.sitemaps.entry import ChangeFrequency

T0 = 1_790_000_000_000  # 2026-09-21
NORMAL = NormalForm()
FIELDS: dict[str, tuple[str, Callable[[str], object]]] = {
    "canonical": ("canonical", str),
    "contentHash": ("content_hash", str),
    "errorPage": ("is_error_page", bool),
    "foundBy": ("found_by", str),
    "images": ("n_images", int),
    "immutableUntil": ("immutable_until_ms", unix_ms),
    "lastModified": ("last_modified", str),
    "linkedWords": ("n_linked_words", int),
    "location": ("location", str),
    "parent": ("parent", str),
    "run": ("run", int),
    "shingles": ("n_shingles", int),
    "sitemapFormat": ("sitemap_format", str),
    "sketch": ("sketch", str),
    "source": ("rank", lambda _: 5000),
    "statementsHash": ("statements_hash", str),
    "task": ("task", str),
    "textHash": ("text_hash", str),
    "words": ("n_words", int),
}
"""Fields of activities by the terms of `rc:`, and how their texts are read."""
TURTLE: Any = SimpleNamespace(name="Turtle")
HYPERLINK = f"{RC}hyperlink"


@dataclass(frozen=True, slots=True)
class ListedUrl:
    """An entry of a sitemap."""

    url: str
    lastmod: str = ""
    changefreq: ChangeFrequency | None = None
    priority: float | None = None
    is_sitemap: bool = False


@dataclass(frozen=True, slots=True)
class SitemapRead:
    """The reading of a sitemap."""

    url: str
    ms: int
    entries: tuple[ListedUrl, ...]

    def write(self, logs: CrawlLogs) -> None:
        """Write its statements."""
        buffer = QuadBuffer(self.url, FaultLog())
        for n, each in enumerate(self.entries):
            entry = SitemapEntry(
                position=n,
                url=each.url,
                is_sitemap=each.is_sitemap,
                lastmod=parse_point(each.lastmod) if each.lastmod else None,
                changefreq=each.changefreq,
                priority=each.priority,
            )
            buffer.add(describe_entry(entry, sitemap=self.url))
        mark = document_mark(self.url, self.ms)
        logs.quads.write_document(b"".join((mark, *buffer.take())))


@dataclass(frozen=True, slots=True)
class DocumentStored:
    """Statements of a document, as triples of N-Triples without the dot."""

    url: str
    ms: int
    lines: tuple[str, ...]

    def write(self, logs: CrawlLogs) -> None:
        """Write them, in the graph of the document."""
        quads = "".join(f"{line} <{self.url}> .\n" for line in self.lines)
        mark = document_mark(self.url, self.ms)
        logs.quads.write_document(mark + quads.encode())


@dataclass(frozen=True, slots=True)
class UrlFetched:
    """The fetch of a URL; `facts` are terms of `rc:` and their values.

    `target` is the target of its redirect on its host, `chain` the URLs that redirected
    to it.
    """

    url: str
    ms: int
    status: int = 200
    etag: str = ""
    target: str = ""
    fault: Reason | None = None
    why: str = "why"
    facts: tuple[tuple[str, str], ...] = ()
    chain: tuple[str, ...] = ()
    n_quads: int = 3

    def write(self, logs: CrawlLogs) -> None:
        """Write its activity."""
        requested = (self.url, self.target) if self.target else (self.url,)
        document = Document(
            record=Record(self.url, chain=self.chain),
            url=self.target or self.url,
            response=FetchedResponse(
                requested=requested,
                status=self.status,
                etag=self.etag,
                started_ms=self.ms,
                ended_ms=self.ms + 5,
            ),
            reading=ReadResult(format=TURTLE if self.status == 200 else None),
            n_quads=self.n_quads if self.status == 200 else 0,
            faults=[Fault(self.fault, self.why)] if self.fault else [],
        )
        fields: dict[str, Any] = {}
        for term, value in self.facts:
            name, kind = FIELDS[term]
            fields[name] = kind(value)
        activity = activity_of(document, logs.agent)._replace(**fields)
        logs.write_block(ActivityBlock(logs.agent, [activity]))


@dataclass(frozen=True, slots=True)
class ToldLater:
    """Contents that are found later to be those of other URLs."""

    same: tuple[SameContent, ...]

    def write(self, logs: CrawlLogs) -> None:
        """Write them."""
        logs.write_block(ActivityBlock(logs.agent, same=self.same))


@dataclass(frozen=True, slots=True)
class LinksFound:
    """The links of a document, all of one relation."""

    url: str
    ms: int
    targets: tuple[str, ...]
    relation: str = HYPERLINK

    def write(self, logs: CrawlLogs) -> None:
        """Write a line for each."""
        lines = "".join(f"<{self.relation}> <{target}>\n" for target in self.targets)
        mark = document_mark(self.url, self.ms)
        logs.links.write_document(mark + lines.encode())


UrlEvent = SitemapRead | DocumentStored | UrlFetched | LinksFound


class CrawlLogs:
    """The three logs of a worker, open."""

    def __init__(self, root: Path, worker: str) -> None:
        self.agent = WorkerAgent(worker, "test", version="0")
        self.quads = QuadSegments(root / "quads", worker)
        self.provenance = QuadSegments(root / "provenance", worker, form="jsonl")
        self.links = QuadSegments(root / "links", worker)
        ensure_identity(root / "quads")

    def write_block(self, block: ActivityBlock) -> None:
        """Write a block of provenance."""
        self.provenance.write_document(encode_block(block))

    async def flush(self) -> None:
        """Flush all to the files: later lines go to other members."""
        for each in (self.quads, self.provenance, self.links):
            await each.flush(sync=False)

    async def close(self) -> None:
        """End all files."""
        for each in (self.quads, self.provenance, self.links):
            await each.close()


def write_events(root: Path, events: Iterable[UrlEvent], worker: str = "w") -> None:
    """Append to the logs in a folder, each event in a separate member."""

    async def write() -> None:
        logs = CrawlLogs(root, worker)
        for event in events:
            event.write(logs)
            await logs.flush()
        await logs.close()

    asyncio.run(write())
