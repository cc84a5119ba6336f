"""Step three: extract links from N-Quads, pages and headers."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import AsyncIterator, Collection
from collections.abc import Set as AbstractSet
from time import perf_counter
from typing import TYPE_CHECKING, Self

from rdfcrawl.analysis.duplicates.copies import (
    FOLLOWED,
    NO_LIMITS,
    ComparedDocument,
    CopyJudge,
    CopyLimits,
    CopyVerdict,
)
from rdfcrawl.core.content import head_of
from rdfcrawl.core.errors import Decision, Fault
from rdfcrawl.core.formats import HTML
from rdfcrawl.core.messages import counted
from rdfcrawl.core.records import Document
from rdfcrawl.core.visits import flush_stores
from rdfcrawl.frontier.worker.worker_state import PARSE_SECS_BOUNDS, PARSE_SECS_SUM
from rdfcrawl.pipelines.items import (
    HarvestingSpider,
    close_chunks,
    harvesting_spider,
    pass_through,
)
from rdfcrawl.rdf.fingerprints import Fingerprint
from rdfcrawl.rdf.graphs import graph_iri
from rdfcrawl.rdf.links.policy import with_own
from rdfcrawl.sources.harvest.discovery import NOTHING_FOUND, Discovery, DocumentScan
from rdfcrawl.sources.harvest.page_fetches import PageFetches
from rdfcrawl.uri import CRAWLED_SCHEMES, host_of, registered_domain
from rdfcrawl.uri.traps import form_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

    from rdfcrawl.core.content import QuadChunk
    from rdfcrawl.frontier.session import CrawlSession
    from rdfcrawl.rdf.links.policy import LinkPolicy
    from rdfcrawl.sources.harvest.document_discovery import DocumentDiscovery


_MOST_LINKS_HELD = 8_000  # fits the processor's cache


class DiscoverPipeline:
    """Pipeline that reads all quads of a document and queues its links."""

    def __init__(self, spider: HarvestingSpider, stats: StatsCollector) -> None:
        self._spider = spider
        self._stats = stats
        self._read_secs: list[float] = []  # of documents since the last report
        self._session: CrawlSession
        self._fetches: PageFetches | None = None
        self._suspects: AbstractSet[str] = frozenset()  # contents of many documents
        self._near_hosts: AbstractSet[str] = frozenset()
        self._discoveries: dict[int, DocumentDiscovery] = {}  # by profile
        # by profile that wants certain statements
        self._counters: dict[int, Callable[[bytes], int]] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of a crawler whose spider makes visits."""
        pipeline = cls(harvesting_spider(crawler), crawler.stats)
        crawler.signals.connect(pipeline.flush, flush_stores)
        return pipeline

    def open_spider(self) -> None:
        """Take the session, which the scheduler has opened."""
        self._session = self._spider.joined()
        self._links = self._session.links
        self._fetches = PageFetches(self._session.state_store)
        self._copies = CopiedPages(self._session, self._spider.options.copies)
        self._suspects = self._copies.judge.suspects
        self._near_hosts = self._copies.judge.near_hosts
        self._schemes = self._session.options.schemes

    async def flush(self) -> None:
        """Keep the state that later runs need of fetched pages."""
        add_reading_times(self._stats, self._read_secs)
        self._read_secs.clear()
        if self._fetches is not None:  # else the crawl was not joined
            self._copies.judge.settle()
            await self._fetches.flush()

    async def process_item(self, item: object) -> object:
        """Collect the links, a few thousand at a time, so that memory stays bounded.

        `Document.links` is complete after the quads are read.
        """
        if not isinstance(item, Document):
            return pass_through(item)
        document = item
        profile = document.record.profile
        discovery = self._discoveries.get(profile) or self._discovery_of(document)
        follow = discovery.follow
        follow = self._with_schemes(follow, document) if self._schemes.own else follow
        scan = DocumentScan(follow)
        links: set[bytes] = set()
        if document.chunks is not None:
            began = perf_counter()
            links = await self._read(document, document.chunks, scan)
            self._read_secs.append(perf_counter() - began)
            document.chunks = None  # they hold the body and the document
            if document.reading.links or document.listed_links:
                links |= follow.choose(document.links)
        if not (document.record.depth or links or follow.wants_hyperlinks):
            self._note_hyperlinks(document)
        # First, as discoverers know more about the targets than links do.
        found = await discovery.find(document, scan)
        if found is not NOTHING_FOUND:
            await self._take(document, found)
        if links:
            is_last = False
            if self._near_hosts or document.facts.text_hash in self._suspects:
                reason, is_last = self._copies.followed(document, links, scan.whole)
                links = set() if reason else links
            judged = await self._links.add_links(document, links, is_last=is_last)
            document.n_links += len(judged.candidates)
            document.faults += judged.faults
        if document.record.task is not None or document.is_deleted:
            self._note_fetch(document)
        if self._copies.has_limits:
            self._copies.note(document)
        return document

    def _with_schemes(self, follow: LinkPolicy, document: Document) -> LinkPolicy:
        """Return the policy that also finds links of the schemes of a document."""
        schemes = self._schemes.of_links(document.record.url) - CRAWLED_SCHEMES
        return with_own(follow, schemes)

    def _note_hyperlinks(self, document: Document) -> None:
        """Count the hyperlinks of a seed of which no link is followed."""
        if document.reading.format is HTML:
            from rdfcrawl.rdf.html.empty_pages import (  # noqa: PLC0415 (few documents)
                SEEN_BYTES,
                count_hyperlinks,
            )

            n_links = count_hyperlinks(head_of(document.response, SEEN_BYTES))
            self._stats.inc_value("link/hyperlinks_of_seeds", n_links)

    def _note_fetch(self, document: Document) -> None:
        if self._fetches is None:
            return
        if document.record.task is not None:
            self._fetches.note(document, self._session.run)
        else:
            self._fetches.forget(document.url)

    def _discovery_of(self, document: Document) -> DocumentDiscovery:
        """Return the discoverer of a document, cached by profile."""
        record = document.record
        discovery = self._spider.harvesters_of(record).discovery
        if record.profile in self._session.profiles.arguments:
            self._discoveries[record.profile] = discovery
            if want := self._session.profiles.of(record).want:
                from rdfcrawl.rdf.wanted import statement_counter  # noqa: PLC0415 (few crawls)

                self._counters[record.profile] = statement_counter(want)
        return discovery

    async def _take(self, document: Document, found: Discovery) -> None:
        """Queue discovered requests, and account for them."""
        if found.is_excused:
            document.faults.clear()
        document.faults += found.faults
        if found.not_rdf:
            self._links.rejected.no_rdf += len(found.not_rdf)
            self._links.note_decision(Decision.NO_RDF, found.not_rdf, document.url)
        if found.withdrawn:
            document.withdrawn += found.withdrawn
        if follow_ups := found.follow_ups:
            judged = await self._links.add_follow_ups(document, follow_ups)
            document.n_follow_ups += len(follow_ups)
            document.n_links += len(judged.candidates)
            document.faults += judged.faults

    async def _read(
        self, document: Document, chunks: AsyncIterator[QuadChunk], scan: DocumentScan
    ) -> set[bytes]:
        """Read to the end; return the links not added yet."""
        links: set[bytes] = set()
        last: QuadChunk | None = None
        is_first = True
        count = self._counters.get(document.record.profile)
        try:
            async for chunk in chunks:
                if count is not None:
                    document.n_wanted += count(chunk.lines)
                if last is not None:
                    is_first = False
                    links |= self._links_in(document, last, scan)
                    if len(links) >= _MOST_LINKS_HELD:
                        await self._hand_on(document, links, scan)
                last = chunk
        except BaseException:
            await close_chunks(chunks)
            raise
        if last is not None and document.is_followed:
            if not is_first:
                links |= self._links_in(document, last, scan)
            else:  # usual case; the reader may have found the links
                found = None if self._schemes.own else document.reading.targets
                scan.whole = last.lines
                links = set(scan.links(last.lines, found))
        if scan.has_any:
            links -= scan.urls  # already queued, with their own kind
        return links

    def _links_in(
        self, document: Document, chunk: QuadChunk, scan: DocumentScan
    ) -> AbstractSet[bytes]:
        """Return the links of a chunk, without those to a host out of scope."""
        if not document.is_followed:
            return frozenset()
        if chunk.links is None:
            return scan.links(chunk.lines)
        if chunk.is_describing or scan.has_any:
            scan.gather(chunk.lines)
        of_host, host, n_of_host, others = chunk.links
        links = set(others.split(b"\n")) if others else set()
        if of_host and not self._links.turns_away(document, host, n_of_host):
            links.update(of_host.split(b"\n"))
        return links

    async def _hand_on(
        self, document: Document, links: set[bytes], scan: DocumentScan
    ) -> None:
        """Add links while a document is read, and drop them from memory."""
        if scan.has_any:
            links -= scan.urls
        judged = await self._links.add_links(document, links)
        document.n_links += len(judged.candidates)
        document.faults += judged.faults
        links.clear()
        await self._links.room()


class CopiedPages:
    """The judge of one worker, with logging and counting."""

    def __init__(self, session: CrawlSession, limits: CopyLimits) -> None:
        self._session = session
        self.judge = CopyJudge(limits, self._place_of)
        self.has_limits = limits != NO_LIMITS

    def _place_of(self, host: str) -> tuple[str, str]:
        return registered_domain(host), self._session.addresses.address_of(host)

    def note(self, document: Document) -> None:
        """Count a document whose facts are known."""
        facts = document.facts
        if not facts.text_hash:
            return
        is_first = self.judge.is_first(facts.text_hash)
        may_be_near = not _n_stored(document) and document.reading.format is HTML
        if not is_first or may_be_near or facts.is_error_page:
            self.judge.note(_compared(document))

    def followed(
        self, document: Document, links: AbstractSet[bytes], whole: bytes | None
    ) -> CopyVerdict:
        """Return the verdict on links; log and count dropped ones.

        Args:
            document: document that may be a copy.
            links: of the document.
            whole: all of its statements; None if too many.
        """
        if not document.facts.text_hash or document.record.depth == 0:
            return FOLLOWED

        def digest() -> object:
            own = graph_iri(document.url).encode()
            return hash(whole.replace(own, b"")) if whole else document.n_quads

        def leads_on(some: AbstractSet[bytes]) -> bool:
            form = form_of(document.url)
            return any(form_of(x.decode(errors="replace")) != form for x in some)

        compared = _compared(document)
        verdict = self.judge.judge(compared, links, digest=digest, leads_on=leads_on)
        rejected = self._session.links.rejected
        if verdict.reason is not None:
            rejected.of_copy += len(links)
            detail = f"{counted(len(links), 'link')} of one of very many copies"
            document.faults.append(Fault(verdict.reason, detail))
            urls = [link.decode(errors="replace") for link in links]
            self._session.links.note_decision(Decision.OF_COPY, urls, document.url)
        elif verdict.is_last:
            rejected.of_copy_later += len(links)
        return verdict


def _compared(document: Document) -> ComparedDocument:
    facts = document.facts
    return ComparedDocument(
        host_of(document.url),
        Fingerprint(facts.text_hash, facts.sketch, facts.n_shingles),
        document.reading.format is HTML,
        _n_stored(document),
        facts.n_images,
        facts.is_error_page,
    )


def _n_stored(document: Document) -> int:
    return 0 if document.withheld else document.n_quads


_NAMES = tuple(f"document/parse_secs/{each}" for each in (*PARSE_SECS_BOUNDS, "more"))


def add_reading_times(stats: StatsCollector, times: Collection[float]) -> None:
    """Add the reading times of documents to the statistics of a worker."""
    for place, n in Counter(bisect_left(PARSE_SECS_BOUNDS, x) for x in times).items():
        stats.inc_value(_NAMES[place], n)
    if times:
        before = stats.get_value(PARSE_SECS_SUM, 0.0)
        stats.set_value(PARSE_SECS_SUM, before + sum(times))
