"""Facts of a crawl about each URL and each sitemap: the input of all measures.

A reader of logs yields these values, sorted by domain, then by URL. Measures, refresh
policies and reports use no other input.

URLs are in their normal form (`uri.NormalForm`), times are milliseconds since 1970,
and hashes are those of the provenance: 32 hexadecimal digits, or empty if unknown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.times import parse_http_date

if TYPE_CHECKING:
    from collections.abc import Sequence

WAS_READ: Final = frozenset({"SUCCESSFUL", "PARTIAL"})
"""Outcomes of fetches with new statements, by `sq:status`."""
REFUSALS: Final = frozenset(
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
"""Faults of URIs that were not requested, if there was no response."""
_CACHED: Final = 10_000  # dates
NO_STATEMENTS: Final = "-"
"""In place of the hash of the statements of a page without any."""
LACKING: Final = frozenset({Reason.REMOTE_CONTEXT, Reason.BAD_CONTENT_ENCODING})
"""Faults of pages that may be read completely next time."""


class SitemapOrigin(StrEnum):
    """The way a sitemap was found; the values of `rc:foundBy`."""

    ROBOTS = "robots"
    INDEX = "index"
    PING = "ping"
    GUESS = "guess"
    OPERATOR = "operator"
    DISCOVERY = "discovery"


@lru_cache(_CACHED)
def _date_ms(text: str) -> int | None:
    """Return an HTTP date in ms.

    >>> _date_ms("Thu, 01 Jan 1970 00:00:01 GMT")
    1000
    """
    moment = parse_http_date(text)
    return None if moment is None else round(moment.timestamp() * 1000)


@dataclass(frozen=True, slots=True)
class UriFetch:
    """One fetch of a URL, with any outcome.

    Attributes:
        started_ms: start of the fetch; 0: no request was sent.
        status: `sq:status` of its activity, such as `SUCCESSFUL` or `UNCHANGED`.
        http_status: of the last response; 0 without one.
        n_statements: stored statements, including those of a redirect's target.
        fault: reason of the first fault in `LACKING`, else of the first one; empty if
            there was none.
        content_hash: of the decoded body; empty for failures and for 304.
        text_hash: of the normalized text or statements.
        run: of the crawl; -1 if unknown.
        last_modified: `Last-Modified` of the response; empty if not sent.
        statements_hash: of the normalized statements.
    """

    started_ms: int
    status: str = "SUCCESSFUL"
    http_status: int = 200
    n_statements: int = 0
    fault: str = ""
    content_hash: str = ""
    text_hash: str = ""
    run: int = -1
    last_modified: str = ""
    statements_hash: str = ""

    @property
    def modified_ms(self) -> int | None:
        """`Last-Modified` in ms; None if unknown."""
        return _date_ms(self.last_modified)

    @property
    def was_requested(self) -> bool:
        """Whether it was not refused before a request."""
        return bool(self.http_status) or self.fault not in REFUSALS

    @property
    def has_statements(self) -> bool:
        """Whether its content has statements, stored by this fetch or before."""
        return self.statements_hash not in ("", NO_STATEMENTS)

    @property
    def was_read(self) -> bool:
        """Whether it was read, possibly with the stored statements; no 304."""
        is_same = self.status == "UNCHANGED" and bool(self.content_hash)
        return is_same or self.status in WAS_READ


def last_read(fetches: Sequence[UriFetch]) -> UriFetch | None:
    """Return the fetch of the present content; None if the last fetch failed.

    A 304 confirms the content that was read before, also after failures.
    """
    is_kept = False
    for fetch in reversed(fetches):
        if fetch.was_read:
            return fetch
        if fetch.status == "UNCHANGED":
            is_kept = True
        elif not is_kept:
            return None
    return None


def stored_statements(fetches: Sequence[UriFetch]) -> int | None:
    """Return how many statements of the present content a fetch of the URL stored.

    None if no fetch has stored this content. A URL that is redirected to a page may
    have had other content before.
    """
    last = last_read(fetches)
    if last is None:
        return None
    stored = (x for x in reversed(fetches) if x.status in WAS_READ)
    same = (x for x in stored if x.statements_hash == last.statements_hash)
    return next((x.n_statements for x in same), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class UriListing:
    """One sitemap that lists a URL, with its latest values for that URL.

    Attributes:
        first_ms: start of the first reading that lists the URL.
        format: `rc:sitemapFormat` of the sitemap.
        found_by: why the sitemap was read at that time, or the index that lists it.
        priority: as stated, from 0 to 1.
    """

    sitemap: str
    first_ms: int
    format: str = "xml"
    found_by: SitemapOrigin = SitemapOrigin.ROBOTS
    has_lastmod: bool = False
    changefreq: str = ""
    priority: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LastmodClaim:
    """The lastmod of a URL in sitemaps from one reading on, until the next claim.

    Attributes:
        read_ms: start of the first reading with this value.
        lastmod_ms: the greatest stated value, for a day or month its start; None if
            sitemaps no longer state one.
    """

    read_ms: int
    lastmod_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UriFacts:
    """Facts of a crawl about one URL.

    Attributes:
        domain: registered domain, or another unit of the measures.
        first_linked_ms: start of the first fetch of a page that links to the URL;
            seeds are linked from their first request on.
        linked_by: the first page that links to it; empty if unknown.
        is_led_to: it was requested because of a document other than a sitemap.
        listings: one for each sitemap that ever listed the URL, sorted by sitemap.
        claims: stated `lastmod` values, oldest first; each differs from the previous.
        is_dropped: sitemaps listed it, and none does any more.
        sitemap_reads: of a page with several fetches, the times at which sitemaps that
            list it were read, in order.
        dated_by: the sitemap that stated the greatest `lastmod` last; empty if none.
        fetches: oldest first. If only the latest are kept, the first fetch and the
            first change are unknown; all else is correct.
        refusal: reason why the last try was refused before a request; empty if it was
            not.
        cluster: representative of the duplicates of this URL, which may be the URL
            itself; empty if there are none.
        original: the page with the content of its cluster: the representative, or the
            page to which that is redirected; empty if there is no cluster.
        redirects_to: final target of its redirects, if elsewhere.
        copies: for missed content: URLs in other clusters with the same content; see
            `domain_clusters.with_clusters`.
        n_images: of a page of few words; otherwise 0.
        n_words: of a page of many links; otherwise 0.
        n_linked_words: of these, within links.
        is_error_page: its page says that there is no such page.
        is_noindex: its publisher does not want it in search engines.
        containment: for missed content: greatest share of its shingles that a longer
            page contains; see `domain_clusters.with_clusters`.
        pagerank: None if the URL is no node of the graph.
    """

    domain: str
    url: str
    first_linked_ms: int | None = None
    linked_by: str = ""
    is_led_to: bool = False
    listings: tuple[UriListing, ...] = ()
    claims: tuple[LastmodClaim, ...] = ()
    is_dropped: bool = False
    sitemap_reads: tuple[int, ...] = field(default=(), compare=False)
    dated_by: str = ""
    fetches: tuple[UriFetch, ...] = ()
    refusal: str = ""
    cluster: str = ""
    original: str = ""
    redirects_to: str = ""
    copies: tuple[str, ...] = ()
    n_images: int = 0
    n_words: int = 0
    n_linked_words: int = 0
    is_error_page: bool = False
    is_noindex: bool = False
    containment: float = 0.0
    pagerank: float | None = None

    @property
    def first_listed_ms(self) -> int | None:
        """Start of the first reading of a sitemap that lists the URL: FirstSeen_S."""
        return min((listing.first_ms for listing in self.listings), default=None)

    @property
    def is_listed(self) -> bool:
        """Whether the URL is in Seen_S: a sitemap lists it, or once did."""
        return bool(self.listings)

    @property
    def is_still_listed(self) -> bool:
        """Whether a sitemap lists the URL now."""
        return self.is_listed and not self.is_dropped

    @property
    def is_linked(self) -> bool:
        """Whether the URL is in Seen_D: a page links to it.

        URLs that no sitemap listed before their first request count as linked, such as
        targets of redirects.
        """
        return self.first_linked_ms is not None or self.is_led_to or not self.listings

    @property
    def is_crawled(self) -> bool:
        """Whether the URL was fetched, with any outcome."""
        return bool(self.fetches)

    @property
    def is_representative(self) -> bool:
        """Whether the URL represents its cluster, or has no duplicates."""
        return not self.cluster or self.cluster == self.url

    @property
    def has_failed(self) -> bool:
        """Whether the last fetch failed, for any reason."""
        last = self.fetches[-1] if self.fetches else None
        return last is not None and (last.status == "FAILED" or last.http_status >= 400)

    @property
    def is_redirect(self) -> bool:
        """Whether the last fetch redirected elsewhere."""
        is_left = bool(self.fetches) and self.fetches[-1].status == "REDIRECTED"
        return is_left or bool(self.redirects_to)

    @property
    def is_duplicate(self) -> bool:
        """Whether another URL represents the content of this one; no redirects.

        Section 5.1.2 counts redirects with the missed content.
        """
        return not self.is_representative and not self.is_redirect

    @property
    def is_copy(self) -> bool:
        """Whether another page should be listed instead of this one; no redirects.

        The target of a redirect is no copy of the URL that is redirected, even if that
        represents both.
        """
        return self.original not in ("", self.url) and not self.is_redirect


@dataclass(frozen=True, slots=True)
class ListReading:
    """One reading of a sitemap, or of a part of a large one.

    A 304 response counts, with the same list.

    Attributes:
        started_ms: start of the reading, Unix time.
        n_urls: number of listed URLs.
        list_hash: of these in order, 32 hex digits.
        is_index: it lists sitemaps; only of single parts.
    """

    started_ms: int
    n_urls: int
    list_hash: str = ""
    is_index: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapFacts:
    """Facts of a crawl about one sitemap file.

    Attributes:
        domain: of the sitemap itself.
        format: `rc:sitemapFormat`; empty if the file could not be read.
        is_index: it lists sitemaps instead of pages.
        readings: oldest first.
    """

    domain: str
    url: str
    format: str = "xml"
    is_index: bool = False
    readings: tuple[ListReading, ...] = ()
