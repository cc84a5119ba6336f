"""One document looked up for a person: as a crawl would get it, without a frontier."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.fetch.hops import RedirectJudge
from rdfcrawl.fetch.visit import VisitMaker
from rdfcrawl.frontier.url_kind import kind_of
from rdfcrawl.records import Record, Visit
from rdfcrawl.uri.origin import origin_of

if TYPE_CHECKING:
    from rdfcrawl.fetch.answer import HttpClient
    from rdfcrawl.fetch.options import FetchOptions
    from rdfcrawl.fetch.spool import Spool
    from rdfcrawl.records import Document
    from rdfcrawl.robots.cache import RobotsCache


async def look_up(
    url: str,
    *,
    exchange: HttpClient,
    spool: Spool,
    options: FetchOptions,
    robots: RobotsCache | None,
) -> Document:
    """Return the document at a URL, after redirects, with its body or its faults.

    Args:
        url: requestable (see `uri.requestable`).
        exchange: does the GETs.
        spool: keeps the body.
        options: limits and manners, as for a page or a dump.
        robots: rules that are obeyed on each host; None obeys none.
    """
    visitor = VisitMaker(
        exchange,
        spool,
        options,
        key_of=origin_of,
        is_new=_is_new,
        hops=RedirectJudge(robots=robots),
    )
    record = Record(url, kind_of(url))
    while True:
        visit = Visit(
            key=origin_of(record.url),
            partition=0,
            epoch=0,
            records=(record,),
            delay_secs=0.0,
            failures=options.retry_times,  # nobody will visit the host again
            pending=[0],
        )
        if robots is not None:
            await robots.apply(visit)
        if visit.pending:
            await visitor.visit(visit)
        document = visit.documents[-1]
        if not visit.outlinks:
            return document
        spool.release(document.response)
        record = visit.outlinks[0]


async def _is_new(_url: str) -> bool:
    return True
