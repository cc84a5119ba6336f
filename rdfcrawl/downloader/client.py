"""One request and its response: the interface between visits and HTTP clients.

A request names the types of responses that no parser reads, by media type and first
bytes; their bodies are not received.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from rdfcrawl.core.errors import ConfigError, Fault, Reason, SourceFault
from rdfcrawl.core.formats import FORMATS, file_name
from rdfcrawl.core.options.values import texts
from rdfcrawl.core.records import FetchedResponse, Kind
from rdfcrawl.frontier.queue.candidate import kind_of
from rdfcrawl.frontier.request_turns import FREE, HostRestsError, SoloTurn
from rdfcrawl.rdf.sniffing import media_at

if TYPE_CHECKING:
    from rdfcrawl.core.tasks import RefreshedPage, RequestTask
    from rdfcrawl.rdf.extraction.options import OwnFormats


MAX_ERROR_BODY_BYTES: Final = 2048
MAX_COOKIES: Final = 50  # of one chain of redirects
# 520 to 524 come from a content delivery network that cannot reach the server.
FAILING: Final = frozenset({500, 502, 504, 520, 521, 522, 523, 524})
IGNORED_MEDIA_TYPES: Final = (
    *("image/*", "audio/*", "video/*", "font/*"),
    *("text/css", "text/javascript", "text/ecmascript", "text/rtf"),
    *("application/javascript", "application/x-javascript", "application/ecmascript"),
    *("application/wasm", "application/pdf", "application/x-pdf"),
    *("application/postscript", "application/rtf", "application/msword"),
    *("application/vnd.ms-*", "application/vnd.openxmlformats-officedocument.*"),
    *("application/vnd.oasis.opendocument.*", "application/epub+zip"),
    *("application/font-*", "application/x-font-*", "application/ogg"),
    *("application/x-shockwave-flash", "application/vnd.apple.mpegurl"),
    *("application/x-mpegurl", "application/vnd.android.package-archive"),
    *("application/vnd.microsoft.portable-executable", "application/x-msdownload"),
    *("application/x-apple-diskimage", "application/x-iso9660-image"),
    *("application/vnd.rar", "application/x-rar-compressed"),
)
"""Default of `IGNORED_MEDIA_TYPES`."""
# RDFa may occur in any XML, and rules read JSON.
_READ_SUFFIXES: Final = ("+xml", "+json")
_READ: Final = frozenset(name for each in FORMATS for name in each.media_types)
# Bodies up to this length are drained to reuse the connection.
DRAINED_BYTES: Final = 8 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """Headers and limits of a request."""

    accept: str
    max_bytes: int  # longest decoded body that is read
    spool_bytes: int  # a longer body is written to a spool file
    timeout_secs: float  # for all of it, from connecting to the last byte
    # from connecting to the end of the headers, and then to the first byte of the body
    first_byte_secs: float = 30.0
    # further headers of the request, names and values
    headers: tuple[tuple[str, str], ...] = ()
    # of these, those that are sent to one URL only, which has these validators
    conditions: tuple[tuple[str, str], ...] = ()
    read_at: str = ""  # that URL
    data: bytes = b""  # body of a POST; empty for a GET
    # lower-case names of further response headers to keep
    kept_headers: tuple[str, ...] = ()
    is_resumable: bool = False  # after a broken transfer, the next request resumes it
    # never retried within the visit
    is_final: bool = False
    request: RequestTask | None = None  # of a user's spider, sent instead
    follows: bool = True  # redirects are followed
    refreshed: RefreshedPage | None = None  # of a page that is fetched again
    unread: UnreadTypes | None = None  # types whose bodies are not received

    @property
    def is_plain(self) -> bool:
        """Whether it is an ordinary GET, possibly with cookies."""
        if not (self.headers or self.data):
            return True
        return not self.data and all(name == "Cookie" for name, _ in self.headers)

    @property
    def is_of_range(self) -> bool:
        """Whether it requests a part of the document (RFC 9110 14.2)."""
        return any(name == "Range" for name, _ in self.headers)

    @property
    def is_conditional(self) -> bool:
        """Whether 304 is a valid response (RFC 9110 13.1)."""
        if not self.headers:
            return False
        return any(name.lower().startswith("if-") for name, _ in self.headers)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """Request for a record that needs more than a GET of its URL."""

    url: str  # on the host of the record's URL
    accept: str = ""  # `Accept` header; empty for the default of the kind
    headers: tuple[tuple[str, str], ...] = ()
    # validators, for the URL where the known version was read: another
    # resource may have the same `ETag` (RFC 9110 8.8.3)
    conditions: tuple[tuple[str, str], ...] = ()
    read_at: str = ""  # that URL; empty: the requested one
    data: bytes = b""
    kept_headers: tuple[str, ...] = ()
    # the first byte may take as long as the kind allows, not only as long as a page may
    may_think: bool = True

    def options(self, options: RequestOptions, page_secs: float) -> RequestOptions:
        """Return the options of the request.

        Args:
            options: options of the record's kind.
            page_secs: longest time to the first byte of a page.
        """
        first_secs = options.first_byte_secs
        read_at = self.read_at or self.url
        own = self.conditions if read_at == self.url else ()
        return replace(
            options,
            accept=self.accept or options.accept,
            headers=(*self.headers, *own),
            conditions=self.conditions,
            read_at=read_at,
            data=self.data,
            kept_headers=self.kept_headers,
            first_byte_secs=first_secs
            if self.may_think
            else min(first_secs, page_secs),
        )


def conditional_request(
    url: str, etag: str, last_modified: str, *, read_at: str = ""
) -> HttpRequest | None:
    """Return a request that is conditional on these validators; None without any.

    Args:
        url: to request.
        etag: of the known version, or empty.
        last_modified: the same.
        read_at: where that was read, if redirects led there.
    """
    conditions = conditional_headers(etag, last_modified)
    if not conditions:
        return None
    return HttpRequest(url=url, conditions=conditions, read_at=read_at)


def conditional_headers(etag: str, last_modified: str) -> tuple[tuple[str, str], ...]:
    """Return the headers of a request that is conditional on these validators."""
    pairs = ("If-None-Match", etag), ("If-Modified-Since", last_modified)
    return tuple((name, value) for name, value in pairs if value)


@dataclass(slots=True, kw_only=True, eq=False)
class HttpResponse(FetchedResponse):
    """Response to one request, or a fault."""

    location: str = ""  # of `Location`, unresolved
    cookies: tuple[str, ...] = ()  # lines of `Set-Cookie`
    retry_after: str = ""  # of `Retry-After`, unparsed
    fault: Fault | None = None  # other than an HTTP error status
    # no connection or no response: the fault concerns the entire origin
    is_host_fault: bool = False
    errno: int = 0  # of the operating system's error behind the fault
    # a certificate is not yet valid or has expired, by the local clock
    is_untimely: bool = False
    # a retry would cost as much and bring as little
    is_costly: bool = False
    is_local_failure: bool = False  # a local failure; it says nothing about the host
    # the transfer broke off after a large part that a retry can skip
    has_progressed: bool = False
    # the server did not resume a broken transfer: the next request starts over
    has_restarted: bool = False
    put_off_secs: float = 0.0  # wait before the next request, after a local failure
    # never sent: its turn ended first
    is_unsent: bool = False


class HttpClient(Protocol):
    """Client that makes one request: our own, or Scrapy's downloader."""

    def get(
        self, url: str, options: RequestOptions, turn: SoloTurn = FREE
    ) -> Awaitable[HttpResponse]:
        """Fetch `url` once, without following redirects or raising faults.

        Bodies are kept through `Spool.sink`, so that they count as memory. The request
        is sent only while `turn` is valid; the client records the time in `turn`.
        """


async def response_in_turn(
    get: Callable[[SoloTurn], Awaitable[HttpResponse]],
    take: Callable[[], Awaitable[SoloTurn | None]],
) -> HttpResponse:
    """Make a request in its turn, and return the response.

    A missing turn is a local failure. If the host rests, the response is `HOST_BUSY`.
    """
    while True:
        try:
            turn = await take()
        except HostRestsError as rest:
            fault = Fault(Reason.HOST_BUSY, str(rest))
            return HttpResponse(fault=fault, retry_after=str(math.ceil(rest.secs)))
        if turn is None:
            return HttpResponse(is_local_failure=True)
        try:
            response = await get(turn)
        finally:
            turn.end()
        if not response.is_unsent:
            return response


class UnreadBody(SourceFault):
    """No parser reads the type of a response; its body is dropped."""

    def __init__(self, found: str) -> None:
        super().__init__(Reason.UNSUPPORTED_FORMAT, found)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadTypes:
    """The media types of responses whose bodies are not received."""

    names: frozenset[str] = frozenset()
    # prefixes of media types; types that may contain RDF are exempt
    begins: tuple[str, ...] = ()
    # types and file extensions that custom classes read
    read: frozenset[str] = frozenset()
    read_extensions: tuple[str, ...] = ()
    has_magic: bool = False  # a custom class is selected by first bytes

    @classmethod
    def of(
        cls, ignored: Iterable[str], own: OwnFormats, *, has_magic: bool = False
    ) -> Self:
        """Return the types of `IGNORED_MEDIA_TYPES`, unless the user's classes do."""
        return cls(
            names=frozenset(name for name in ignored if name[-1] != "*"),
            begins=tuple(sorted(name[:-1] for name in ignored if name[-1] == "*")),
            read=frozenset(own.media_types),
            read_extensions=own.extensions,
            has_magic=has_magic,
        )

    def check(self, url: str, media_type: str) -> None:
        """Raise `UnreadBody` if the body of a response should not be received."""
        if media_type not in self.names:
            if not media_type.startswith(self.begins):
                return
            if media_type in _READ or media_type.endswith(_READ_SUFFIXES):
                return
        if media_type in self.read or self._is_named(url):
            return
        raise UnreadBody(media_type)

    def check_begin(self, url: str, head: bytes) -> None:
        """Raise `UnreadBody` if a body begins like an image or another such format.

        A custom class with further types may read it.
        """
        is_judged = (self.names or self.begins) and not (self.read or self.has_magic)
        if is_judged and (found := media_at(head)) and not self._is_named(url):
            raise UnreadBody(found)

    def _is_named(self, url: str) -> bool:
        """Return whether a URL has an extension of RDF, archives or custom types."""
        is_dump = kind_of(url) is Kind.DUMP
        return is_dump or file_name(url).endswith(self.read_extensions)


def media_types(name: str, value: Any) -> tuple[str, ...]:
    """Return media types, or their beginnings with a `*`; a built-in list for None.

    Raises:
        ConfigError: an entry is something else.
    """
    found = IGNORED_MEDIA_TYPES if value is None else texts(value)
    for given in found:
        if "/" not in given or "*" in given[:-1]:
            raise ConfigError(
                f"{name}: {given!r}: must be a media type, or the beginning of one and"
                " an asterisk"
            )
    return tuple(each.lower() for each in found)
