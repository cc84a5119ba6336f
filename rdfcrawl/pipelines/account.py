"""Step four: write the provenance of a document, and count.

Documents with the content of an earlier one of the crawl are found in one round trip at
each flush; they follow their activities in the provenance.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Self, get_args

from redis.exceptions import RedisError

from rdfcrawl.core.errors import GUARDED, OF_READING, CrawlGone, Fault, StoreFault
from rdfcrawl.core.formats import HTML, Format
from rdfcrawl.core.messages import counted
from rdfcrawl.core.records import NO_FACTS, NOT_READ, Document, ReadResult, Record
from rdfcrawl.core.reservations import NOTHING, Reservations
from rdfcrawl.frontier.queue.worker_reports import (
    OWN_FAULT_DOCUMENTS,
    keep_example,
    part_key,
)
from rdfcrawl.pipelines.items import HarvestingSpider, harvesting_spider, pass_through
from rdfcrawl.pipelines.logs import SegmentPipeline
from rdfcrawl.pipelines.provenance import activity_of
from rdfcrawl.pipelines.results import ResultLog
from rdfcrawl.rdf.fingerprints import content_hash
from rdfcrawl.stores.crawl_folder import KeptTime
from rdfcrawl.stores.provenance.blocks import ActivityBlock, encode_block
from rdfcrawl.stores.provenance.records import (
    Activity,
    SameContent,
    Status,
    WorkerAgent,
)
from rdfcrawl.uri.hosts import has_lookalike

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

    from rdfcrawl.frontier.queue.tables import FetchedContent

    FirstUrls = Callable[[Sequence[FetchedContent], int], Awaitable[list[str]]]


logger = logging.getLogger(__name__)

_STATUS_NAMES: Final[dict[Status, str]] = {
    status: f"document/status/{status.lower()}" for status in get_args(Status)
}
_MAX_LOGGED: Final = 5  # seeds; the statistics count all
_BLOCK_ACTIVITIES: Final = 1000
_BLOCK_PARTS: Final = 2000  # faults, members and URLs of redirects


class AccountPipeline(SegmentPipeline):
    """Pipeline that writes provenance and counts."""

    def __init__(self, spider: HarvestingSpider, stats: StatsCollector) -> None:
        options = spider.options.crawl
        limits = options.stores.segments
        super().__init__(options.paths.provenance, limits, stats, "jsonl")
        self._worker = WorkerAgent(options.worker, options.crawl_id)
        self._spider = spider
        self._same = SameContents(self._first_urls, spider.options.same_contents)
        self._n_refused = 0
        self._time: KeptTime | None = None  # until the crawl is joined
        self._results: ResultLog
        # of the block that is not written yet
        self._activities: list[Activity] = []
        self._same_found: list[SameContent] = []
        self._n_parts = 0
        self._is_first = True

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of a crawler whose spider makes visits."""
        return cls(harvesting_spider(crawler), crawler.stats).connected(crawler)

    def open_spider(self) -> None:
        """Open the segments of provenance."""
        session = self._spider.joined()
        self._time = KeptTime(session.options.paths.root)
        self._time.resume()
        names = session.profiles.names
        self._worker = replace(self._worker, run=session.run, spiders=names)
        self.open(self._worker.name)
        crawl = self._spider.options.crawl
        self._results = ResultLog(
            crawl.paths.results,
            self._worker.name,
            crawl.stores.segments,
            session.run,
        )

    async def flush(self) -> StoreFault | CrawlGone | None:
        """Make all provenance durable, before visits are acknowledged.

        Returns:
            The reason of a failure. Scrapy would log an exception with a traceback.
        """
        fault = await self._attempt(self._log_same_contents) or await super().flush()
        if fault is None and self._time is not None:
            with suppress(OSError):  # e.g. a full disk, which other stores report
                self._time.keep()
        return fault

    def process_item(self, item: object) -> object:
        """Account for a document after all other steps."""
        self._counts["item_scraped_count"] += 1  # Scrapy's name
        if not isinstance(item, Document):
            return pass_through(item)
        self.note(item)
        return item

    def note(self, document: Document) -> None:
        """Account for a document, which may not be an item."""
        withhold(document)
        activity = activity_of(document, self._worker)
        self._add(activity)
        if document.facts is not NO_FACTS:
            self._same.note(document)
        self._results.note(document, activity.status)
        self._count(document, activity.status)
        if has_lookalike(document.url):
            self._counts["document/lookalike"] += 1
        if document.reservations is not NOTHING:
            self._count_reservations(document.reservations)

    def note_returned(self, record: Record) -> None:
        """Note a record that goes back to its queue, perhaps after a refusal."""
        if record.refusal:
            self._results.note_refused(record)

    def _add(self, activity: Activity) -> None:
        """Add an activity to the block.

        Raises:
            StoreFault: the disk refused earlier ones; this one was not added either.
        """
        is_full = len(self._activities) >= _BLOCK_ACTIVITIES
        if is_full or self._n_parts >= _BLOCK_PARTS:
            self._write_block()
        self._activities.append(activity)
        if activity.n_faults or activity.n_members or activity.requested:
            self._n_parts += len(activity.faults) + len(activity.members)
            self._n_parts += len(activity.requested)

    def _write_block(self) -> None:
        """Write the activities since the last block.

        Raises:
            StoreFault: the disk refused earlier ones; these are still here.
        """
        if self._activities or self._same_found or self._is_first:
            block = ActivityBlock(
                self._worker,
                self._activities,
                self._same_found,
                is_first=self._is_first,
            )
            self.write_document(encode_block(block))
        self._activities, self._same_found = [], []
        self._n_parts, self._is_first = 0, False

    def _report(self) -> None:
        super()._report()
        self._write_block()

    async def _first_urls(
        self, contents: Sequence[FetchedContent], most: int
    ) -> list[str]:
        return await self._spider.joined().first_urls(contents, most)

    async def _log_same_contents(self) -> None:
        found = await self._same.compare()
        self._same_found += found
        self._counts["document/same_content"] += len(found)

    async def _sync(self) -> None:
        await self._results.flush()
        await super()._sync()

    async def _end(self) -> None:
        try:
            await self._results.close()
        finally:
            await super()._end()

    def _count(self, document: Document, status: Status) -> None:
        counts = self._counts  # a fifth of the cost of `stats.inc_value`
        response, reading = document.response, document.reading
        counts["document/seen"] += 1
        counts[_STATUS_NAMES[status]] += 1
        if document.has_same_statements:
            counts["document/same"] += 1
        elif document.n_quads:
            counts["document/changed"] += document.has_new_statements
            counts["document/stored"] += 1
            counts["document/quads"] += document.n_quads
        if response.status and response.requested:  # not for parts of a response
            counts[f"http/status/{response.status}"] += 1
            counts["http/bytes"] += response.n_bytes
            if document.n_quads or document.record.kind.is_source:
                counts["http/useful_bytes"] += response.n_bytes
        if document.n_wanted:
            counts["want/documents"] += 1
            counts["want/statements"] += document.n_wanted
            counts["want/bytes"] += response.n_bytes
        if reading is not NOT_READ:
            self._count_reading(reading)
        if document.n_links:
            counts["link/offered"] += document.n_links
        if document.faults:
            self._count_faults(document)
            if reading.format is not None:
                self._count_parse_error(document, reading.format)

    def _count_parse_error(self, document: Document, form: Format) -> None:
        reasons = (each.reason for each in document.faults)
        if (first := next(filter(OF_READING.__contains__, reasons), None)) is not None:
            self._counts[f"document/parse_error/{form.name}/{first}"] += 1

    def _count_reading(self, reading: ReadResult) -> None:
        counts = self._counts
        if reading.format is not None:
            counts[f"document/format/{reading.format.name}"] += 1
        for packing in reading.packings:
            counts[f"document/packing/{packing}"] += 1
        for extractor, n_quads in reading.extracted.items():
            counts[f"document/extractor/{extractor}"] += n_quads
        if reading.n_members:
            counts["document/members"] += reading.n_members

    def _count_faults(self, document: Document) -> None:
        counts = self._counts
        for fault in document.faults:
            counts[f"fault/{fault.reason}"] += fault.count
        if any(fault.is_own for fault in document.faults):
            self._count_own_faults(document)
        fault = document.faults[0]  # otherwise, not a fault of the seed itself
        if fault.reason in GUARDED and _is_of_operator(document):
            self._log_refusal(document.url, fault)

    def _count_own_faults(self, document: Document) -> None:
        counts, form = self._counts, document.reading.format
        counts[OWN_FAULT_DOCUMENTS] += 1
        parts: set[str] = set()
        for fault in document.faults:
            if not fault.is_own:
                continue
            part = fault.part or (form.name if form else str(fault.reason))
            if part not in parts:
                parts.add(part)
                counts[part_key(part)] += 1
                keep_example(self._stats, part, fault.detail)

    def _log_refusal(self, url: str, fault: Fault) -> None:
        self._counts["guard/seeds"] += fault.count
        self._n_refused += 1
        if self._n_refused <= _MAX_LOGGED:
            logger.error("seed %s: %s", url, fault.detail)

    def _count_reservations(self, reservations: Reservations) -> None:
        for directive in reservations.directives:
            self._counts[f"robots_tag/{directive}"] += 1
        if reservations.tdm is not None:
            name = "tdm/reserved" if reservations.tdm else "tdm/not_reserved"
            self._counts[name] += 1
        for signal in reservations.signals:
            self._counts[f"content_signal/{signal}"] += 1


def withhold(document: Document) -> None:
    """Account for statements withheld at the request of their publisher."""
    if document.withheld is not None:
        detail = counted(document.n_quads, "statement") if document.n_quads else ""
        document.faults.append(Fault(document.withheld, detail))
        document.n_quads = 0


def _is_of_operator(document: Document) -> bool:
    """Return whether a document is a seed, not a redirect target."""
    record = document.record
    is_first = record.depth == 0 and not record.parent and not record.chain
    return is_first and not document.status and len(document.response.requested) <= 1


_HASH_OF_NOTHING: Final = content_hash(b"")


class SameContents:
    """The documents of one worker that wait for comparison.

    Args:
        first_urls: returns the first URL of each content; see `FirstContents.look_up`.
        most: contents that the crawl remembers; 0: no comparison.
    """

    def __init__(self, first_urls: FirstUrls, most: int) -> None:
        self._first_urls = first_urls
        self._most = most
        # content, requested URL, and start
        self._waiting: list[tuple[FetchedContent, str, int]] = []

    def note(self, document: Document) -> None:
        """Queue a document for comparison, if its content is comparable."""
        if self._most and (content := compared_hash(document)):
            url, started_ms = document.record.url, document.response.started_ms
            self._waiting.append(((content, document.url), url, started_ms))

    async def compare(self) -> list[SameContent]:
        """Return the documents noted since the last call with an earlier content.

        If Redis is full or unreachable, there are none.
        """
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return []
        contents = [fetched for fetched, *_ in waiting]
        try:
            first_urls = await self._first_urls(contents, self._most)
        except RedisError as error:
            skipped = counted(len(contents), "content")
            logger.debug("not compared: %s: %s", skipped, error)
            return []
        if not any(first_urls):  # the usual case
            return []
        return [
            SameContent(url, started_ms, first_url)
            for first_url, ((_, own), url, started_ms) in zip(
                first_urls, waiting, strict=True
            )
            if first_url not in ("", own)
        ]


def compared_hash(document: Document) -> str:
    """Return the hash for comparing a document; empty for others.

    For pages, and documents with losses, this is the hash of all bytes: pages with the
    same visible text may differ in their data. For other documents, it is the hash of
    their statements, independent of their URL.
    """
    shown, text_hash, sketch, *_ = document.facts
    if shown in ("", _HASH_OF_NOTHING) or not document.record.kind.is_of_url:
        return ""
    is_page = document.reading.format is HTML
    is_set = sketch and not is_page and not document.has_losses
    return text_hash if is_set else shown
