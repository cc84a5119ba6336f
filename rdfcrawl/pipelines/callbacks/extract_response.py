"""Read an ordinary response as in a crawl: for `extract` and `scrapy parse`."""

from __future__ import annotations

import json
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, Self, TypeAlias

from scrapy import Request
from scrapy.http import Response
from scrapy.settings import BaseSettings, Settings

from rdfcrawl.core.content import QuadChunk
from rdfcrawl.core.errors import Fault, Reason
from rdfcrawl.core.options.scrapy_settings import apply_values
from rdfcrawl.core.records import Document, FetchedResponse, Record
from rdfcrawl.core.reservations import (
    ROBOTS_TAG,
    TDM_POLICY,
    TDM_RESERVATION,
    ReservationPolicy,
)
from rdfcrawl.downloader.http.exchange import parse_content_type
from rdfcrawl.downloader.options import FetchOptions
from rdfcrawl.downloader.retry_policy import fault_of_status
from rdfcrawl.downloader.robots.policy import RobotsSettings
from rdfcrawl.frontier.queue.options import CrawlOptions
from rdfcrawl.pipelines.account import withhold
from rdfcrawl.pipelines.callbacks.document_callbacks import iterate_output
from rdfcrawl.pipelines.callbacks.inspection import (
    InspectionReport,
    InspectionRequest,
    inspect,
)
from rdfcrawl.pipelines.callbacks.parsed_document import ParsedDocument, ReadStatements
from rdfcrawl.pipelines.chunks import KeptQuads
from rdfcrawl.pipelines.extract import result_of
from rdfcrawl.rdf.extraction.messages import ExtractOutcome
from rdfcrawl.rdf.extraction.options import ExtractOptions
from rdfcrawl.rdf.links.policy import LinkPolicy

DocumentCallback: TypeAlias = Callable[[ParsedDocument], Any]


@dataclass(frozen=True, slots=True)
class OrdinaryReader:
    """Reads ordinary responses as a crawl would; `options` have no target."""

    options: InspectionRequest

    async def look_at(
        self, response: Response, parse: DocumentCallback | None
    ) -> AsyncIterator[Any]:
        """Yield the results that a crawl would have for a response.

        Args:
            response: ordinary, with its body.
            parse: of the spider, for documents.

        Yields:
            The document, with its outcome; the output of `parse`; a request for each
            link.
        """
        async with self._reading(response) as (document, found):
            yield document
            if parse is not None and found.outcome is not None and not found.withheld:
                async for each in self._output(document, parse):
                    yield each
            for url in sorted(found.followed):
                yield Request(url)

    async def output(
        self, response: Response, parse: DocumentCallback
    ) -> AsyncIterator[Any]:
        """Yield the output of a method for the document in a response."""
        async with self._reading(response) as (document, _):
            async for each in self._output(document, parse):
                yield each

    def _output(
        self, document: Document, parse: DocumentCallback
    ) -> AsyncIterator[Any]:
        max_bytes = self.options.fetch.max_document_bytes
        parsed = ParsedDocument(document, max_bytes=max_bytes)
        return iterate_output(parse(parsed))

    @asynccontextmanager
    async def _reading(
        self, response: Response
    ) -> AsyncGenerator[tuple[Document, InspectionReport]]:
        kept = new_copy(self.options.fetch.spool_bytes)
        try:
            document = document_of(response)
            found = await inspect(self.options, kept.take, document=document)
            if found.outcome is not None:
                document.reading = result_of(found.outcome)
                document.n_quads = found.outcome.n_quads
                document.faults += found.outcome.faults
                document.withheld = found.withheld
                withhold(document)
            document.n_links = len(found.followed)
            document.kept = kept
            yield document, found
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


class ExtractedRdf(ReadStatements):
    """The RDF of one response; close it by `with` or `close`.

    Attributes:
        url: of the response, without fragment.
        format: name of its format; empty if not read.
        decided_by: how the format was detected (see `sniffing.decide`).
        n_quads: number of its statements.
        is_partial: some statements were not read.
        links: URLs that a crawl would follow, sorted.
        faults: all of them, in order.
        reservations: reservations of the publisher in headers and page.
        uniform: items of a page by syntax, in the uniform shape of extruct; empty
            unless requested.
        withheld: `NOINDEX` or `TDM_RESERVED` if the settings `XROBOTS_POLICY` and
            `TDM_POLICY` keep a crawl from storing the statements; else None.
    """

    def __init__(
        self,
        inspection: InspectionReport,
        statements: KeptQuads,
        policy: ReservationPolicy,
    ) -> None:
        outcome = inspection.outcome or ExtractOutcome()
        self.url = inspection.document.url
        self.format = outcome.format.name if outcome.format else ""
        self.decided_by = outcome.decided_by
        self.n_quads = outcome.n_quads
        self.is_partial = outcome.is_partial
        self.links: tuple[str, ...] = tuple(sorted(inspection.followed))
        faults = inspection.document.faults
        self.faults: tuple[Fault, ...] = (*faults, *outcome.faults)
        self.reservations = outcome.reservations
        self.uniform: dict[str, list[dict[str, Any]]] = json.loads(
            outcome.uniform or "{}"
        )
        self.withheld: Reason | None = self.reservations.withholds(policy)
        self._statements = statements

    def __repr__(self) -> str:
        """Return the URL and the number of statements in one line."""
        return f"<ExtractedRdf {self.n_quads} of {self.url!r}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def nquads(self) -> BinaryIO:
        """Return the statements as a file of N-Quads, from its beginning."""
        return self._statements.open()

    def close(self) -> None:
        """Free the memory, or the temporary file, that holds the statements."""
        self._statements.close()


async def extract(
    response: Response,
    *,
    follow: str = "abox",
    settings: BaseSettings | None = None,
    uniform: bool = False,
) -> ExtractedRdf:
    """Return the RDF of an ordinary response of Scrapy, read as in a crawl.

    Await it in an asynchronous callback, or use `asyncio.run` in a script; it needs
    neither frontier nor Redis. All but small documents in simple formats are read in a
    child process whose time and memory are bounded, and which ends with the event loop.
    Reservations of the publisher are reported, not obeyed.

    Args:
        response: fetched by Scrapy, or made by hand.
        follow: which links to return, as in the argument `follow`.
        settings: of the spider; without them, all settings have our defaults.
        uniform: also read a page with extruct, for the attribute of this name.

    Raises:
        ConfigError: a setting or `follow` is wrong. Faults of the document are in
            `faults`.
    """
    read = _request if settings is None or settings.frozen else _request.__wrapped__
    request, policy = read(_Same(settings), follow, wants_uniform=uniform)
    statements = new_copy(request.fetch.spool_bytes)
    try:
        inspection = await inspect(
            request, statements.take, document=document_of(response)
        )
    except BaseException:
        statements.close()
        raise
    return ExtractedRdf(inspection, statements, policy)


@dataclass(frozen=True, slots=True, eq=False)
class _Same:
    """Settings as keys, equal if they are the same object."""

    settings: BaseSettings | None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.settings is self.settings

    def __hash__(self) -> int:
        return id(self.settings)


@lru_cache(maxsize=8)  # to read all options takes as long as to read some documents
def _request(
    given: _Same, follow: str, *, wants_uniform: bool
) -> tuple[InspectionRequest, ReservationPolicy]:
    """Return the options, and the policy for reservations."""
    ours = BaseSettings()  # settings of a running crawl are frozen, and so are copies
    ours.update(Settings() if given.settings is None else given.settings)
    apply_values(ours)
    robots = RobotsSettings.from_settings(ours)
    crawl = CrawlOptions.from_settings(ours, "extract")
    extract = ExtractOptions.from_settings(ours, formats=crawl.formats)
    fetch = FetchOptions.of(ours, crawl, extract.custom)
    request = InspectionRequest(
        follow=LinkPolicy.parse(follow),
        fetch=replace(fetch, spool_dir=Path(tempfile.gettempdir())),
        robots_agent=robots.obeyed_agent,
        extract=extract,
        reservation_policy=ReservationPolicy(agent=robots.policy.agent),
        shares_children=True,
        wants_uniform=wants_uniform,
    )
    return request, robots.policy
