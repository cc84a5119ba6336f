"""Requests to FTP servers, and their results."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from rdfcrawl.core.records import Kind
from rdfcrawl.downloader.ftp.exchange import FtpExchange
from rdfcrawl.downloader.spool import Spool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from rdfcrawl.downloader.client import HttpResponse
    from rdfcrawl.downloader.options import FetchOptions

    MakeOptions = Callable[..., FetchOptions]

LDP = "http://www.w3.org/ns/ldp#"
TURTLE = b"<http://example.org/s> <http://example.org/p> 1 .\n"
LARGE = bytes(range(256)) * 4096  # 1 MiB


@asynccontextmanager
async def opened(options: FetchOptions, **more: Any) -> AsyncIterator[FtpExchange]:
    """Open an exchange, and check at its end that no memory is left counted."""
    with Spool(
        options.spool_dir, memory_limit_bytes=options.visit_memory_bytes
    ) as spool:
        async with FtpExchange(options, spool, **more) as exchange:
            yield exchange


async def get(exchange: FtpExchange, url: str, **changes: Any) -> HttpResponse:
    """Fetch one URL; a spool file is read back into `body`."""
    from dataclasses import replace

    ask = replace(exchange.pool.options.request_options(Kind.PAGE), **changes)
    answer = await exchange.get(url, ask)
    body = answer.path.read_bytes() if answer.path else answer.body
    exchange.spool.release(answer)
    assert exchange.spool.memory_bytes == 0
    answer.body = body
    return answer


async def get_one(
    url: str, options: FetchOptions, asks: dict[str, Any] | None = None, **more: Any
) -> HttpResponse:
    """Fetch one URL over a new exchange."""
    async with opened(options, **more) as exchange:
        return await get(exchange, url, **(asks or {}))


def triples(answer: HttpResponse) -> set[tuple[str, str, str]]:
    """Return the statements of a listing."""
    assert answer.media_type == "application/n-triples"
    assert answer.body is not None
    return {
        (str(each.subject)[1:-1], str(each.predicate)[1:-1], str(each.object))
        for each in ox.parse(answer.body, format=ox.RdfFormat.N_TRIPLES)
    }


def contained(answer: HttpResponse) -> set[str]:
    """Return the content of a listing."""
    return {o[1:-1] for _, p, o in triples(answer) if p == f"{LDP}contains"}
