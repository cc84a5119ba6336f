"""Find the addresses where a source may describe itself.

Source: ANSI/NISO Z39.99-2017, section "Discovery": the well-known URI names a source
description, links of pages and headers a capability list, robots.txt a resource list;
section "Navigation": `up` and `index` of a document lead to the document above it.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Final

from rdfcrawl.core.errors import SourceFault
from rdfcrawl.core.source_tasks import SyncCapability
from rdfcrawl.rdf.html.page import ParsedPage
from rdfcrawl.rdf.links.headers import parse_link_header
from rdfcrawl.sources.resourcesync.documents import DocumentHeading, linked
from rdfcrawl.uri import BadUri, requestable

WELL_KNOWN: Final = "/.well-known/resourcesync"
RELATION: Final = "resourcesync"
MAX_CANDIDATES: Final = 100  # of one page, header or robots.txt


@dataclass(frozen=True, slots=True)
class DocumentCandidate:
    """A requestable address where a document of a source may be."""

    url: str
    expected: SyncCapability | None = None


def of_site(url: str) -> DocumentCandidate:
    """Return the well-known address of the site of any URL.

    A URL that is not requestable raises `BadUri`.

    >>> of_site("http://example.org:8080/a/b").url
    'http://example.org:8080/.well-known/resourcesync'
    """
    return DocumentCandidate(
        requestable(WELL_KNOWN, requestable(url)), SyncCapability.DESCRIPTION
    )


def of_sitemaps(urls: Iterable[str], *, base: str) -> list[DocumentCandidate]:
    """Return the targets of the `Sitemap` lines of a robots.txt, in its order.

    Documents with a capability in their heading are of ResourceSync; the others
    are plain sitemaps. `base` is the URL of the robots.txt.
    """
    return _candidates(urls, base, SyncCapability.RESOURCE_LIST)


def of_header(value: str, *, base: str) -> list[DocumentCandidate]:
    """Return the targets of a `Link` header of the response from `base`."""
    urls = (
        link.url
        for link in parse_link_header(value, base=base)
        if RELATION in link.relations and not link.anchor
    )
    return _candidates(urls, base, SyncCapability.CAPABILITY_LIST)


def of_page(page: ParsedPage) -> list[DocumentCandidate]:
    """Return the targets of the `link` elements in the head of a page."""
    urls: list[str] = []
    with suppress(SourceFault):  # an unreadable page has no links
        for node in page.head_tree.css("head link[rel][href]"):
            relations = (node.attributes.get("rel") or "").lower().split()
            if RELATION in relations:
                urls.append(node.attributes.get("href") or "")
        return _candidates(urls, page.base, SyncCapability.CAPABILITY_LIST)
    return []


def of_heading(heading: DocumentHeading) -> list[DocumentCandidate]:
    """Return the documents above a document, nearest first.

    `index` leads to the index that a document is part of; `up` to the capability list,
    or from there to the source description. Drafts used `resourcesync`.
    """
    capability = heading.facts.capability
    above = SyncCapability.CAPABILITY_LIST
    if capability is SyncCapability.CAPABILITY_LIST:
        above = SyncCapability.DESCRIPTION
    found: dict[str, DocumentCandidate] = {}
    for rel, expected in (("index", capability), ("up", above), (RELATION, above)):
        urls = (link.url for link in linked(heading.links, rel))
        for candidate in _candidates(urls, heading.url, expected):
            if candidate.url != heading.url:
                found.setdefault(candidate.url, candidate)
    return list(found.values())


def _candidates(
    urls: Iterable[str], base: str, expected: SyncCapability | None
) -> list[DocumentCandidate]:
    found: dict[str, None] = {}
    for url in islice(urls, MAX_CANDIDATES):
        with suppress(BadUri):
            found[requestable(url.strip(), base)] = None
    return [DocumentCandidate(url, expected) for url in found]
