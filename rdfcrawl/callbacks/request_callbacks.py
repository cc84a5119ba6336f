"""Give responses to the callbacks of requests that came from the frontier."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy.http import Response
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.python.failure import Failure

from rdfcrawl.bytesource import body_of
from rdfcrawl.errors import Fault, Reason, SourceFault
from rdfcrawl.frontier.queued_requests import UnqueueableError, request_of
from rdfcrawl.pipelines.account import AccountPipeline
from rdfcrawl.tasks.pages import RequestTask

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from rdfcrawl.records import Document

logger = logging.getLogger(__name__)


async def answer_request(document: Document, crawler: Crawler) -> None:
    """Call the callback of a record's request, and wait until its output is processed.

    Response, items and requests pass middlewares, pipelines and scheduler as usual.
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
    if sent is not None:  # with what middlewares and Scrapy have noted there
        request.meta.update(sent.meta)
        request.headers = sent.headers
    requested = document.response.requested
    if len(requested) > 1:
        request.meta["redirect_urls"] = list(requested[:-1])
    return found.replace(body=_whole(document), request=request)


def _whole(document: Document) -> bytes:
    source = body_of(document.response)
    if source is None:
        return b""
    return source if isinstance(source, bytes) else source.read_bytes()
