"""Ingests of links that refuse the ones named in their arguments."""

from __future__ import annotations

import re

from rdfcrawl.core.records import Record
from rdfcrawl.frontier.queue.candidate import unpack
from rdfcrawl.frontier.worker.link_ingest import (
    LINK_BAND,
    LinkIngest,
)
from rdfcrawl.uri import HostGrouping, NormalForm, PolitenessKey
from rdfcrawl.uri.link_filter import CrawlScope, IgnoredNames, LinkFilter, UrlPatterns
from rdfcrawl.uri.parse import NO_SCHEMES, SchemePolicy
from rdfcrawl.uri.traps import NO_TRAPS, TrapLimits

PAGE = "https://a.example/page"


def new_ingest(
    *,
    scope: CrawlScope | None = None,
    allow: str | None = None,
    deny: str | None = None,
    max_depth: int = 255,
    partitions: int = 16,
    grouping: HostGrouping = HostGrouping.HOST,
    trap_limits: TrapLimits = NO_TRAPS,
    schemes: SchemePolicy = NO_SCHEMES,
    ignored: str = "",
) -> LinkIngest:
    """Return an ingest that takes all that its arguments do not turn away."""
    allowed = UrlPatterns((re.compile(allow),)) if allow else UrlPatterns()
    denied = UrlPatterns((re.compile(deny),)) if deny else UrlPatterns()
    return LinkIngest(
        keys=PolitenessKey(grouping),
        normal_form=NormalForm(),
        link_filter=LinkFilter(
            scope or CrawlScope(),
            allowed,
            denied,
            traps=trap_limits,
            schemes=schemes,
            ignored=IgnoredNames(frozenset(ignored.split())),
        ),
        partitions=partitions,
        max_depth=max_depth,
    )


def taken(ingest: LinkIngest, *links: bytes, depth: int = 0) -> list[Record]:
    """Return the records of the candidates among some links of a page."""
    parent = Record(PAGE, depth=depth)
    found = ingest.links(links, parent=parent, url=PAGE).candidates
    assert all(candidate.item[:1] == LINK_BAND for candidate in found)
    return [unpack(candidate.item[1:], candidate.key) for candidate in found]
