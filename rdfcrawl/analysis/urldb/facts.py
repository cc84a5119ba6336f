"""Read `UriFacts` and `SitemapFacts`, the input of measures, from the URL database."""

from __future__ import annotations

from bisect import bisect_right
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, groupby, islice
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.measures.domain_clusters import PageContent, with_clusters
from rdfcrawl.analysis.measures.uri_facts import (
    ListReading,
    SitemapFacts,
    SitemapOrigin,
    UriFacts,
    UriFetch,
    UriListing,
)
from rdfcrawl.analysis.urldb.claims import iter_claims, lastmod_ms
from rdfcrawl.analysis.urldb.record import (
    AGAIN,
    BY_LINK,
    BY_REDIRECT,
    NOINDEX,
    SEED,
    find_sitemap,
)
from rdfcrawl.core.records import RankScore
from rdfcrawl.rdf.fingerprints import Sketch, read_sketch
from rdfcrawl.rdf.terms import whole_number
from rdfcrawl.uri import BadUri, fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rdfcrawl.analysis.ranking.table import RankTable
    from rdfcrawl.analysis.urldb.database import UrlDatabase
    from rdfcrawl.analysis.urldb.record import (
        FirstSeen,
        UrlListing,
        UrlRecord,
    )

RULE_TASKS: Final = frozenset({"robots", "consent"})
"""Tasks of requests for the rules of sites."""
_SOURCE_TASK: Final = "source"
_INDEX: Final = frozenset({"", str(SitemapOrigin.INDEX)})
_OF_ALL_SITES: Final = "/.well-known/void"

MAX_CLUSTERED: Final = 100_000
"""Maximum number of URLs of a domain that are searched for duplicates, in memory."""
_UNKNOWN: Final = PageContent()
_MAX_DEPTH: Final = 4  # of sitemap indexes
_CACHED: Final = 10_000  # readings of sitemaps
_HELD: Final = 1000  # records of sitemaps


class FactReader:
    """Reader of the facts of measures.

    URLs of one domain with equal or nearly equal content form a cluster, if the domain
    has at most `MAX_CLUSTERED` URLs, which are held in memory; otherwise there are no
    clusters.

    Args:
        database: open; each iterator reads it from the start.
        ranks: scores of its URIs; None if unknown.
        partition: read only URIs of this one; None: all.
    """

    def __init__(
        self,
        database: UrlDatabase,
        ranks: RankTable | None = None,
        partition: str | None = None,
    ) -> None:
        self._database, self._ranks = database, ranks
        self._partition = partition
        self._origin = lru_cache(_CACHED)(self._find_origin)
        self._times = lru_cache(_CACHED)(self._find_times)
        self._reads = lru_cache(_CACHED)(self._find_reads)
        self._sitemap = lru_cache(_HELD)(database.find)

    def uris(self, records: Iterable[UrlRecord] | None = None) -> Iterator[UriFacts]:
        """Yield the facts of all URLs except those of rules and sitemaps.

        They are sorted by registered domain, host and URL.

        Args:
            records: of all URLs of some domains, in this order; by default of all.
        """
        if records is None:
            records = self._database.records(self._partition)
        pages = filter(is_known_page, records)
        for _, of_domain in groupby(pages, key=attrgetter("domain")):
            yield from self._of_domain(of_domain)

    def _of_domain(self, records: Iterator[UrlRecord]) -> Iterator[UriFacts]:
        held = list(islice(records, MAX_CLUSTERED + 1))
        if len(held) <= MAX_CLUSTERED:
            facts = [self.facts_of(each) for each in held]
            yield from with_clusters(facts, self._contents(held))
        else:
            yield from map(self.facts_of, chain(held, records))

    def duplicates(self, url: str) -> tuple[str, ...]:
        """Return the URLs of the cluster of a URL, starting with the representative.

        Empty if there are no duplicates.
        """
        normal = self._normal(url)
        neighbours = self._database.neighbours(normal)
        found = [each for each in self.uris(neighbours) if each.cluster]
        chosen = next((each.cluster for each in found if each.url == normal), None)
        members = sorted(each.url for each in found if each.cluster == chosen)
        return tuple(sorted(members, key=lambda each: each != chosen))

    def _contents(self, records: Iterable[UrlRecord]) -> dict[str, PageContent]:
        """Return the known contents by URL."""
        found = ((each.url, self._content_of(each)) for each in records)
        return {url: content for url, content in found if content != _UNKNOWN}

    def _content_of(self, record: UrlRecord) -> PageContent:
        redirect = self.redirect_of(record)
        return PageContent(
            sketch=_sketch(record.current("sketch")),
            n_shingles=whole_number(record.current("shingles")),
            redirects_to=(redirect,) if redirect else (),
            canonical=self.canonical_of(record),
        )

    def redirect_of(self, record: UrlRecord) -> str:
        """Return the final target of the redirects of a URL, if it is another URL."""
        end = self._normal(record.current("redirect"))
        return "" if end == record.url else end

    def end_of(self, facts: UriFacts) -> UriFacts:
        """Return the facts of the page to which a URL is redirected, or its own."""
        is_left = bool(facts.fetches) and facts.fetches[-1].status == "REDIRECTED"
        target = self._database.find(facts.redirects_to) if is_left else None
        return facts if target is None else self.facts_of(target)

    def canonical_of(self, record: UrlRecord) -> str:
        """Return the declared canonical URL of a page; empty if there is none."""
        return self._normal(record.current("canonical"))

    def _normal(self, url: str) -> str:
        """Return the normal form of a URL; empty if it is invalid."""
        if not url:
            return ""
        try:
            return self._database.normal_form.normalize(url)
        except BadUri:
            return ""

    def sitemaps(self) -> Iterator[SitemapFacts]:
        """Yield the facts of all sitemaps, in the same order."""
        for record in self._database.records(self._partition, find_sitemap):
            if not record.is_sitemap or self._leads_to_sitemap(record):
                continue
            if _was_found(record):
                yield SitemapFacts(
                    domain=record.domain,
                    url=record.url,
                    format=record.latest.get("sitemapFormat", ""),
                    is_index=any(each.is_index for each in record.readings),
                    readings=tuple(_readings(record)),
                )

    def _leads_to_sitemap(self, record: UrlRecord) -> bool:
        """Return whether a URL has only ever redirected to a sitemap."""
        if record.readings or not (end := self.redirect_of(record)):
            return False
        target = self._sitemap(end)
        return target is not None and target.is_sitemap

    def facts_of(self, record: UrlRecord) -> UriFacts:
        """Return the facts of one URL."""
        return UriFacts(
            domain=record.domain,
            url=record.url,
            first_linked_ms=_first_linked_ms(record),
            linked_by=record.linked.document if record.linked else "",
            is_led_to=not record.latest.keys().isdisjoint((BY_LINK, BY_REDIRECT)),
            listings=tuple(self._listings(record)),
            claims=tuple(iter_claims(record, self._times)),
            is_dropped=self._dropped_ms(record.listings) is not None,
            sitemap_reads=self._sitemap_reads(record),
            dated_by=_dated_by(record),
            fetches=fetches_of(record),
            refusal=_refusal(record),
            redirects_to=self.redirect_of(record),
            n_images=whole_number(record.current("images")),
            n_words=whole_number(record.current("words")),
            n_linked_words=whole_number(record.current("linkedWords")),
            is_error_page=record.current("errorPage") == "true",
            is_noindex=record.current(NOINDEX) == "true",
            pagerank=self.pagerank_of(record.url),
        )

    def pagerank_of(self, url: str) -> float | None:
        """Return the PageRank of a URL; None if unknown."""
        if self._ranks is None:
            return None
        return self._ranks.score(fingerprint(url), RankScore.PAGERANK)

    def _listings(self, record: UrlRecord) -> Iterator[UriListing]:
        """Yield the known listings of a URL, including the first one."""
        first = record.listed
        if first and all(x.sitemap != first.document for x in record.listings):
            yield self._first_listing(first)
        for each in record.listings:
            yield UriListing(
                sitemap=each.sitemap,
                first_ms=each.first_ms,
                format=self._format(each.sitemap),
                found_by=self._origin(each.sitemap, each.first_ms),
                has_lastmod=bool(each.lastmod),
                changefreq=each.changefreq,
                priority=float(each.priority) if each.priority else None,
            )

    def _first_listing(self, first: FirstSeen) -> UriListing:
        return UriListing(
            sitemap=first.document,
            first_ms=first.first_ms,
            format=self._format(first.document),
            found_by=self._origin(first.document, first.first_ms),
        )

    def _dropped_ms(self, listings: Sequence[UrlListing]) -> int | None:
        """Return the time of the reading since which no sitemap has its listing."""
        found = [
            next((ms for ms in self._times(each.sitemap) if ms > each.last_ms), None)
            for each in listings
        ]
        known = [ms for ms in found if ms is not None]
        return max(known) if known and len(known) == len(found) else None

    def _sitemap_reads(self, record: UrlRecord) -> tuple[int, ...]:
        if len(record.fetches) < 2:
            return ()
        times = (self._reads(each.sitemap) for each in record.listings)
        return tuple(sorted(set(chain.from_iterable(times))))

    def _find_reads(self, sitemap: str) -> tuple[int, ...]:
        """Return the times of all readings of a sitemap, changed or not."""
        record = self._sitemap(sitemap)
        return () if record is None else tuple(x.started_ms for x in _readings(record))

    def _find_times(self, sitemap: str) -> tuple[int, ...]:
        """Return the times at which lists of a sitemap were stored, oldest first."""
        record = self._sitemap(sitemap)
        return () if record is None else tuple(x.started_ms for x in record.readings)

    def _find_origin(self, sitemap: str, time_ms: int) -> SitemapOrigin:
        """Return the origin of a reading of a sitemap, or of the index that led there.

        Args:
            sitemap: its URL.
            time_ms: start of the reading.
        """
        for _ in range(_MAX_DEPTH):
            record = self._sitemap(sitemap)
            if record is None:
                break
            place = bisect_right(record.origins, time_ms, key=itemgetter(0))
            found_by = record.origins[max(place - 1, 0)][1] if record.origins else ""
            above = record.listed.document if record.listed else ""
            if found_by == SitemapOrigin.INDEX:
                above = above or record.latest.get("parent", "")
            if above and found_by in _INDEX:
                sitemap = above
                continue
            with suppress(ValueError):
                return SitemapOrigin(found_by)
            parent = record.latest.get("parent", "")
            if parent.endswith("/robots.txt"):
                return SitemapOrigin.ROBOTS
            return SitemapOrigin.DISCOVERY if parent else SitemapOrigin.OPERATOR
        return SitemapOrigin.DISCOVERY

    def _format(self, sitemap: str) -> str:
        """Return the format of a sitemap; empty if it was not read."""
        record = self._sitemap(sitemap)
        return "" if record is None else record.latest.get("sitemapFormat", "")


def is_page(record: UrlRecord) -> bool:
    """Return whether a URI is neither a sitemap nor one of rules, such as `robots.txt`.

    Unreadable sources, and URIs that are requested from all sites, count only if links
    or sitemaps lead there, or if they were requested as pages before.
    """
    task = record.latest.get("task")
    if record.is_sitemap or task in RULE_TASKS:
        return False
    if record.linked or record.listed or record.was_page:
        return True
    return task != _SOURCE_TASK and not record.url.endswith(_OF_ALL_SITES)


def is_known_page(record: UrlRecord) -> bool:
    """Return whether a URI is a page, and listed, linked or requested as a page.

    No later request changes that. `/.well-known/void`, parts of sources and the like
    were requested without a link. Other forms of a page, which only the page names,
    count once they are requested.
    """
    if not is_page(record):
        return False
    if record.linked or record.listed or record.was_page:
        return True
    if "task" in record.latest or record.is_only_of_source:
        return False
    return bool(record.fetches or record.latest)


def _was_found(record: UrlRecord) -> bool:
    """Return whether a sitemap was read, or is named by something else than a guess."""
    is_guess = {each for _, each in record.origins} == {SitemapOrigin.GUESS}
    return not is_guess or any(200 <= x.http_status < 400 for x in record.fetches)


def _first_linked_ms(record: UrlRecord) -> int | None:
    """Return the time when links first led to a URI; for a seed, its first request."""
    times = [record.linked.first_ms] if record.linked else []
    is_target = record.latest.get(SEED) == AGAIN and BY_REDIRECT in record.latest
    if SEED in record.latest and not is_target:
        times.append(record.latest_ms[SEED])
    return min(times, default=None)


def _sketch(text: str) -> Sketch | None:
    """Return a sketch; None if there is none, or it is invalid."""
    try:
        return read_sketch(text)
    except ValueError:
        return None


def _refusal(record: UrlRecord) -> str:
    """Return why the last try was refused before a request; empty if it was not."""
    last = record.fetches[-1] if record.fetches else None
    return "" if last is None or last.was_requested else last.fault


def fetches_of(record: UrlRecord) -> tuple[UriFetch, ...]:
    """Return the fetches of a URL, without refusals before a request."""
    return tuple([each for each in record.fetches if each.was_requested])


def _dated_by(record: UrlRecord) -> str:
    """Return the sitemap that stated the greatest lastmod last; the first by name."""
    dated = [each for each in record.listings if each.lastmod]
    if len(dated) < 2:
        return dated[0].sitemap if dated else ""
    return max(dated, key=lambda each: lastmod_ms(each.lastmod) or 0).sitemap


def _readings(record: UrlRecord) -> Iterator[ListReading]:
    """Yield the readings of a sitemap; a 304 repeats the previous reading."""
    known: dict[int, ListReading | None] = {
        each.started_ms: None
        for each in record.fetches
        if each.status == "UNCHANGED"
        or (each.http_status == 304 and each.status != "REDIRECTED")
    }
    by_time = groupby(record.readings, attrgetter("started_ms"))
    for started_ms, group in by_time:
        parts = list(group)
        hashes = "".join(part.list_hash for part in parts).encode()
        one = parts[0].list_hash
        known[started_ms] = ListReading(
            started_ms=started_ms,
            n_urls=sum(part.n_urls for part in parts),
            list_hash=one if len(parts) == 1 else blake2b(hashes).hexdigest()[:32],
        )
    last: ListReading | None = None
    for started_ms in sorted(known):
        reading = known[started_ms]
        if reading is None and last is not None:
            reading = replace(last, started_ms=started_ms)
        if reading is not None:
            last = reading
            yield reading
