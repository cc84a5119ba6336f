"""One GET by an exchange that is opened for it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from rdfcrawl.core.records import Kind
from rdfcrawl.downloader.http.exchange import HttpExchange
from rdfcrawl.downloader.spool import Spool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from rdfcrawl.downloader.client import HttpResponse
    from rdfcrawl.downloader.options import FetchOptions

    MakeOptions = Callable[..., FetchOptions]


@asynccontextmanager
async def opened(
    options: FetchOptions, *, is_recorded: bool = False
) -> AsyncIterator[HttpExchange]:
    """Open an exchange, and check at its end that no memory is left counted."""
    with Spool(
        options.spool_dir, memory_limit_bytes=options.visit_memory_bytes
    ) as spool:
        async with HttpExchange(options, spool, is_recorded=is_recorded) as exchange:
            yield exchange


async def get_one(
    url: str, options: FetchOptions, kind: Kind = Kind.PAGE
) -> HttpResponse:
    """Fetch one URL; a spool file is read back into `body`."""
    async with opened(options) as exchange:
        answer = await exchange.get(url, options.request_options(kind))
        if answer.path is not None:
            assert answer.body is None
            answer.body = answer.path.read_bytes()
        return answer
