"""Read one response for `scrapy parse`: as in a crawl, but not stored."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import Request

from rdfcrawl.core.quad_chunks import QuadChunk
from rdfcrawl.core.records import Document, FetchedResponse, Record
from rdfcrawl.core.reservations import (
    ROBOTS_TAG,
    TDM_POLICY,
    TDM_RESERVATION,
    ReservationPolicy,
)
from rdfcrawl.downloader.http.exchange import parse_content_type
from rdfcrawl.downloader.retry_policy import fault_of_status
from rdfcrawl.pipelines.account import withhold
from rdfcrawl.pipelines.callbacks.document_callbacks import iterate_output
from rdfcrawl.pipelines.callbacks.inspection import InspectionRequest, inspect
from rdfcrawl.pipelines.callbacks.parsed_document import ParsedDocument
from rdfcrawl.pipelines.extract import result_of
from rdfcrawl.pipelines.keep import KeptQuads

if TYPE_CHECKING:
    from scrapy.http import Response

    from rdfcrawl.downloader.options import FetchOptions
    from rdfcrawl.rdf.extraction.options import ExtractOptions
    from rdfcrawl.rdf.links.policy import LinkPolicy


async def look_at(
    response: Response,
    parse: Callable[[ParsedDocument], Any] | None,
    *,
    follow: LinkPolicy,
    fetch: FetchOptions,
    extract: ExtractOptions,
    reservation_policy: ReservationPolicy,
) -> AsyncIterator[Any]:
    """Yield the results that a crawl would have for a response.

    Args:
        response: ordinary, with its body.
        parse: `parse_document` of the spider, if it overrides it.
        follow: which links a crawl would follow.
        fetch: limits, and politeness of the requests for contexts.
        extract: how documents are read.
        reservation_policy: reservations of publishers that are obeyed.

    Yields:
        The document, with its outcome; the output of `parse`; a request for each link.
    """
    request = InspectionRequest(
        target="",
        follow=follow,
        fetch=fetch,
        robots_agent="",
        extract=extract,
        reservation_policy=reservation_policy,
    )
    kept = new_copy(fetch.spool_bytes)
    try:
        document = document_of(response)
        found = await inspect(request, kept.take, document=document)
        if found.outcome is not None:
            document.reading = result_of(found.outcome)
            document.n_quads = found.outcome.n_quads
            document.faults += found.outcome.faults
            document.withheld = found.withheld
            withhold(document)
        document.n_links = len(found.followed)
        document.kept = kept
        yield document
        if parse is not None and found.outcome is not None and not found.withheld:
            parsed = ParsedDocument(document, max_bytes=fetch.max_document_bytes)
            async for each in iterate_output(parse(parsed)):
                yield each
        for url in sorted(found.followed):
            yield Request(url)
    finally:
        kept.close()


def document_of(response: Response) -> Document:
    """Return an ordinary response as a fetched document."""
    url = response.url.partition("#")[0]
    declared = (response.headers.get("Content-Type") or b"").decode("latin-1")
    media_type, charset = parse_content_type(declared)
    links = response.headers.getlist("Link")
    is_good = 200 <= response.status < 300
    fetched = FetchedResponse(
        requested=(url,),
        status=response.status,
        media_type=media_type,
        charset=charset,
        http_links=b",".join(links).decode("latin-1"),
        body=response.body if is_good else None,
        n_bytes=len(response.body),
        reservation_headers=tuple(
            (name, value.decode("latin-1"))
            for name in (ROBOTS_TAG, TDM_RESERVATION, TDM_POLICY)
            for value in response.headers.getlist(name)
        ),
    )
    document = Document(record=Record(url), url=url, response=fetched)
    if fault := fault_of_status(response.status):
        document.faults.append(fault)
    return document


def new_copy(spool_bytes: int) -> KeptQuads:
    """Return an empty container for statements."""

    async def no_chunks() -> AsyncIterator[QuadChunk]:
        return
        yield QuadChunk(b"")

    return KeptQuads(no_chunks(), Path(tempfile.gettempdir()), spool_bytes)
