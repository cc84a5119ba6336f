"""Call custom fetchers within the limits of all requests."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any, Final

from rdfcrawl.core.errors import Fault, Reason, SourceFault, one_line
from rdfcrawl.core.messages import counted
from rdfcrawl.downloader.client import HttpResponse, RequestOptions
from rdfcrawl.downloader.http.exchange import MAX_VALUE_CHARS, parse_content_type
from rdfcrawl.downloader.network_faults import errno_of, note_fault
from rdfcrawl.downloader.options import FetchOptions
from rdfcrawl.downloader.scheme_fetcher import (
    SchemeFetcher,
    SchemeRequest,
    SchemeResponse,
)
from rdfcrawl.downloader.spool import Spool
from rdfcrawl.downloader.spool_sink import SpoolSink
from rdfcrawl.downloader.watch import WatchedExchange, WatchedTransfer
from rdfcrawl.frontier.request_turns import FREE, SoloTurn
from rdfcrawl.uri.parse import MAX_INPUT_CHARS, scheme_of

logger = logging.getLogger(__name__)

# The authority is unavailable, and so are its other URLs.
_OF_HOST: Final = frozenset(
    {Reason.DNS, Reason.DNS_UNANSWERED, Reason.UNREACHABLE, Reason.TLS}
)
_NOT_FOUND: Final = FileNotFoundError, IsADirectoryError, NotADirectoryError
_CLOSE_SECS: Final = 10.0
_STATUSES: Final = range(200, 600)


class FetcherExchange(WatchedExchange):
    """Call custom fetchers; none of their errors ends a visit."""

    def __init__(
        self,
        fetchers: Mapping[str, SchemeFetcher],
        options: FetchOptions,
        spool: Spool,
        *,
        count: Callable[[str, int], None] = lambda _name, _count: None,
    ) -> None:
        self._fetchers = fetchers
        self._spool = spool
        self._count = count
        super().__init__(options)
        self._has_failed: set[str] = set()  # schemes

    async def close(self) -> None:
        """Close the fetchers that can be closed."""
        await super().close()
        for scheme, fetcher in self._fetchers.items():
            close: Any = getattr(fetcher, "close", None)
            if close is None:
                continue
            try:
                async with asyncio.timeout(_CLOSE_SECS):
                    await close()
            except Exception:  # the edge: close the others, too
                logger.exception("%s: the fetcher cannot be closed", scheme)

    async def get(
        self, url: str, options: RequestOptions, turn: SoloTurn = FREE
    ) -> HttpResponse:
        """See `HttpClient.get`."""
        if options.data:
            return HttpResponse(status=405)  # the interface has no other methods
        if not turn.is_good():
            return HttpResponse(is_unsent=True)
        response, request = HttpResponse(), _request(url, options)
        note_failure = partial(self._note_failure, url)
        turn.sent()
        try:
            with self._watch.watching(url, options, response, note_failure) as transfer:
                await self._get(request, options, response, transfer)
        finally:
            request.aborted.set()
        self._count_response(scheme_of(url), response)
        return response

    async def _get(
        self,
        request: SchemeRequest,
        options: RequestOptions,
        response: HttpResponse,
        transfer: WatchedTransfer,
    ) -> None:
        fetcher = self._fetchers[scheme_of(request.url)]
        fetched = await fetcher.fetch(request)
        transfer.restart_wait(asyncio.get_running_loop().time())
        _note_response(response, fetched)
        if 200 <= fetched.status < 300:
            await self._read(fetched, request, options, response, transfer)

    async def _read(
        self,
        fetched: SchemeResponse,
        request: SchemeRequest,
        options: RequestOptions,
        response: HttpResponse,
        transfer: WatchedTransfer,
    ) -> None:
        """Receive the body; keep the received part after an error."""
        sink = SpoolSink(self._spool, options, request.url, max(0, fetched.length))
        try:
            async with aclosing(_chunks(fetched)) as chunks:
                async for chunk in chunks:
                    if not transfer.n_bytes and options.unread is not None:
                        options.unread.check(request.url, response.media_type)
                    transfer.n_bytes += len(chunk)
                    sink.write(chunk)
        except BaseException as exc:
            sink.end_early(response, transfer, exc)
            raise
        sink.keep(response)

    def _note_failure(self, url: str, response: HttpResponse, exc: Exception) -> bool:
        """Set and log the fault of an exception that a fetcher raised."""
        if isinstance(exc, SourceFault):
            note_fault(response, exc)
            response.is_host_fault = (
                not response.status and exc.fault.reason in _OF_HOST
            )
            return True
        response.errno = errno_of(exc)
        if not response.status and isinstance(exc, (*_NOT_FOUND, PermissionError)):
            response.status = 403 if isinstance(exc, PermissionError) else 404
            return True
        reason = _reason_of(exc, has_begun=response.status > 0)
        response.is_host_fault = reason is Reason.UNREACHABLE
        scheme = scheme_of(url)
        detail = f"{type(self._fetchers[scheme]).__name__}: {exc!r}"
        part = type(self._fetchers[scheme]).__name__
        response.fault = Fault(reason, one_line(detail), part=part)
        if reason is Reason.INTERNAL and scheme not in self._has_failed:
            self._has_failed.add(scheme)
            logger.error(
                "%s: the fetcher failed (logged once)", url, exc_info=exc, stacklevel=2
            )
        return True

    def _count_response(self, scheme: str, response: HttpResponse) -> None:
        self._count(f"fetcher/{scheme}/requests", 1)
        if response.status:
            self._count(f"fetcher/{scheme}/status/{response.status}", 1)
        if response.n_bytes:
            self._count(f"fetcher/{scheme}/bytes", response.n_bytes)


def _request(url: str, options: RequestOptions) -> SchemeRequest:
    headers = {name.lower(): value for name, value in options.headers}
    return SchemeRequest(
        url=url,
        accept=options.accept,
        max_bytes=options.max_bytes,
        timeout_secs=options.timeout_secs,
        etag=headers.get("if-none-match", ""),
        last_modified=headers.get("if-modified-since", ""),
    )


def _note_response(response: HttpResponse, fetched: object) -> None:
    if not isinstance(fetched, SchemeResponse):
        raise TypeError(f"not a SchemeResponse: {fetched!r:.100}")
    if fetched.status not in _STATUSES:
        raise ValueError(f"status {fetched.status!r:.100}")
    media_type = _text(fetched.media_type)
    response.media_type, response.charset = parse_content_type(media_type)
    response.etag = _text(fetched.etag)
    response.last_modified = _text(fetched.last_modified)
    response.location = _text(fetched.location, MAX_INPUT_CHARS)
    if fetched.retry_after_secs:
        response.retry_after = str(math.ceil(fetched.retry_after_secs))
    response.status = fetched.status


def _text(value: object, max_chars: int = MAX_VALUE_CHARS) -> str:
    """Return a replacement for a header value, without lone surrogates."""
    if not isinstance(value, str):
        raise TypeError(f"must be a str, not {value!r:.100}")
    return value[:max_chars].encode("utf-8", "replace").decode()


async def _chunks(response: SchemeResponse) -> AsyncGenerator[bytes]:
    """Yield a body in chunks; finally close its source."""
    body, n_bytes = response.body, 0
    if isinstance(body, bytes):
        body = _chunk(body)
    try:
        async for chunk in body:
            if not isinstance(chunk, bytes):
                raise TypeError(f"a chunk must be bytes, not {type(chunk).__name__}")
            n_bytes += len(chunk)
            yield chunk
    finally:
        close: Any = getattr(body, "aclose", None)
        if close is not None:
            await close()
    if n_bytes < response.length:
        detail = f"{counted(n_bytes, 'byte')} of {response.length}"
        raise SourceFault(Reason.TRUNCATED_BODY, detail)


async def _chunk(body: bytes) -> AsyncGenerator[bytes]:
    yield body


def _reason_of(exc: Exception, *, has_begun: bool) -> Reason:
    """Return the reason of an exception that is not a fault."""
    if isinstance(exc, TimeoutError):
        return Reason.TIMEOUT
    if isinstance(exc, OSError):
        return Reason.TRUNCATED_BODY if has_begun else Reason.UNREACHABLE
    return Reason.INTERNAL
