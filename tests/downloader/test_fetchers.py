"""Requests to custom fetchers: nothing of them is left when they end."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.records import Kind
from rdfcrawl.downloader.client import IGNORED_MEDIA_TYPES, UnreadTypes
from rdfcrawl.downloader.crawler_clients import SchemeExchange
from rdfcrawl.downloader.fetcher_exchange import FetcherExchange
from rdfcrawl.downloader.scheme_fetcher import SchemeRequest, SchemeResponse
from rdfcrawl.downloader.spool import Spool
from rdfcrawl.frontier.request_turns import SoloTurn
from rdfcrawl.rdf.extraction.options import OwnFormats

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from rdfcrawl.downloader.options import FetchOptions

    MakeOptions = Callable[..., FetchOptions]

URL = "s3://bucket/key"


class Fetcher:
    """Returns a response; knows its requests, and its closed objects."""

    def __init__(self, response: Any = None) -> None:
        self.response = response
        self.requests: list[SchemeRequest] = []
        self.is_closed = False
        self.waits = asyncio.Event()

    async def fetch(self, request: SchemeRequest) -> SchemeResponse:
        """Return the response, or one with a body that never ends."""
        self.requests.append(request)
        return self.response or SchemeResponse(self._chunks())

    async def _chunks(self) -> AsyncIterator[bytes]:
        try:
            yield b"x" * 100
            self.waits.set()
            await asyncio.Event().wait()
        finally:
            self.is_closed = True


async def test_cancelled_request_leaves_nothing(fetch_options: MakeOptions) -> None:
    """If a request is cancelled, then body, memory and threads are let go of."""
    options, fetcher = fetch_options(), Fetcher()
    with Spool(options.spool_dir, memory_limit_bytes=1000) as spool:
        exchange = FetcherExchange({"s3": fetcher}, options, spool)
        task = asyncio.create_task(
            exchange.get(URL, options.request_options(Kind.PAGE))
        )
        await fetcher.waits.wait()
        assert spool.memory_bytes == 100
        assert exchange.active_transfers() == {task}
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert spool.memory_bytes == 0
        assert not exchange.active_transfers()
        await exchange.close()
    assert fetcher.is_closed
    assert fetcher.requests[0].aborted.is_set()


async def test_body_that_nothing_reads_is_not_received(
    fetch_options: MakeOptions,
) -> None:
    """If a response is a picture, then its body is closed and not kept."""
    unread = UnreadTypes.of(IGNORED_MEDIA_TYPES, OwnFormats())
    options, fetcher = fetch_options(unread=unread), Fetcher()
    fetcher.response = SchemeResponse(fetcher._chunks(), media_type="image/png")
    with Spool(options.spool_dir, memory_limit_bytes=1000) as spool:
        exchange = FetcherExchange({"s3": fetcher}, options, spool)
        answer = await exchange.get(URL, options.request_options(Kind.PAGE))
        await exchange.close()
        assert spool.memory_bytes == 0
    assert answer.fault is not None
    assert answer.fault.reason is Reason.UNSUPPORTED_FORMAT
    assert answer.body is None
    assert answer.path is None
    assert fetcher.is_closed


async def test_requests_that_are_not_made(fetch_options: MakeOptions) -> None:
    """If there is a body to send, no turn, or no fetcher, then no request is made."""

    class Over(SoloTurn):
        def is_good(self) -> bool:
            return False

    options, fetcher = fetch_options(), Fetcher()
    ask = options.request_options(Kind.PAGE)
    with Spool(options.spool_dir, memory_limit_bytes=1000) as spool:
        own = FetcherExchange({"s3": fetcher}, options, spool)
        exchange = SchemeExchange(own, own, fetchers=own, own=["s3"])
        assert (await exchange.get(URL, replace(ask, data=b"x"))).status == 405
        assert (await exchange.get(URL, ask, Over())).is_unsent
        answer = await exchange.get("gopher://bucket/key", ask)
        assert answer.fault is not None
        assert answer.fault.reason is Reason.BAD_URI
    assert not fetcher.requests


@pytest.mark.parametrize(
    "response",
    [
        {"status": 200},
        SchemeResponse(status=99),
        SchemeResponse("text"),  # type: ignore[arg-type]
        SchemeResponse(etag=None),  # type: ignore[arg-type]
        SchemeResponse(media_type=b"text/turtle"),  # type: ignore[arg-type]
        SchemeResponse(location=7, status=301),  # type: ignore[arg-type]
        SchemeResponse(length="7"),  # type: ignore[arg-type]
    ],
)
async def test_what_is_no_response(fetch_options: MakeOptions, response: Any) -> None:
    """If a fetcher returns something else, then that is a fault which names it."""
    options = fetch_options()
    with Spool(options.spool_dir, memory_limit_bytes=1000) as spool:
        exchange = FetcherExchange({"s3": Fetcher(response)}, options, spool)
        answer = await exchange.get(URL, options.request_options(Kind.PAGE))
    assert answer.fault is not None
    assert answer.fault.reason is Reason.INTERNAL
    assert answer.fault.detail.startswith("Fetcher: ")
