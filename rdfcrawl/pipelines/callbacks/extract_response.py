"""Extract RDF from an ordinary response, for spiders and scripts without a crawl."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from scrapy.settings import BaseSettings, Settings

from rdfcrawl.core.options.merging import apply_values
from rdfcrawl.core.reservations import ReservationPolicy
from rdfcrawl.downloader.options import FetchOptions
from rdfcrawl.downloader.robots.policy import RobotsSettings
from rdfcrawl.frontier.queue.options import CrawlOptions
from rdfcrawl.pipelines.callbacks.inspect_response import document_of, new_copy
from rdfcrawl.pipelines.callbacks.inspection import (
    InspectionReport,
    InspectionRequest,
    inspect,
)
from rdfcrawl.pipelines.callbacks.parsed_document import ReadStatements
from rdfcrawl.rdf.extraction.messages import ExtractOutcome
from rdfcrawl.rdf.extraction.options import ExtractOptions
from rdfcrawl.rdf.links.policy import LinkPolicy

if TYPE_CHECKING:
    from scrapy.http import Response

    from rdfcrawl.core.errors import Fault, Reason
    from rdfcrawl.pipelines.keep import KeptQuads


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
    ours = BaseSettings()  # settings of a running crawl are frozen, and so are copies
    ours.update(Settings() if settings is None else settings)
    apply_values(ours)
    robots = RobotsSettings.from_settings(ours)
    request = _request(follow, ours, robots, wants_uniform=uniform)
    statements = new_copy(request.fetch.spool_bytes)
    try:
        inspection = await inspect(
            request, statements.take, document=document_of(response)
        )
    except BaseException:
        statements.close()
        raise
    return ExtractedRdf(inspection, statements, robots.policy)


def _request(
    follow: str, ours: BaseSettings, robots: RobotsSettings, *, wants_uniform: bool
) -> InspectionRequest:
    crawl = CrawlOptions.from_settings(ours, "extract")
    extract = ExtractOptions.from_settings(ours, formats=crawl.formats)
    fetch = FetchOptions.of(ours, crawl, extract.custom)
    return InspectionRequest(
        target="",
        follow=LinkPolicy.parse(follow),
        fetch=replace(fetch, spool_dir=Path(tempfile.gettempdir())),
        robots_agent=robots.obeyed_agent,
        extract=extract,
        reservation_policy=ReservationPolicy(agent=robots.policy.agent),
        shares_children=True,
        wants_uniform=wants_uniform,
    )
