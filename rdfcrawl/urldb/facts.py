"""Fill the input of measures, `UriFacts` and `SitemapFacts`, from the URL database."""

from __future__ import annotations

from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import lru_cache
from hashlib import blake2b
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from rdfcrawl.errors import Reason
from rdfcrawl.measures.uri_facts import (
    LastmodClaim,
    ListReading,
    SitemapFacts,
    SitemapListing,
    SitemapOrigin,
    UriFacts,
    UriFetch,
)
from rdfcrawl.ranking.table import RankScore
from rdfcrawl.sitemaps.dates import parse_point
from rdfcrawl.uri import fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.ranking.table import RankTable
    from rdfcrawl.urldb.database import UrlDatabase
    from rdfcrawl.urldb.record import SitemapClaim, UrlFetch, UrlRecord

RULE_TASKS: Final = frozenset({"robots", "consent"})
"""Tasks of requests that sites are asked for their rules by."""

# Why nothing was asked for, if there was no answer.
_REFUSALS: Final = frozenset(
    map(
        str,
        (
            *(Reason.BAD_URI, Reason.HOST_BUDGET, Reason.DOMAIN_BUDGET),
            *(Reason.URL_TRAP, Reason.NOT_WANTED, Reason.HOST_LEFT),
            *(Reason.ROBOTS_DISALLOWED, Reason.ROBOTS_UNREACHABLE),
            *(Reason.CRAWL_DELAY_TOO_LONG, Reason.GUARD_BLOCKED),
        ),
    )
)
_MAX_DEPTH: Final = 4  # of indexes of sitemaps
_CACHED: Final = 10_000  # sitemaps


class FactReader:
    """Reader of the facts of measures.

    Clusters are not known here.

    Args:
        database: open, and read from its beginning by each iterator.
        ranks: scores of its URIs; None if they are not known.
    """

    def __init__(self, database: UrlDatabase, ranks: RankTable | None = None) -> None:
        self._database, self._ranks = database, ranks
        self._origin = lru_cache(_CACHED)(self._find_origin)

    def uris(self) -> Iterator[UriFacts]:
        """Yield the facts of all URLs but those of rules and sitemaps.

        They are sorted by registered domain, host and URL.
        """
        for record in self._database.records():
            if is_page(record):
                yield self.facts_of(record)

    def sitemaps(self) -> Iterator[SitemapFacts]:
        """Yield the facts of all sitemaps, in the same order."""
        for record in self._database.records():
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
            first_linked_ms=record.linked.first_ms if record.linked else None,
            listings=tuple(self._listings(record)),
            claims=tuple(_claims(record.claims)),
            fetches=tuple(map(_fetch, filter(_was_asked, record.fetches))),
            pagerank=self._pagerank(record.url),
        )

    def _pagerank(self, url: str) -> float | None:
        if self._ranks is None:
            return None
        return self._ranks.score(fingerprint(url), RankScore.PAGERANK)

    def _listings(self, record: UrlRecord) -> Iterator[SitemapListing]:
        for each in record.listings:
            written, found_by = self._origin(each.sitemap)
            yield SitemapListing(
                sitemap=each.sitemap,
                first_ms=each.first_ms,
                format=written,
                found_by=found_by,
                has_lastmod=bool(each.lastmod),
                changefreq=each.changefreq,
                priority=float(each.priority) if each.priority else None,
            )

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
    """Return whether a URI is neither a sitemap nor one of rules, as `robots.txt`."""
    return not record.is_sitemap and record.latest.get("task") not in RULE_TASKS


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


def _claims(claims: tuple[SitemapClaim, ...]) -> Iterator[LastmodClaim]:
    """Yield the claims about the last change in the order of their first readings.

    Of what several sitemaps say first in one reading, the greatest counts.
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
