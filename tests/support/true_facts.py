"""Facts that a crawl must know of each URL of changing sites, from the truth alone.

Of the crawl, only its fetches are needed: URL, time, status. No body is read.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from rdfcrawl.analysis.duplicates.clusters import CanonicalCandidate, choose_canonical
from rdfcrawl.analysis.measures.uri_facts import (
    LastmodClaim,
    SitemapOrigin,
    UriFacts,
    UriFetch,
    UriListing,
)
from rdfcrawl.dataweb.evolution.sightings import first_seen_by_links
from rdfcrawl.dataweb.messages import NodeRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rdfcrawl.dataweb.evolution.listings import ListingEntry, SitemapFile
    from rdfcrawl.dataweb.evolution.node import EvolvingNode
    from rdfcrawl.dataweb.evolution.truth import WebTruth


class KnownFetch(NamedTuple):
    """One request of a crawl, with the status of its answer.

    Attributes:
        at: time of the web, in seconds without a fraction.
    """

    url: str
    at: int
    status: int = 200

    @property
    def started_ms(self) -> int:
        """The time in milliseconds, as in `UriFacts`."""
        return self.at * 1000


@dataclass(slots=True)
class _SitemapReadings:
    """Entries of one URL in the sitemaps, up to a reading."""

    listings: dict[str, UriListing] = field(default_factory=dict)
    stated: dict[str, int | None] = field(default_factory=dict)
    claims: list[LastmodClaim] = field(default_factory=list)


def true_facts(
    nodes: Sequence[EvolvingNode], truth: WebTruth, fetches: Iterable[KnownFetch]
) -> list[UriFacts]:
    """Return the facts of each URL that a crawl has seen, by host, then by URL.

    The front pages are its seeds. Clusters are of the URLs whose last fetch was read.

    Args:
        nodes: the sites.
        truth: of them.
        fetches: all of the crawl, in order; those of sitemaps and of pages.
    """
    kept = list(fetches)
    linked = first_seen_by_links(
        truth, [(one.url, one.at) for one in kept if one.status == 200]
    )
    start = min(one.at for one in kept)
    linked |= dict.fromkeys((f"{node.origin}/" for node in nodes), start)
    readings = _read_sitemaps(nodes, kept)
    by_url: dict[str, list[UriFetch]] = defaultdict(list)
    for one in kept:
        if "/sitemap" not in one.url:
            by_url[one.url].append(_fetch(nodes, one))
    clusters = _clusters(truth, by_url, readings)
    known = sorted(linked.keys() | readings.keys() | by_url.keys(), key=_order)
    return [
        UriFacts(
            domain=urlsplit(url).netloc,
            url=url,
            first_linked_ms=int(linked[url] * 1000) if url in linked else None,
            listings=tuple(
                listing for _, listing in sorted(readings[url].listings.items())
            ),
            claims=tuple(readings[url].claims),
            fetches=tuple(by_url[url]),
            cluster=clusters.get(url, ""),
        )
        for url in known
    ]


def _order(url: str) -> tuple[str, str]:
    return urlsplit(url).netloc, url


def _fetch(nodes: Iterable[EvolvingNode], one: KnownFetch) -> UriFetch:
    if one.status != 200:
        status = "UNCHANGED" if one.status == 304 else "FAILED"
        return UriFetch(
            started_ms=one.started_ms, status=status, http_status=one.status
        )
    body = document(nodes, one.url, one.at)
    digest = sha256(body).hexdigest()[:32]
    n_statements = int(b"revision" in body)
    return UriFetch(
        started_ms=one.started_ms, n_statements=n_statements, content_hash=digest
    )


def document(nodes: Iterable[EvolvingNode], url: str, at: float) -> bytes:
    """Return the body at a URL at a time."""
    node = next(one for one in nodes if url.startswith(f"{one.origin}/"))
    request = NodeRequest("GET", url.removeprefix(node.origin))
    return node.respond_at(request, at).body


def _read_sitemaps(
    nodes: Iterable[EvolvingNode], fetches: Iterable[KnownFetch]
) -> dict[str, _SitemapReadings]:
    found: dict[str, _SitemapReadings] = defaultdict(_SitemapReadings)
    by_origin = {node.origin: node for node in nodes}
    for one in fetches:
        parts = urlsplit(one.url)
        node = by_origin[f"{parts.scheme}://{parts.netloc}"]
        for file in node.listings.files(one.at) if one.status == 200 else ():
            if file.path == parts.path:
                _read(found, node, file, one)
    return found


def _read(
    found: dict[str, _SitemapReadings],
    node: EvolvingNode,
    file: SitemapFile,
    one: KnownFetch,
) -> None:
    """Record one reading of a sitemap, including entries that it no longer lists."""
    for reading in found.values():
        if one.url in reading.stated:
            reading.stated[one.url] = None
    origin = SitemapOrigin.INDEX if node.options.has_index else SitemapOrigin.ROBOTS
    for entry in file.entries:
        reading = found[node.origin + entry.path.path]
        stated = _lastmod_ms(entry)
        before = reading.stated.get(one.url)
        reading.stated[one.url] = max(
            (ms for ms in (stated, before) if ms is not None), default=None
        )
        known = reading.listings.get(one.url)
        priority = node.listings.priority(entry.path)
        reading.listings[one.url] = UriListing(
            sitemap=one.url,
            first_ms=known.first_ms if known else one.started_ms,
            found_by=origin,
            has_lastmod=stated is not None,
            changefreq=node.listings.changefreq(entry.path),
            priority=float(priority) if priority else None,
        )
    for reading in found.values():
        _claim(reading, one.started_ms)


def _claim(reading: _SitemapReadings, read_ms: int) -> None:
    stated = max((ms for ms in reading.stated.values() if ms is not None), default=None)
    last = reading.claims[-1].lastmod_ms if reading.claims else None
    if stated != last:
        reading.claims.append(LastmodClaim(read_ms=read_ms, lastmod_ms=stated))


def _lastmod_ms(entry: ListingEntry) -> int | None:
    return None if entry.lastmod is None else int(entry.lastmod) * 1000


def _clusters(
    truth: WebTruth,
    by_url: dict[str, list[UriFetch]],
    readings: dict[str, _SitemapReadings],
) -> dict[str, str]:
    """Return the representative of each URL with duplicates among those last read."""
    members: dict[str, list[str]] = defaultdict(list)
    for url, fetches in by_url.items():
        if fetches[-1].status != "FAILED" and url in truth.urls:
            members[truth.urls[url].cluster].append(url)
    found: dict[str, str] = {}
    for declared, urls in members.items():
        if len(urls) > 1:
            candidates = (_candidate(url, declared, readings) for url in urls)
            found |= dict.fromkeys(urls, choose_canonical(candidates))
    return found


def _candidate(
    url: str, declared: str, readings: dict[str, _SitemapReadings]
) -> CanonicalCandidate:
    listings = readings[url].listings.values() if url in readings else ()
    priorities = (one.priority for one in listings if one.priority is not None)
    return CanonicalCandidate(
        url=url,
        is_listed=bool(listings),
        priority=max(priorities, default=None),
        is_declared=url == declared,
    )
