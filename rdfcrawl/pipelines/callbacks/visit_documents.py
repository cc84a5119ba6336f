"""Send documents of a visit through the pipelines, and responses to callbacks."""

from __future__ import annotations

import logging
from functools import cached_property, partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any, cast

from scrapy import Request, signals
from scrapy.http import Response
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.log import logformatter_adapter
from twisted.python.failure import Failure

from rdfcrawl.core.content import head_of
from rdfcrawl.core.errors import (
    CrawlGone,
    Fault,
    HeldBack,
    Reason,
    SourceFault,
    one_line,
)
from rdfcrawl.core.records import MAX_RETRIES, Document, FollowUp, Kind
from rdfcrawl.core.reservations import NOTHING, Reservations, read_headers
from rdfcrawl.core.tasks import RequestTask
from rdfcrawl.downloader.local_failures import local_fault
from rdfcrawl.downloader.services import services_of
from rdfcrawl.frontier.engine import has_receivers
from rdfcrawl.frontier.queue.bands import note_outcome
from rdfcrawl.frontier.queue.queued_records import UnqueueableError, request_of
from rdfcrawl.pipelines.account import AccountPipeline
from rdfcrawl.pipelines.items import DocumentPipelines, HarvestingSpider, closing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from rdfcrawl.core.visits import Visit
    from rdfcrawl.frontier.session import CrawlSession
    from rdfcrawl.pipelines.spider_options import SpiderOptions


def has_spider_middlewares(settings: BaseSettings) -> bool:
    """Return whether a project has spider middlewares in addition to Scrapy's.

    Scrapy's built-in ones leave items unchanged, and would cost a tenth of a document.
    """
    orders = settings.getdict("SPIDER_MIDDLEWARES").values()
    return any(order is not None for order in orders)


async def scrape(
    output: Iterable[Any] | AsyncIterator[Any],
    document: Document,
    visit: Visit,
    crawler: Crawler,
    *,
    is_document: bool = False,
) -> None:
    """Process output as if a callback had yielded it for a document.

    Items pass the spider middlewares and the item pipelines, requests the scheduler. If
    `is_document`, the output is the document itself, and the scheduler puts it back if
    a middleware fails.
    """
    meta = {
        "visit": visit,
        "depth": document.record.depth,
        "handle_httpstatus_all": True,
        "document": document if is_document else None,
    }

    def callback(_: Response) -> Iterable[Any] | AsyncIterator[Any]:
        return output

    request = Request(document.url, callback=callback, meta=meta)
    headers = {"Content-Type": document.media_type} if document.media_type else None
    response = Response(
        document.url, status=document.status, headers=headers, request=request
    )
    scraped: Any = crawler.engine.scraper.enqueue_scrape(response, request)
    await maybe_deferred_to_future(scraped)


logger = logging.getLogger(__name__)


class VisitProcessor:
    """Processes visits: documents pass the pipelines in batches, or one by one.

    A document passes the spider middlewares if the project has any. `parse` calls the
    spider's `parse_document`, if it overrides it.
    """

    def __init__(
        self,
        crawler: Crawler,
        spider: HarvestingSpider,
        session: CrawlSession,
        options: SpiderOptions,
        parse: Callable[[Document, Response], Awaitable[None]] | None,
    ) -> None:
        self._crawler = crawler
        self._spider = spider
        self._session = session
        self._policy = options.reservation_policy
        self._at_once = options.harvest.sitemap_entries
        self._parse = parse
        self._services = services_of(crawler)
        self._has_middlewares = has_spider_middlewares(crawler.settings)

    async def _to_pipelines(self, document: Document, response: Response) -> None:
        if self._has_middlewares:
            visit: Visit = response.meta["visit"]
            await scrape([document], document, visit, self._crawler, is_document=True)
        else:
            scraper = self._crawler.engine.scraper
            await scraper.start_itemproc_async(document, response=response)

    async def process(self, visit: Visit, response: Response) -> None:
        """Process the documents of a visit; those that fail stay in it."""
        n_failed = 0
        while len(visit.documents) > n_failed:  # the remaining ones were not processed
            waiting = visit.documents[n_failed:]
            batch = self._batch_of(waiting, visit)
            if batch:
                await self._pass_batch(batch, response)
            for document in batch or waiting[:1]:
                has_passed = bool(batch)
                if await self._end(document, visit, response, has_passed=has_passed):
                    del visit.documents[n_failed]
                else:
                    n_failed += 1
        account = self._crawler.get_item_pipeline(AccountPipeline)
        if isinstance(account, AccountPipeline):
            for record in visit.returned.values():
                account.note_returned(record)

    def _batch_of(self, documents: Sequence[Document], visit: Visit) -> list[Document]:
        """Return the first documents that may pass the pipelines as a batch.

        Their headers are applied. Spiders, middlewares, pipelines and receivers of
        users get each one singly.
        """
        if not self._takes_batches or has_receivers(
            self._crawler, signals.item_scraped
        ):
            return []
        batch: list[Document] = []
        for document in takewhile(self._is_ordinary, documents):
            try:
                self._apply_headers(document, visit)
            except Exception:  # raised again, and reported, for the document alone
                break
            batch.append(document)
        return batch

    @cached_property
    def _takes_batches(self) -> bool:
        """Whether nothing of users needs documents singly, except receivers."""
        pipelines: object = self._crawler.engine.scraper.itemproc
        is_ours = isinstance(pipelines, DocumentPipelines) and pipelines.takes_batches
        return is_ours and not self._has_middlewares and self._parse is None

    def _is_ordinary(self, document: Document) -> bool:
        """Return whether a document passes the pipelines as it is."""
        record = document.record
        if not record.kind.is_of_url or record.lost:
            return False
        return document.media_type not in self._spider.harvesters.media_types

    async def _pass_batch(self, batch: Sequence[Document], response: Response) -> None:
        """Send documents through the pipelines; report those that fail as Scrapy."""
        spider: Any = self._crawler.spider
        pipelines = cast("DocumentPipelines", self._crawler.engine.scraper.itemproc)
        for document, error in await pipelines.process_batch(batch):
            formatter: Any = self._crawler.logformatter
            line = formatter.item_error(document, error, response, spider)
            more = {"spider": spider, "item": document}
            logger.log(*logformatter_adapter(line), extra=more, exc_info=error)
            await self._crawler.signals.send_catch_log_async(
                signals.item_error,
                item=document,
                response=response,
                spider=spider,
                failure=Failure(error),  # type: ignore[no-untyped-call]
            )

    async def _end(
        self, document: Document, visit: Visit, response: Response, *, has_passed: bool
    ) -> bool:
        """Process a document, unless it has passed the pipelines, and account for it.

        Returns:
            False if it failed.
        """
        visit.current = document
        if document.record.lost and document.response.path is None:
            # Files are read by a child process, which cannot kill the worker.
            await self._session.worker.begin(visit, "read")
        try:
            if has_passed:
                await self._withdraw_from(document, response)
            else:
                self._apply_headers(document, visit)
                await self._process(document, visit, response)
            index = visit.index(document)
            _keep_for_retry(document, visit, index)
            if visit.is_scheduled:
                note_outcome(visit, index, document)
            if (wanted := self._session.ingests.wanted) is not None:
                await wanted.note(document)
        except CrawlGone:  # reported when the crawl stops
            return False
        except Exception as error:  # e.g. an error of a harvester
            self._failed(document, visit, error)
            return False
        finally:
            visit.current = None
            self._release(document, visit)
        return True

    def release(self, visit: Visit) -> None:
        """Free the bodies of documents that were not processed."""
        for document in visit.documents:
            self._release(document, visit)

    def _release(self, document: Document, visit: Visit) -> None:
        spool = self._services.visitor.spool
        if visit.is_cut:
            spool.keep_for_resume(document.response)
        spool.release(document.response)

    def _failed(self, document: Document, visit: Visit, error: Exception) -> None:
        """Log the failure of a document, which will be processed again."""
        pause_if_local_failure = self._services.local_failures.pause_if_local_failure
        if isinstance(error, HeldBack) or pause_if_local_failure(error, visit):
            visit.return_untried(visit.index(document))
        else:
            url = document.record.url
            logger.error("Error in the harvest of %s", url, exc_info=error)

    async def _process(
        self, document: Document, visit: Visit, response: Response
    ) -> None:
        kind = document.record.kind
        media_types = self._spider.harvesters.media_types
        is_harvested = kind.is_of_url and document.media_type in media_types
        if kind.is_source or is_harvested:
            await self._harvest(document, visit, response)
        elif kind is Kind.REQUEST:
            await answer_request(document, self._crawler)
        else:
            await self._to_pipelines(document, response)
            await self._withdraw_from(document, response)
            if self._parse and visit.index(document) not in visit.returned:
                await self._parse(document, response)

    async def _withdraw_from(self, document: Document, response: Response) -> None:
        """Delete the documents that a processed document has withdrawn."""
        if not document.withdrawn:  # the usual case
            return
        for url in dict.fromkeys(document.withdrawn):
            await self._to_pipelines(document.withdrawal(url), response)

    def _apply_headers(self, document: Document, visit: Visit) -> None:
        """Apply the reservations of the site and of the headers of a response.

        Those of the response override those of the site. The file of the site is
        requested later, if the document turns out to need it.
        """
        if not 200 <= document.status < 300:
            return
        robots, tdm = self._services.robots, self._services.tdm
        found = stated = self._stated(document)
        if robots is not None and robots.has_reservations:
            found = robots.reserved(document.url).under(self._policy).refined(stated)
        if tdm is not None and stated.tdm is None:
            site = tdm.known(document.url)
            if site is None:
                document.fetch_site = partial(tdm.of, document.url, visit)
            elif site is not NOTHING:
                found = site.under(self._policy).refined(found)
        if found:
            self._spider.obey(document, found)

    def _stated(self, document: Document) -> Reservations:
        """Return the reservations in the headers of a response."""
        headers = document.response.reservation_headers
        if not headers:  # as usual
            return NOTHING
        now = document.response.ended_ms / 1000
        return read_headers(headers, self._policy, now=now)

    async def _apply_site_file(self, document: Document) -> None:
        """Apply the reservations in the file of a site to a response of a source."""
        fetch, document.fetch_site = document.fetch_site, None
        site = await fetch() if fetch is not None else NOTHING
        if site is None:
            raise HeldBack(document.url)
        if site:
            found = site.under(self._policy).refined(document.reservations)
            self._spider.obey(document, found)

    async def _harvest(
        self, document: Document, visit: Visit, response: Response
    ) -> None:
        """Process the documents and follow-ups in a response of a source.

        If one of them fails, the response is put back, and the state of its source is
        not changed.
        """
        await self._apply_site_file(document)
        if document.reservations.closes(self._policy):
            document.is_read = True
            await self._to_pipelines(document, response)
            return
        try:
            await self._process_harvested(document, visit, response)
        except Exception as error:
            if document.record.retries < MAX_RETRIES or local_fault(error):
                raise
            logger.exception("%s: given up", document.record.url)
            kind = document.record.kind
            part = "harvester" if kind.is_of_url else kind.name.lower()
            fault = Fault(Reason.INTERNAL, one_line(repr(error)), part=part)
            document.faults.append(fault)
            document.is_read, document.chunks = True, None
            await self._to_pipelines(document, response)

    async def _process_harvested(
        self, document: Document, visit: Visit, response: Response
    ) -> None:
        from rdfcrawl.sources.harvest.follow_up_queue import FollowUpQueue

        index = visit.index(document)
        harvesters = self._spider.harvesters_of(document.record)
        queue = FollowUpQueue(self._session, self._at_once)
        async with closing(harvesters.harvest(document)) as yielded:
            async for each in yielded:
                if isinstance(each, FollowUp):
                    await queue.put(each, document)
                    continue
                self._obey_for(each, document)
                if each.response.requested is document.response.requested:
                    await queue.flush(document)  # it is counted now
                    each.n_links += document.n_links
                    each.n_follow_ups += document.n_follow_ups
                self._unfold(each)
                await self._to_pipelines(each, response)
                document.n_wanted += each.n_wanted
                await self._withdraw_from(each, response)
                _keep_for_retry(each, visit, index)
                if visit.is_scheduled:
                    note_outcome(visit, index, each)
                if index in visit.returned:
                    return
                if self._parse:
                    await self._parse(each, response)
        await queue.flush(document)

    def _obey_for(self, part: Document, document: Document) -> None:
        """Apply the reservations of a response, and of a document in it."""
        if document.reservations:
            self._spider.obey(part, document.reservations)
        if part.response is not document.response and (stated := self._stated(part)):
            self._spider.obey(part, stated)

    def _unfold(self, document: Document) -> None:
        """Set the chunks of a document to the statements of its harvester."""
        from rdfcrawl.sources.harvest.follow_up_queue import (
            FollowUpQueue,
            HarvestedChunks,
        )

        parts, document.parts = document.parts, None
        if parts is not None:
            queue = FollowUpQueue(self._session, self._at_once)
            document.chunks = HarvestedChunks(document, parts, queue)


def _keep_for_retry(document: Document, visit: Visit, index: int) -> None:
    """Keep a record for `retry=failed` if our code failed on it."""
    if not any(fault.is_own for fault in document.faults):  # as usual
        return
    if index not in visit.failed and index not in visit.returned:
        visit.failed.append(index)


async def answer_request(document: Document, crawler: Crawler) -> None:
    """Call the callback of a record's request, and wait until its output is processed.

    Response, items and requests pass middlewares, pipelines and scheduler as in Scrapy.
    """
    task = document.record.task
    if not isinstance(task, RequestTask):
        raise TypeError(f"no request: {task}")
    try:
        request = request_of(document.url, task, crawler.spider)
    except UnqueueableError as error:
        logger.error("%s: given up: %s", document.url, error)  # noqa: TRY400
        document.faults.append(Fault(Reason.INTERNAL, str(error)[: Fault.MAX_DETAIL]))
    else:
        result = _result(document, request)
        scrape: Any = crawler.engine.scraper.enqueue_scrape(result, request)
        await maybe_deferred_to_future(scrape)
    account = crawler.get_item_pipeline(AccountPipeline)
    if isinstance(account, AccountPipeline):
        account.note(document)


def _result(document: Document, request: Request) -> Response | Failure:
    """Return the argument of the callback or the errback of a request."""
    found = document.response.scrapy_response
    if not isinstance(found, Response):
        fault = document.faults[0] if document.faults else Fault(Reason.INTERNAL, "")
        error = SourceFault(fault.reason, fault.detail)
        return Failure(error)  # type: ignore[no-untyped-call]
    sent = found.request
    if sent is not None:  # with notes of middlewares and Scrapy
        request.meta.update(sent.meta)
        request.headers = sent.headers
    requested = document.response.requested
    if len(requested) > 1:
        request.meta["redirect_urls"] = list(requested[:-1])
    body = head_of(document.response, document.response.n_bytes)
    return found.replace(body=body, request=request)
