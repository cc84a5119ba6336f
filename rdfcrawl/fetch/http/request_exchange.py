"""Requests of users' spiders through Scrapy's downloader, headers and meta included."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.fetch.http.scrapy_exchange import OF_VISIT, ScrapyExchange
from rdfcrawl.frontier.queued_requests import meta_of, request_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from rdfcrawl.fetch.answer import HttpResponse, RequestOptions

_OF_VISITS = {"download_slot": "visits"}  # their delay is that of the host


class RequestExchange(ScrapyExchange):
    """Send the request in a record's task; keep the response, whatever its status."""

    def _request(self, url: str, ask: RequestOptions) -> Request:
        if ask.request is None:
            raise TypeError(f"no request for {url}")
        request = request_of(url, ask.request, None)
        return request.replace(meta={**_OF_VISITS, **request.meta})

    def _take(
        self, response: Response, ask: RequestOptions, answer: HttpResponse
    ) -> None:
        if self._keep_body(response, ask, answer):
            kept = answer.scrapy_response = response.replace(body=b"")
            if response.request is not None:
                kept.request = _as_sent(response.request, ask)


def _as_sent(request: Request, ask: RequestOptions) -> Request:
    """Return a request as it was sent, without what only concerns its visit."""
    own = meta_of(ask.request) if ask.request else {}
    meta = {
        name: own.get(name, value)
        for name, value in request.meta.items()
        if name in own or name not in OF_VISIT
    }
    return request.replace(meta=meta)
