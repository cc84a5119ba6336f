"""When a crawler that fetched known things must have seen a URL first.

FirstSeen_S and FirstSeen_D of Schonfeld and Shivakumar, "Sitemaps: Above and Beyond
the Crawl of Duty" (WWW 2009), section 5.2: by sitemaps, and by links.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING
from urllib.parse import urljoin

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rdfcrawl.dataweb.evolution.node import EvolvingNode
    from rdfcrawl.dataweb.evolution.truth import LinkTruth, WebTruth


def first_seen_by_links(
    truth: WebTruth, fetches: Iterable[tuple[str, float]]
) -> dict[str, float]:
    """Return when each URL that a fetched document links to was first seen.

    Args:
        truth: of the web.
        fetches: URL and time of the web of each that was answered with 200.
    """
    by_source: dict[str, list[LinkTruth]] = defaultdict(list)
    for links in truth.links.values():
        for link in links:
            by_source[link.source].append(link)
    seen: dict[str, float] = {}
    for url, at in fetches:
        known = truth.urls.get(url)
        if known is not None and known.revision(at) is not None:
            targets = (one.target for one in by_source[url] if one.span.holds(at))
            _note(seen, targets, at)
    return seen


def first_seen_by_sitemaps(
    nodes: Iterable[EvolvingNode], fetches: Iterable[tuple[str, float]]
) -> dict[str, float]:
    """Return when each URL that a fetched sitemap lists was first seen.

    Args:
        nodes: of the web.
        fetches: URL and time of the web of each response with status 200; all but
            sitemaps are ignored.
    """
    by_origin = {node.origin: node for node in nodes}
    seen: dict[str, float] = {}
    for url, at in fetches:
        origin = urljoin(url, "/").removesuffix("/")
        node = by_origin.get(origin)
        for file in node.listings.files(at) if node is not None else ():
            if origin + file.path == url:
                _note(seen, (origin + one.path.path for one in file.entries), at)
    return seen


def _note(seen: dict[str, float], urls: Iterable[str], at: float) -> None:
    for url in urls:
        seen[url] = min(at, seen.get(url, at))
