"""The interface of custom fetchers, and the setting `FETCH_SCHEMES`."""

from __future__ import annotations

from collections.abc import AsyncIterable, Mapping
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, Any, Protocol

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options.values import check_method, iter_classes

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


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


def fetcher_classes(paths: Mapping[str, object]) -> Mapping[str, type]:
    """Return the fetcher class of each custom scheme.

    Raises:
        ConfigError: one cannot be imported, or is not a fetcher.
    """
    found = {}
    for scheme, where, cls in iter_classes("FETCH_SCHEMES", paths):
        check_method(where, cls, "fetch", 1, kind="async def")
        found[scheme] = cls
    return found


def build_fetchers(
    crawler: Crawler, classes: Mapping[str, type]
) -> dict[str, SchemeFetcher]:
    """Return the fetchers of a crawler.

    Raises:
        ConfigError: a class rejects its settings.
    """
    from scrapy.utils.misc import build_from_crawler  # noqa: PLC0415

    found: dict[str, Any] = {}
    for scheme, cls in classes.items():
        try:
            found[scheme] = build_from_crawler(cls, crawler)
        except (LookupError, OSError, TypeError, ValueError) as error:
            raise ConfigError(
                f"FETCH_SCHEMES: {scheme!r}: {cls.__qualname__}: {error!r}"
            ) from error
    return found
