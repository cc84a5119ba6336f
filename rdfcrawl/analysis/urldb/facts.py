"""Fill the input of measures, `UriFacts` and `SitemapFacts`, from the URL database."""

from __future__ import annotations

from array import array
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.measures.domain_clusters import PageContent, with_clusters
from rdfcrawl.analysis.measures.uri_facts import (
    LastmodClaim,
    ListReading,
    SitemapFacts,
    SitemapOrigin,
    UriFacts,
    UriFetch,
    UriListing,
)
from rdfcrawl.analysis.ranking.table import RankScore
from rdfcrawl.core.errors import Reason
from rdfcrawl.core.w3c_dates import parse_point
from rdfcrawl.rdf.fingerprints import read_sketch
from rdfcrawl.rdf.values import whole_number
from rdfcrawl.uri import BadUri, fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rdfcrawl.analysis.ranking.table import RankTable
    from rdfcrawl.analysis.urldb.database import UrlDatabase
    from rdfcrawl.analysis.urldb.record import SitemapClaim, UrlFetch, UrlRecord

RULE_TASKS: Final = frozenset({"robots", "consent"})
"""Tasks of requests that sites are asked for their rules by."""
_SOURCE_TASK: Final = "source"
_OF_ALL_SITES: Final = "/.well-known/void"

# Why nothing was asked for, if there was no answer.
_REFUSALS: Final = frozenset(
    map(
        str,
        (
            *(Reason.BAD_URI, Reason.HOST_BUDGET, Reason.DOMAIN_BUDGET),
            *(Reason.URL_TRAP, Reason.NOT_WANTED, Reason.HOST_LEFT),
            *(Reason.ROBOTS_DISALLOWED, Reason.ROBOTS_UNREACHABLE),
            *(Reason.CRAWL_DELAY_TOO_LONG, Reason.GUARD_BLOCKED, Reason.DNS_BLOCKED),
        ),
    )
)
_LEADERS: Final = frozenset({"parent", "source"})  # tell what led to a fetch
_PAGE_TASKS: Final = frozenset({"revisited", "request"})
MAX_CLUSTERED: Final = 100_000
"""URLs of a domain that are held in memory to find duplicates among them."""
_NOTHING_KNOWN: Final = PageContent(minima=array("I"))
_MAX_DEPTH: Final = 4  # of indexes of sitemaps
_CACHED: Final = 10_000  # sitemaps


class FactReader:
    """Reader of the facts of measures.

    URLs of one domain whose content is equal, or nearly so, are in one cluster, if the
    domain has at most `MAX_CLUSTERED` URLs, which are held in memory; else in none.

    Args:
        database: open, and read from its beginning by each iterator.
        ranks: scores of its URIs; None if they are not known.
        partition: only URIs of this one are told of; None: all.
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

    def uris(self, neighbour: str | None = None) -> Iterator[UriFacts]:
        """Yield the facts of all URLs but those of rules and sitemaps.

        They are sorted by registered domain, host and URL.

        Args:
            neighbour: only of those in the registered domain of this URL.
        """
        if neighbour is None:
            records = self._database.records(self._partition)
        else:
            records = self._database.neighbours(neighbour)
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
        """Return the URLs of the cluster of a URL, beginning with the representative.

        Nothing, if there are none.
        """
        normal = self._normal(url)
        found = [each for each in self.uris(normal) if each.cluster]
        chosen = next((each.cluster for each in found if each.url == normal), None)
        members = sorted(each.url for each in found if each.cluster == chosen)
        return tuple(sorted(members, key=lambda each: each != chosen))

    def _contents(self, records: Iterable[UrlRecord]) -> dict[str, PageContent]:
        """Return what is known of contents, by URL."""
        found = ((each.url, self._content_of(each)) for each in records)
        return {url: content for url, content in found if content != _NOTHING_KNOWN}

    def _content_of(self, record: UrlRecord) -> PageContent:
        redirect = self.redirect_of(record)
        return PageContent(
            minima=_minima(record.current("sketch")),
            n_shingles=whole_number(record.current("shingles")),
            redirects_to=(redirect,) if redirect else (),
            canonical=self.canonical_of(record),
        )

    def redirect_of(self, record: UrlRecord) -> str:
        """Return where the redirects of a URL end, if that is another URL."""
        end = self._normal(record.current("redirect"))
        return "" if end == record.url else end

    def canonical_of(self, record: UrlRecord) -> str:
        """Return what a page declares as its canonical URL; empty if nothing."""
        return self._normal(record.current("canonical"))

    def _normal(self, url: str) -> str:
        """Return the normal form of a URL; nothing for what has none."""
        if not url:
            return ""
        try:
            return self._database.normal_form.normalize(url)
        except BadUri:
            return ""

    def sitemaps(self) -> Iterator[SitemapFacts]:
        """Yield the facts of all sitemaps, in the same order."""
        for record in self._database.records(self._partition):
            if record.is_sitemap:
                written, found_by = self._origin(record.url)
                yield SitemapFacts(
                    domain=record.domain,
                    url=record.url,
                    format=written,
                    found_by=found_by,
                    is_index=any(each.is_index for each in record.readings),
                    readings=tuple(_readings(record)),
                )

    def facts_of(self, record: UrlRecord) -> UriFacts:
        """Return the facts of one URL."""
        return UriFacts(
            domain=record.domain,
            url=record.url,
            first_linked_ms=_first_linked_ms(record),
            listings=tuple(self._listings(record)),
            claims=tuple(_claims(record.claims, self._dropped_ms(record))),
            fetches=fetches_of(record),
            redirects_to=self.redirect_of(record),
            n_images=whole_number(record.current("images")),
            n_words=whole_number(record.current("words")),
            n_linked_words=whole_number(record.current("linkedWords")),
            is_error_page=record.current("errorPage") == "true",
            pagerank=self.pagerank_of(record.url),
        )

    def pagerank_of(self, url: str) -> float | None:
        """Return the PageRank of a URL; None if that is not known."""
        if self._ranks is None:
            return None
        return self._ranks.score(fingerprint(url), RankScore.PAGERANK)

    def _listings(self, record: UrlRecord) -> Iterator[UriListing]:
        for each in record.listings:
            written, found_by = self._origin(each.sitemap)
            yield UriListing(
                sitemap=each.sitemap,
                first_ms=each.first_ms,
                format=written,
                found_by=found_by,
                has_lastmod=bool(each.lastmod),
                changefreq=each.changefreq,
                priority=float(each.priority) if each.priority else None,
            )

    def _dropped_ms(self, record: UrlRecord) -> int | None:
        """Return the time of the reading by which no sitemap lists the URL any more."""
        found = [
            next((ms for ms in self._times(each.sitemap) if ms > each.last_ms), None)
            for each in record.listings
        ]
        known = [ms for ms in found if ms is not None]
        return max(known) if known and len(known) == len(found) else None

    def _find_times(self, sitemap: str) -> tuple[int, ...]:
        """Return when a sitemap was read, oldest first."""
        record = self._database.find(sitemap)
        return () if record is None else tuple(x.started_ms for x in record.readings)

    def _find_origin(self, sitemap: str) -> tuple[str, SitemapOrigin]:
        """Return format and origin of a sitemap."""
        record = self._database.find(sitemap)
        written = ""
        for _ in range(_MAX_DEPTH):
            if record is None:
                break
            written = written or record.latest.get("sitemapFormat", "")
            told = record.latest.get("foundBy", "")
            parent = record.latest.get("parent", "")
            if record.listed is not None and told in ("", SitemapOrigin.INDEX):
                record = self._database.find(record.listed.document)
                continue
            with suppress(ValueError):
                return written, SitemapOrigin(told)
            if parent.endswith("/robots.txt"):
                return written, SitemapOrigin.ROBOTS
            return (
                written,
                SitemapOrigin.DISCOVERY if parent else SitemapOrigin.OPERATOR,
            )
        return written, SitemapOrigin.DISCOVERY


def is_page(record: UrlRecord) -> bool:
    """Return whether a URI is neither a sitemap nor one of rules, as `robots.txt`.

    Sources that could not be read, and what all sites are asked for, count only if
    links or sitemaps lead there.
    """
    task = record.latest.get("task")
    if record.is_sitemap or task in RULE_TASKS:
        return False
    if record.linked is not None or record.listed is not None:
        return True
    return task != _SOURCE_TASK and not record.url.endswith(_OF_ALL_SITES)


def is_known_page(record: UrlRecord) -> bool:
    """Return whether a URI is a page, and listed, linked or requested as a page.

    `/.well-known/void`, parts of sources and the like were asked for unseen. What
    pages only name as other forms of themselves is seen once it is asked for.
    """
    if not is_page(record):
        return False
    if record.linked or record.listed:
        return True
    if "task" not in record.latest:
        return bool(record.fetches or record.latest)
    return record.latest["task"] in _PAGE_TASKS and "parent" not in record.latest


def _first_linked_ms(record: UrlRecord) -> int | None:
    """Return when links first led to a URI; of a seed, when it was first fetched.

    Nothing led to a seed: neither a document nor a sitemap.
    """
    times = [record.linked.first_ms] if record.linked else []
    if not _LEADERS & record.latest.keys():
        times += [each.started_ms for each in record.fetches if _was_asked(each)]
    return min(times, default=None)


def _minima(sketch: str) -> array[int]:
    """Return the minima of a sketch; none of what is no sketch."""
    try:
        return array("I", read_sketch(sketch) if sketch else ())
    except ValueError:
        return array("I")


def fetches_of(record: UrlRecord) -> tuple[UriFetch, ...]:
    """Return the fetches of a URL, but for what was refused before a request."""
    return tuple(map(_fetch, filter(_was_asked, record.fetches)))


def _was_asked(fetch: UrlFetch) -> bool:
    return bool(fetch.http_status) or fetch.fault not in _REFUSALS


def _fetch(fetch: UrlFetch) -> UriFetch:
    return UriFetch(
        started_ms=fetch.started_ms,
        status=fetch.outcome,
        http_status=fetch.http_status,
        n_statements=fetch.n_statements,
        content_hash=fetch.content_hash,
        text_hash=fetch.text_hash,
        modified_ms=_date_ms(fetch.last_modified),
        fault=fetch.fault,
    )


@lru_cache(_CACHED)
def _date_ms(text: str) -> int | None:
    """Return a date of HTTP in ms.

    >>> _date_ms("Thu, 01 Jan 1970 00:00:01 GMT")
    1000
    """
    try:
        return round(parsedate_to_datetime(text).timestamp() * 1000) if text else None
    except (ValueError, OverflowError):
        return None


def _claims(
    claims: tuple[SitemapClaim, ...], dropped_ms: int | None
) -> Iterator[LastmodClaim]:
    """Yield the claims about the last change in the order of their first readings.

    Of what several sitemaps say first in one reading, the greatest counts. A URL that
    no sitemap lists any more has no claim from then on.
    """
    first: dict[int, int | None] = {}
    for claim in claims:
        point = parse_point(claim.lastmod)
        at = None if point is None else round(point.earliest.timestamp() * 1000)
        known = first.get(claim.first_ms)
        first[claim.first_ms] = max(known, at) if known and at else at or known
    before: int | None = None
    for read_ms in sorted(first):
        if first[read_ms] != before:
            before = first[read_ms]
            yield LastmodClaim(read_ms=read_ms, lastmod_ms=before)
    if dropped_ms is not None and before is not None:
        yield LastmodClaim(read_ms=dropped_ms, lastmod_ms=None)


def _readings(record: UrlRecord) -> Iterator[ListReading]:
    """Yield the readings of a sitemap; answers of 304 repeat the one before."""
    known: dict[int, ListReading | None] = {
        each.started_ms: None
        for each in record.fetches
        if each.http_status == 304 or each.outcome == "UNCHANGED"
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
            reading = ListReading(
                started_ms=started_ms, n_urls=last.n_urls, list_hash=last.list_hash
            )
        if reading is not None:
            last = reading
            yield reading
