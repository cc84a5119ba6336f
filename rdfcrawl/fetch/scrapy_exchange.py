"""One request through Scrapy's downloader and its middlewares (`FETCH_WITH_SCRAPY`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from multidict import CIMultiDict
from scrapy import Request
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadTimeoutError,
    IgnoreRequest,
    ResponseDataLossError,
)
from scrapy.http.request import NO_CALLBACK

from rdfcrawl.errors import Fault, Reason, SourceFault
from rdfcrawl.fetch.answer import MAX_EXCUSE_BYTES, Answer
from rdfcrawl.fetch.exchange import note_headers
from rdfcrawl.fetch.network_faults import guard_fault
from rdfcrawl.fetch.scrapy_handler import TURN, GuardRefused, TurnIsOver
from rdfcrawl.turns import FREE

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from rdfcrawl.fetch.answer import Ask
    from rdfcrawl.fetch.spool import Spool
    from rdfcrawl.turns import Turn

# What the visit does itself: it keeps the chain of redirects, and retries in its time.
_LEFT_TO_THE_VISIT: Final = {
    "dont_redirect": True,
    "dont_retry": True,
    "dont_obey_robotstxt": True,
    "handle_httpstatus_all": True,
}
_MEANINGS: Final[tuple[tuple[type[Exception], Reason, bool], ...]] = (
    (CannotResolveHostError, Reason.DNS, True),
    (DownloadConnectionRefusedError, Reason.UNREACHABLE, True),
    (DownloadTimeoutError, Reason.TIMEOUT, False),
    (DownloadCancelledError, Reason.TOO_LARGE, False),
    (ResponseDataLossError, Reason.TRUNCATED_BODY, False),
)


class ScrapyExchange:
    """Sends each record as an ordinary request; see `answer.Exchange`."""

    def __init__(self, crawler: Crawler, spool: Spool) -> None:
        self._crawler = crawler
        self._spool = spool

    async def get(self, url: str, ask: Ask, turn: Turn = FREE) -> Answer:
        """See `Exchange.get`."""
        answer = Answer()
        request = Request(
            url,
            method="POST" if ask.data else "GET",
            body=ask.data,
            headers={"Accept": ask.accept, **dict(ask.headers)},
            callback=NO_CALLBACK,
            dont_filter=True,
            meta={
                **_LEFT_TO_THE_VISIT,
                "download_timeout": ask.timeout_secs,
                "download_maxsize": ask.max_bytes,
                TURN: turn,
            },
        )
        try:
            response = await self._crawler.engine.download_async(request)
        except TurnIsOver:
            answer.is_unasked = True
        except GuardRefused as exc:
            answer.fault = guard_fault(exc.blocked)
            answer.is_host_fault = True
        except IgnoreRequest as exc:
            answer.fault = Fault(Reason.CLIENT_ERROR, f"a middleware refused: {exc}")
        except Exception as exc:  # the edge: handlers raise what they like
            reason, answer.is_host_fault = _judge(exc)
            answer.fault = Fault(reason, str(exc)[: Fault.MAX_DETAIL])
        else:
            self._take(response, ask, answer)
        return answer

    def _take(self, response: Response, ask: Ask, answer: Answer) -> None:
        note_headers(answer, response.status, _text_headers(response))
        if not 200 <= response.status < 300:
            if response.status >= 400:
                answer.excuse = response.body[:MAX_EXCUSE_BYTES]
            return
        sink = self._spool.sink(ask)
        try:
            sink.write(response.body)
        except SourceFault as exc:
            answer.fault = exc.fault
            answer.is_partial = True
        sink.keep(answer)
        if "partial" in response.flags:
            answer.fault = Fault(Reason.TRUNCATED_BODY, "the connection broke")
            answer.is_partial = True


def _text_headers(response: Response) -> CIMultiDict[str]:
    """Return the headers as aiohttp gives them."""
    return CIMultiDict(
        (name.decode("latin-1"), value.decode("utf-8", "surrogateescape"))
        for name, values in response.headers.items()
        for value in values
    )


def _judge(exc: Exception) -> tuple[Reason, bool]:
    """Return what an exception of a download handler means for the document."""
    for class_, reason, is_host_fault in _MEANINGS:
        if isinstance(exc, class_):
            return reason, is_host_fault
    return Reason.BAD_HTTP, False
