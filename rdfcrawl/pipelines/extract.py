"""Step one: extract N-Quads and links from bytes."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Self

from scrapy import signals

from rdfcrawl.core.content import QuadChunk, body_of
from rdfcrawl.core.errors import HeldBack, NeedsSandbox, Reason
from rdfcrawl.core.records import NO_FACTS, NOT_READ, Document, Kind, ReadResult
from rdfcrawl.core.reservations import NOTHING, Reservations
from rdfcrawl.core.tasks import DumpPart
from rdfcrawl.downloader.services import FetchServices, services_of
from rdfcrawl.pipelines.facts import ObservedChunks
from rdfcrawl.pipelines.items import harvesting_spider, pass_through
from rdfcrawl.rdf.environment import ContextDocument, ReaderContext
from rdfcrawl.rdf.extraction.messages import BulkOutput, ExtractOutcome, ReadingJob
from rdfcrawl.rdf.extraction.plain import read_plain
from rdfcrawl.rdf.extraction.reading import DocumentReading
from rdfcrawl.rdf.extraction.sandbox import Sandbox, SandboxedReading
from rdfcrawl.rdf.graphs import graph_iri
from rdfcrawl.rdf.links.outlinks import OutlinkOptions
from rdfcrawl.rdf.links.policy import LinkPolicy, with_own
from rdfcrawl.uri import CRAWLED_SCHEMES

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from rdfcrawl.frontier.arguments.crawl import CrawlArguments
    from rdfcrawl.rdf.extraction.options import ExtractOptions
    from rdfcrawl.rdf.extraction.plain import PlainReading
    from rdfcrawl.rdf.graphs import Trust

logger = logging.getLogger(__name__)

# Each entry of these lists is known singly, and hashed as a list.
_LISTS = frozenset({Kind.SITEMAP, Kind.RESOURCESYNC})


class ExtractPipeline:
    """Pipeline that sets `Document.chunks`; a child reads large or slow documents."""

    def __init__(self, crawler: Crawler, options: ExtractOptions) -> None:
        spider = harvesting_spider(crawler)
        self._crawler = crawler
        self.spider = spider
        self._options = options
        self._reservation_policy = spider.options.reservation_policy
        self._logged: OutlinkOptions | None = None  # of the last document
        self._schemes = spider.options.crawl.schemes
        self._sandbox = Sandbox.of(
            options,
            n=options.processes,
            scratch_dir=spider.options.crawl.paths.spool,
            load_context=self._load_context,
            on_confined=self._count_child,
        )
        self._environment = ReaderContext(contexts=_NearContexts(self._services))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of a crawler whose spider makes visits."""
        options = harvesting_spider(crawler).options.extract
        if options.rules:
            from rdfcrawl.rdf.html.rules import rules_in  # noqa: PLC0415 (few use it)

            for refusal in rules_in(options.rules).refused:
                logger.warning("%s", refusal)
        pipeline = cls(crawler, options)
        crawler.signals.connect(pipeline.spider_closed, signals.spider_closed)
        return pipeline

    async def spider_closed(self) -> None:
        """End the child processes."""
        await self._sandbox.close()

    def process_item(self, item: object) -> object:
        """Set the chunks of a document, unless its source has set them."""
        if not isinstance(item, Document):
            return pass_through(item)
        if item.chunks is None and not item.is_read:
            item.chunks = _Chunks(self, item, self._plain(item))
        elif item.chunks is not None and item.record.kind not in _LISTS:
            job = self._job_of_harvested(item)
            if job.wants_fingerprint or job.outlinks is not None:
                item.chunks = ObservedChunks(item, item.chunks, job, self._crawler)
        return item

    def _job_of_harvested(self, document: Document) -> ReadingJob:
        """Return the job of computing facts of a document that was already read."""
        follow = self._arguments_of(document).follow
        return ReadingJob(
            url=document.url,
            graph=graph_iri(document.url),
            wants_fingerprint=self._options.wants_facts,
            outlinks=self._outlinks(follow) if document.is_followed else None,
        )

    def _plain(self, document: Document) -> PlainReading | None:
        """Read a document that needs no `DocumentReading`: the usual case."""
        response, options = document.response, self._options
        if (
            response.body is None
            or response.http_links
            or options.custom
            or document.reservations is not NOTHING
        ):
            return None
        follow = self._arguments_of(document).follow
        return read_plain(
            response.body,
            url=document.url,
            graph=graph_iri(document.url),
            media_type=response.media_type,
            charset=response.charset,
            trust=_trust_in(document),
            limits=options.limits,
            environment=self._environment,
            wants_fingerprint=options.wants_facts,
            outlinks=self._outlinks(follow) if document.is_followed else None,
        )

    def begin(self, document: Document) -> _Begun | None:
        """Return how to read a document; None if there are no bytes."""
        source = body_of(document.response)
        if source is None:
            return None
        follow = self._arguments_of(document).follow
        job = ReadingJob(
            url=document.url,
            graph=graph_iri(document.url),
            media_type=document.media_type,
            charset=document.response.charset,
            http_links=document.response.http_links,
            trust=_trust_in(document),
            wants_hyperlinks=follow.wants_hyperlinks,
            rules=self._options.rules,
            custom=self._options.custom,
            reservations=document.reservations,
            reservation_policy=self._reservation_policy,
            at_secs=document.response.ended_ms / 1000,
            wants_fingerprint=self._options.wants_facts,
            outlinks=self._outlinks(follow) if document.is_followed else None,
            limits=self._options.limits,
            unpack=self._options.unpack,
        )
        if not isinstance(source, bytes):
            return source, job, None
        reading = DocumentReading(source, job, environment=self._environment)
        return source, job, reading

    def bulk(self, document: Document) -> BulkOutput:
        """Return how a child finds the links of a document, and packs it."""
        follow, own = self._arguments_of(document).follow, self._schemes
        if own.own:
            schemes = own.of_links(document.record.url) - CRAWLED_SCHEMES
            follow = with_own(follow, schemes)
        return BulkOutput(follow=follow, wants_links=document.is_followed)

    async def read_in_child(
        self, source: bytes | Path, job: ReadingJob
    ) -> SandboxedReading:
        """Return the reading of a document in a child."""
        return await self._sandbox.read(source, job)

    def with_site(self, site: Reservations, stated: Reservations) -> Reservations:
        """Return the reservations of a document, merged with those of its site."""
        return site.under(self._reservation_policy).refined(stated)

    def _outlinks(self, follow: LinkPolicy) -> OutlinkOptions | None:
        most = self._options.most_outlinks
        if most and (self._logged is None or self._logged.follow is not follow):
            self._logged = OutlinkOptions(follow, most)
        return self._logged

    def _arguments_of(self, document: Document) -> CrawlArguments:
        session = self.spider.session
        if session is None:
            return self.spider.arguments
        return session.profiles.of(document.record)

    def _count_child(self, layers: str) -> None:
        """Count a child by its confinement; log new kinds."""
        name = f"extract/children/{layers}"
        stats = self._crawler.stats
        if stats is None:
            return
        if not stats.get_value(name):
            logger.info("Documents are read in children confined by: %s", layers)
        stats.inc_value(name)

    def _services(self) -> FetchServices:
        return services_of(self._crawler)

    async def _load_context(self, url: str, *, document_url: str) -> ContextDocument:
        return await self._services().contexts.load(url, document_url=document_url)


def _trust_in(document: Document) -> Trust:
    """Return the graphs that a document may name.

    Those of a dataset may be on its other hosts.
    """
    task = document.record.task
    return (isinstance(task, DumpPart) and task.graphs) or "same-origin"


def _http_links(document: Document) -> ReadResult:
    """Return the links in the headers of a response whose body was not received.

    Images are described elsewhere (`describedby`).
    """
    response = document.response
    if response.http_links and 200 <= response.status < 300:
        from rdfcrawl.rdf.links.headers import links_of  # noqa: PLC0415 (on few pages)

        return ReadResult(links=links_of(response.http_links, base=document.url))
    return NOT_READ


# The body, how to read it, and its reading in this process.
_Begun = tuple["bytes | Path", ReadingJob, "DocumentReading | None"]


class _Chunks:
    """The chunks of a document: first those read here, then those of a child.

    A plain document is read already; it has one chunk.
    """

    __slots__ = ("_child", "_document", "_has_begun", "_inline", "_job", "_of_site",
                 "_pipeline", "_plain", "_reading", "_result", "_source",
                 "_taken")  # fmt: skip

    def __init__(
        self,
        pipeline: ExtractPipeline,
        document: Document,
        plain: PlainReading | None,
    ) -> None:
        self._pipeline, self._document, self._plain = pipeline, document, plain
        self._source: bytes | Path | None = None  # None: everything is read
        self._job: ReadingJob  # with the source
        self._has_begun = False
        self._inline: Iterator[bytes] | None = None
        self._child: SandboxedReading | None = None
        self._taken: AsyncIterator[QuadChunk] | None = None  # from the child
        self._result = NOT_READ
        # reservations of the site, if requested while the document was read
        self._of_site: Reservations = NOTHING

    def __aiter__(self) -> _Chunks:
        return self

    async def __anext__(self) -> QuadChunk:
        chunk = self._next_here()
        if chunk is None and self._source is not None:
            chunk = await self._next_of_child(self._source)
        document = self._document
        if document.fetch_site is not None and (
            chunk is not None or self._result.links
        ):
            await self._apply_site_file()
            if document.withheld is Reason.TDM_RESERVED:
                await self.aclose()
                chunk = None
        if chunk is None:
            document.reading = self._result
            raise StopAsyncIteration
        return chunk

    def _begin(self) -> None:
        self._has_begun = True
        begun = self._pipeline.begin(self._document)
        if begun is None:
            self._result = _http_links(self._document)
            return
        self._source, self._job, self._reading = begun
        if self._reading is not None:
            self._inline = iter(self._reading)

    def _next_here(self) -> QuadChunk | None:
        """Return the next chunk; None if there are no more, or not here."""
        if self._plain is not None:
            return self._next_of_plain(self._plain)
        if not self._has_begun:
            self._begin()
        if self._inline is None or (reading := self._reading) is None:
            return None
        try:
            for lines in self._inline:
                self._obey(reading.outcome)
                return QuadChunk(lines)
        except NeedsSandbox:
            self._inline = None
            return None
        self._inline = None
        self._note(reading.outcome)
        if reading.outcome.left:
            self._job = self._job.rest(reading.outcome)
        else:
            self._source = None
        return None

    def _next_of_plain(self, plain: PlainReading) -> QuadChunk | None:
        if not self._has_begun:
            self._has_begun = True
            return QuadChunk(plain.chunk, plain.n_quads)
        self._plain = None
        self._result, self._document.facts = plain.reading, plain.facts
        self._document.faults += plain.faults
        return None

    async def _next_of_child(self, source: bytes | Path) -> QuadChunk | None:
        """Return the next chunk; None at the end."""
        if self._taken is None:
            if self._document.fetch_site is not None:
                # Children are few, and must not wait for a site.
                await self._apply_site_file()
                reservations = self._document.reservations
                self._job = replace(self._job, reservations=reservations)
            bulk = self._pipeline.bulk(self._document)
            job = replace(self._job, bulk=bulk)
            self._child = await self._pipeline.read_in_child(source, job)
            self._taken = aiter(self._child)
        async for chunk in self._taken:
            if self._child is not None:
                self._obey(self._child.outcome)
            return chunk
        child = self._child
        await self.aclose()
        if child is not None:
            self._note(child.outcome)
        return None

    async def _apply_site_file(self) -> None:
        """Apply the reservations of the site before the first chunk.

        Raises:
            HeldBack: they cannot be requested now.
        """
        document, found = self._document, NOTHING
        fetch, document.fetch_site = document.fetch_site, None
        if fetch is not None and document.reservations.tdm is None:
            of_site = await fetch()
            if of_site is None:
                raise HeldBack(document.url)
            found = of_site
        if found:
            self._of_site = found
            reservations = self._pipeline.with_site(found, document.reservations)
            self._pipeline.spider.obey(document, reservations)

    def _obey(self, outcome: ExtractOutcome) -> None:
        reservations = outcome.reservations
        if self._of_site is not NOTHING:
            reservations = self._pipeline.with_site(self._of_site, reservations)
        # from the publisher, known before the statements of a page
        if reservations is not self._document.reservations:
            self._pipeline.spider.obey(self._document, reservations)

    def _note(self, outcome: ExtractOutcome) -> None:
        """Add an outcome: a document may be read in two parts."""
        self._obey(outcome)
        document = self._document
        self._result = result_of(outcome, self._result)
        document.faults += outcome.faults
        # A second reader, for the rest of a document, only knows its header.
        if outcome.facts.text_hash or document.facts is NO_FACTS:
            document.facts = outcome.facts

    async def aclose(self) -> None:
        """Discard the rest; a child that reads the document ends."""
        self._has_begun, self._plain = True, None
        self._source, self._inline = None, None
        child, self._child = self._child, None
        if child is not None:
            await child.close()


# `ExtractOutcome` has all fields of `ReadResult`.
_result_fields = attrgetter(*ReadResult._fields)


class _NearContexts:
    """Contexts available without waiting; a `ContextSource`."""

    def __init__(self, services: Callable[[], FetchServices]) -> None:
        self._services = services

    def load(self, url: str, *, document_url: str) -> ContextDocument:
        """Return a recently fetched context, or raise `NeedsSandbox`."""
        del document_url  # a page may name another URL as its base
        context = self._services().contexts.peek(url)
        if context is None:
            raise NeedsSandbox(f"context {url}")
        return context


def result_of(outcome: ExtractOutcome, first: ReadResult = NOT_READ) -> ReadResult:
    """Return the outcome of a reader, appended to a first result."""
    found = ReadResult._make(_result_fields(outcome))
    if found.members:
        found = found._replace(members=tuple(found.members))
    if first is NOT_READ:
        return found
    if first.format is not None:
        found = found._replace(format=first.format, decided_by=first.decided_by)
    return found._replace(
        packings=first.packings or found.packings,
        members=(*first.members, *found.members),
        n_members=first.n_members + found.n_members,
        extracted={**first.extracted, **found.extracted},
        links=first.links | found.links,
        outlinks=first.outlinks + found.outlinks,
        is_partial=first.is_partial or found.is_partial,
    )
