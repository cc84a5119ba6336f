"""What a fetcher of the user's is to the crawl: one request, one response."""

from __future__ import annotations

from collections.abc import AsyncIterable
from dataclasses import dataclass, field
from threading import Event
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemeRequest:
    """A request for one URL of a scheme of the user's.

    Attributes:
        url: requestable: no fragment, no user, a path.
        accept: media types that are read, as in the `Accept` header.
        max_bytes: longest body that is kept.
        timeout_secs: for all of it, from the call to the last byte.
        etag, last_modified: validators of the version that is known, or empty. Where
            they still hold, the response is a 304.
        aborted: is set when nobody waits for the response any more, for threads; what
            is awaited is cancelled.
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
    """What a fetcher returns for a request.

    Attributes:
        body: of a 200: bytes, or chunks of them as they come, not encoded.
        status: that HTTP would have: 200; 301 to 308 with `location`; 304; 403, 404
            and 410; 429 and 503, for which the whole authority rests; other 5xx, which
            are tried again.
        media_type: as `Content-Type` has it; empty if the name of the URL decides.
        etag, last_modified: validators, for a request in a later run.
        length: of the body in bytes, if it is known: a shorter one is cut off.
        location: where a redirect leads; resolved against the URL.
        retry_after_secs: rest after 429 and 503.
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

    Its class is called without arguments, or by `from_crawler(crawler)` if it has that.
    An `async def close()`, if there is one, is called at the end.
    """

    async def fetch(self, request: SchemeRequest) -> SchemeResponse:
        """Return the response to a request.

        Several requests are under way at the same time, in one event loop.

        Raises:
            SourceFault: by its reason, it is tried again, or the authority rests.
            OSError: what the system said of the file or connection.
        """
