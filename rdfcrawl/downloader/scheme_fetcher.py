"""The interface of custom fetchers: one request, one response."""

from __future__ import annotations

from collections.abc import AsyncIterable
from dataclasses import dataclass, field
from threading import Event
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemeRequest:
    """A request for one URL of a custom scheme.

    Attributes:
        url: requestable: no fragment, no user, a path.
        accept: readable media types, in the form of the `Accept` header.
        max_bytes: longest body to keep.
        timeout_secs: from the call to the last byte.
        etag, last_modified: validators of the known version, or empty. If they still
            hold, the response is a 304.
        aborted: set when the request is cancelled, for threads; coroutines are
            cancelled.
    """

    url: str
    accept: str
    max_bytes: int
    timeout_secs: float
    etag: str = ""
    last_modified: str = ""
    aborted: Event = field(default_factory=Event)


@dataclass(frozen=True, slots=True)
class SchemeResponse:
    """The response of a fetcher.

    Attributes:
        body: of a 200: bytes, or an iterator of chunks, without content encoding.
        status: equivalent of HTTP: 200; 301 to 308 with `location`; 304; 403, 404 and
            410; 429 and 503, which pause the authority; other 5xx, which are retried.
        media_type: value of `Content-Type`; empty to use the file extension of the URL.
        etag, last_modified: validators, for requests of later runs.
        length: of the body in bytes, if known: a shorter body is incomplete.
        location: target of a redirect, relative to the URL.
        retry_after_secs: pause after 429 and 503.
    """

    body: bytes | AsyncIterable[bytes] = b""
    status: int = 200
    media_type: str = ""
    etag: str = ""
    last_modified: str = ""
    length: int = 0
    location: str = ""
    retry_after_secs: float = 0.0


class SchemeFetcher(Protocol):
    """Fetcher of the URLs of a scheme; each worker has one instance.

    Its class is called without arguments, or by `from_crawler(crawler)` if defined. An
    `async def close()`, if defined, is called at the end.
    """

    async def fetch(self, request: SchemeRequest) -> SchemeResponse:
        """Return the response to a request.

        Several requests run concurrently in one event loop.

        Raises:
            SourceFault: its reason decides about a retry or a pause of the authority.
            OSError: error of the file or connection.
        """
