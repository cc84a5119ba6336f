"""Call `parse_document` of a user's spider, and process its output."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from scrapy import Request
from scrapy.http import Response
from scrapy.utils.misc import arg_to_iter
from twisted.python.failure import Failure

from rdfcrawl.core.content import body_of
from rdfcrawl.core.records import Document, FollowUp, Record
from rdfcrawl.frontier.visiting import is_plain, urgency_of
from rdfcrawl.pipelines.callbacks.parsed_document import ParsedDocument
from rdfcrawl.pipelines.callbacks.visit_documents import has_spider_middlewares, scrape
from rdfcrawl.uri import BadUri, requestable

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from rdfcrawl.frontier.session import CrawlSession

logger = logging.getLogger(__name__)

_REQUESTS_AT_ONCE: Final = 500


class DocumentParsing:
    """Calls a user's method with each fetched and stored document."""

    def __init__(
        self,
        crawler: Crawler,
        session: CrawlSession,
        parse: Callable[[ParsedDocument], Any],
        *,
        max_bytes: int,
    ) -> None:
        self._crawler = crawler
        self._session = session
        self._parse = parse
        self._max_bytes = max_bytes
        self._has_middlewares = has_spider_middlewares(crawler.settings)

    async def parse(self, document: Document, response: Response) -> None:
        """Call the method, and wait until its items and requests are processed.

        `document` has passed the item pipelines; `response` is that of its visit.
        """
        kept = document.kept
        if kept is None:
            return
        try:
            has_any = body_of(document.response) is not None
            is_wanted = has_any or kept.n_bytes
            if kept.is_whole and is_wanted and document.withheld is None:
                await self._hand_on(document, response)
        except Exception:  # anything may be raised by a user's method
            scraper = self._crawler.engine.scraper
            request = Request(document.url)
            failure = Failure()  # type: ignore[no-untyped-call]
            shown = Response(document.url, status=document.status, request=request)
            scraper.handle_spider_error(failure, request, shown)
        finally:
            kept.close()

    async def _hand_on(self, document: Document, response: Response) -> None:
        output = self._output(document)
        if self._has_middlewares:
            await scrape(output, document, response.meta["visit"], self._crawler)
            return
        engine = self._crawler.engine
        async for each in output:
            if isinstance(each, Request):
                engine.crawl(each)
            else:
                await engine.scraper.start_itemproc_async(each, response=response)

    async def _output(self, document: Document) -> AsyncIterator[Any]:
        """Queue requests for documents, and yield everything else."""
        requests: list[FollowUp] = []
        parsed = ParsedDocument(document, max_bytes=self._max_bytes)
        async for each in iterate_output(self._parse(parsed)):
            if isinstance(each, Request) and is_plain(each):
                requests += _follow_up(document, each)
                if len(requests) >= _REQUESTS_AT_ONCE:
                    await self._add(document, requests)
                continue
            if isinstance(each, Request):
                each.meta.setdefault("depth", parsed.depth + 1)
            yield each
        await self._add(document, requests)

    async def _add(self, document: Document, requests: list[FollowUp]) -> None:
        judged = await self._session.links.add_follow_ups(document, requests)
        document.faults += judged.faults
        await self._session.links.room()
        requests.clear()


def _follow_up(document: Document, request: Request) -> list[FollowUp]:
    try:
        url = requestable(request.url, document.url)
    except BadUri as fault:
        logger.warning("%s: yielded for %s: %s", request.url[:200], document.url, fault)
        return []
    record = Record(url, depth=document.record.depth + 1, parent=document.url)
    return [FollowUp(record, urgency=urgency_of(request))]


async def iterate_output(output: Any) -> AsyncIterator[Any]:
    """Yield the output of a function, coroutine or generator."""
    if isinstance(output, Awaitable):
        output = await output
    if isinstance(output, AsyncIterable):
        async for each in output:
            yield each
    else:
        for each in arg_to_iter(output):
            yield each
