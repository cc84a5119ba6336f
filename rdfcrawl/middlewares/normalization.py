"""Requests that differ only in the spelling of their URL are one."""

from __future__ import annotations

from hashlib import blake2b
from typing import Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.utils.request import fingerprint

from rdfcrawl.frontier.queue.options import CrawlOptions
from rdfcrawl.uri import BadUri, NormalForm, is_of_web, requestable


class UriNormalizationMiddleware(BaseSpiderMiddleware):
    """A spider middleware that gives requests the URL that a browser would request.

    It writes scheme and host in lower case and the host as A-labels, resolves dot
    segments, and removes fragments, logins and default ports (WHATWG URL Standard). It
    drops requests whose URL is invalid or has more than 2083 characters. URLs of other
    schemes than http(s) and ftp(s) stay as they are.
    """

    def get_processed_request(
        self, request: Request, response: Response | None
    ) -> Request | None:
        """Return the request with its URL rewritten; None if there is no such URL."""
        del response
        if not is_of_web(request.url[:8].lower()):
            return request
        try:
            url = requestable(request.url)
        except BadUri:
            if self.crawler.stats is not None:
                self.crawler.stats.inc_value("uri_normalization/dropped")
            return None
        return request if url == request.url else request.replace(url=url)


class UriFingerprinter:
    """A request fingerprinter that compares URLs like the frontier.

    Requests with equal methods and bodies are one if the normal forms of their URLs
    are: default ports, dot segments, escapes, the order of the query and
    `SESSION_PARAMETERS` do not count. It is set by `REQUEST_FINGERPRINTER_CLASS`.

    Raises:
        ConfigError: `SESSION_PARAMETERS` contains something other than names.
    """

    def __init__(self, normal_form: NormalForm) -> None:
        self._normal_form = normal_form

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the fingerprinter of a crawler."""
        return cls(CrawlOptions.one(crawler.settings, "normal_form"))

    def fingerprint(self, request: Request) -> bytes:
        """Return 20 bytes, the same for requests that count as one."""
        if not is_of_web(request.url[:8].lower()):
            return fingerprint(request)
        try:
            normal = self._normal_form.normalize(request.url)
        except BadUri:
            return fingerprint(request)
        head = f"{request.method} {normal}\n".encode()
        return blake2b(head + request.body, digest_size=20).digest()
