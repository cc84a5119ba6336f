"""One request and its response: the seam between visits and HTTP clients."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol

from rdfcrawl.core.errors import Fault, Reason
from rdfcrawl.core.records import FetchedResponse
from rdfcrawl.frontier.request_turns import FREE, HostRestsError, SoloTurn

if TYPE_CHECKING:
    from rdfcrawl.core.tasks.pages import RefreshedPage, RequestTask
    from rdfcrawl.downloader.unread_types import UnreadTypes


MAX_ERROR_BODY_BYTES: Final = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """Headers and limits of a request."""

    accept: str
    max_bytes: int  # longest decoded body that is read
    spool_bytes: int  # a longer body is written to a spool file
    timeout_secs: float  # for the whole exchange, from connecting to the last byte
    # from connecting to the end of the headers, and from there to the first byte of the
    # body
    first_byte_secs: float = 30.0
    # further headers of the request, names and values
    headers: tuple[tuple[str, str], ...] = ()
    data: bytes = b""  # body of a POST; empty for a GET
    # lower-case names of headers of the response that are kept, beside those that each
    # response has
    kept_headers: tuple[str, ...] = ()
    goes_on: bool = False  # if it breaks off, the next time asks for the rest
    # whatever the answer is, it is not asked for once more in the visit
    is_final: bool = False
    request: RequestTask | None = None  # of a user's spider, which is sent instead
    follows: bool = True  # a redirect leads to another request
    refreshed: RefreshedPage | None = None  # the task, of a page that is fetched again
    unread: UnreadTypes | None = None  # types whose bodies are not received

    @property
    def is_plain(self) -> bool:
        """Whether it is a GET like any other, but for cookies."""
        if not (self.headers or self.data):  # as most
            return True
        return not self.data and all(name == "Cookie" for name, _ in self.headers)

    @property
    def is_of_range(self) -> bool:
        """Whether a part of the document is wanted (RFC 9110 14.2)."""
        return any(name == "Range" for name, _ in self.headers)

    @property
    def is_conditional(self) -> bool:
        """Whether the request may be answered by 304 (RFC 9110 13.1)."""
        if not self.headers:  # as most
            return False
        return any(name.lower().startswith("if-") for name, _ in self.headers)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """The request for a record that needs more than a GET of its URL."""

    url: str  # on the host of the record's URL
    accept: str = ""  # value of the `Accept` header; empty for that of the kind
    headers: tuple[tuple[str, str], ...] = ()
    data: bytes = b""
    kept_headers: tuple[str, ...] = ()
    # the first byte may take as long as the kind allows, not only as that of a page
    may_think: bool = True

    def options(self, ask: RequestOptions, page_secs: float) -> RequestOptions:
        """Return the options of the request.

        Args:
            ask: options of the record's kind.
            page_secs: longest time to the first byte of a page.
        """
        first_secs = ask.first_byte_secs
        return replace(
            ask,
            accept=self.accept or ask.accept,
            headers=self.headers,
            data=self.data,
            kept_headers=self.kept_headers,
            first_byte_secs=first_secs
            if self.may_think
            else min(first_secs, page_secs),
        )


def conditional_headers(etag: str, last_modified: str) -> tuple[tuple[str, str], ...]:
    """Return the headers that ask for a response only if others than these hold."""
    pairs = ("If-None-Match", etag), ("If-Modified-Since", last_modified)
    return tuple((name, value) for name, value in pairs if value)


@dataclass(slots=True, kw_only=True, eq=False)
class HttpResponse(FetchedResponse):
    """Response to one request, or the fault instead."""

    location: str = ""  # of `Location`, unresolved
    cookies: tuple[str, ...] = ()  # lines of `Set-Cookie`
    retry_after: str = ""  # of `Retry-After`, unparsed
    fault: Fault | None = None  # what was wrong below the meaning of the status
    # no connection, or no answer: the fault holds for the whole origin
    is_host_fault: bool = False
    errno: int = 0  # of the system's error behind the fault, if there was one
    # a certificate is not valid yet, or no more, by our clock
    is_untimely: bool = False
    # it would cost as much again, and bring as little
    is_costly: bool = False
    is_own_fault: bool = False  # it is our own failure; it says nothing of the host
    # it broke off, and brought much that the next one need not bring
    has_gone_on: bool = False
    # it did not go on with what had broken off: all is to be asked for anew
    is_anew: bool = False
    put_off_secs: float = 0.0  # after such a failure, it is not asked for again so long
    # its turn was over before it could be sent; nothing was asked
    is_unasked: bool = False


class HttpClient(Protocol):
    """Anything that makes one request: aiohttp, or Scrapy's downloader."""

    def get(
        self, url: str, ask: RequestOptions, turn: SoloTurn = FREE
    ) -> Awaitable[HttpResponse]:
        """Fetch `url` once, without following redirects or raising faults.

        Bodies are kept through `Spool.sink`, so that they count as memory. The request
        is sent only while `turn` is good, and tells it when.
        """


async def answer_in_turn(
    get: Callable[[SoloTurn], Awaitable[HttpResponse]],
    take: Callable[[], Awaitable[SoloTurn | None]],
) -> HttpResponse:
    """Return the answer of a request that waits for its turn.

    No turn is our own fault, unless the host rests: then that is the answer.
    """
    while True:
        try:
            turn = await take()
        except HostRestsError as rest:
            fault = Fault(Reason.HOST_BUSY, str(rest))
            return HttpResponse(fault=fault, retry_after=str(math.ceil(rest.secs)))
        if turn is None:
            return HttpResponse(is_own_fault=True)
        try:
            answer = await get(turn)
        finally:
            turn.end()
        if not answer.is_unasked:
            return answer
