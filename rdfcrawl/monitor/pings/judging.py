"""Decide whether a pinged URL may be a sitemap of a crawl, without the network.

Source: sitemaps.org, "Informing search engine crawlers".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from rdfcrawl.uri import BadUri, requestable
from rdfcrawl.uri.guard.gate import refusal_of
from rdfcrawl.uri.guard.policy import Guard

MAX_URL_CHARS: Final = 2048  # a URL in a sitemap has less (sitemaps.org, `loc`)
_BLANK: Final = re.compile(r"[\x00-\x20\x7f]").search
_LOGIN: Final = re.compile(r"[a-z]+:[/\\]*[^/\\?#]*@", re.IGNORECASE).match


@dataclass(frozen=True, slots=True)
class PingResponse:
    """Response to a ping, in terms of HTTP.

    Attributes:
        status: 202: the sitemap will be read; 400: it is no URL of a sitemap; 403: it
            is refused; 429: there were too many pings; 503: there is no crawl.
        text: one line for the client.
        retry_secs: when to try again, of 429 and 503; 0 if unknown.
        detail: hint for the operator.
    """

    status: int
    text: str
    retry_secs: int = 0
    detail: str = ""

    @property
    def is_accepted(self) -> bool:
        """Whether the sitemap will be read."""
        return self.status < 300


class PingRefused(Exception):
    """A ping is refused; `answer` states the reason."""

    def __init__(self, answer: PingResponse) -> None:
        super().__init__(answer.text)
        self.answer = answer


def sitemap_url(text: str, guard: Guard) -> str:
    """Return the requestable URL of a pinged sitemap.

    Names are not resolved: the guard judges their addresses when it connects.

    Raises:
        PingRefused: with 400 or 403.

    >>> from rdfcrawl.uri.guard.policy import Guard
    >>> sitemap_url("HTTP://Example.org:80/sitemap.xml", Guard())
    'http://example.org/sitemap.xml'
    """
    if not text:
        raise PingRefused(PingResponse(400, "give one: sitemap=URL"))
    if len(text) > MAX_URL_CHARS:
        detail = f"the URL has more than {MAX_URL_CHARS} characters"
        raise PingRefused(PingResponse(400, detail))
    if _BLANK(text) or _LOGIN(text):
        raise PingRefused(PingResponse(400, "the URL has blanks or a login"))
    try:
        url = requestable(text)
    except BadUri as error:
        answer = PingResponse(400, "not a URL of http, https, ftp or ftps")
        raise PingRefused(answer) from error
    if len(url) > MAX_URL_CHARS:  # escapes have made it longer
        raise PingRefused(PingResponse(400, "the URL is too long once it is escaped"))
    if detail := refusal_of(url, guard):
        answer = PingResponse(403, "this address is not crawled", detail=detail)
        raise PingRefused(answer)
    return url
