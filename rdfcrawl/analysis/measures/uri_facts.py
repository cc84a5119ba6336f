"""What a crawl knows of each URL and each sitemap: the input of all measures.

Whoever reads the logs of a crawl fills these values (the crawl's memory of URIs), and
yields them sorted by domain, then by URL. Measures, refresh policies and reports read
nothing else.

URLs are in their normal form (`uri.NormalForm`), times are milliseconds since 1970, and
hashes are as in the provenance: 32 hexadecimal digits, empty where none is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class SitemapOrigin(StrEnum):
    """The way a sitemap was found; the values of `rc:foundBy`."""

    ROBOTS = "robots"
    INDEX = "index"
    PING = "ping"
    GUESS = "guess"
    OPERATOR = "operator"
    DISCOVERY = "discovery"


@dataclass(frozen=True, slots=True, kw_only=True)
class UriFetch:
    """One fetch of a URL, whatever came of it; refusals before a request are none.

    Attributes:
        started_ms: when it began.
        status: `sq:status` of its activity, as `SUCCESSFUL` or `UNCHANGED`.
        http_status: of the last response; 0 without one.
        n_statements: that were stored, under whatever URL it redirected to.
        content_hash: of the decoded body; empty for failures and for 304.
        text_hash: of the normalized text or statements.
        modified_ms: `Last-Modified` of the response.
        fault: reason of the first fault.
    """

    started_ms: int
    status: str = "SUCCESSFUL"
    http_status: int = 200
    n_statements: int = 0
    content_hash: str = ""
    text_hash: str = ""
    modified_ms: int | None = None
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapListing:
    """One sitemap that lists a URL, and what it last said of that URL.

    Attributes:
        first_ms: begin of the first reading that lists the URL.
        format: `rc:sitemapFormat` of the sitemap.
        found_by: how the sitemap was found; of one in an index, how the index was.
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
    """What sitemaps say from one reading on, until the next claim about this URL.

    Attributes:
        read_ms: begin of the reading that first said so.
        lastmod_ms: the greatest that is stated, of a day or month its begin; None if
            none is any more.
    """

    read_ms: int
    lastmod_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UriFacts:
    """What a crawl knows of one URL.

    Attributes:
        domain: registered domain, or another unit that measures are computed for.
        first_linked_ms: begin of the first fetch of a page that links to the URL;
            seeds are linked from the start of the crawl.
        listings: by each sitemap that ever listed the URL, sorted by sitemap.
        claims: stated `lastmod`s, oldest first, each one that differs from the last.
        fetches: oldest first. Where only the latest are kept, the first fetch and the
            first change are not known, and nothing else is wrong.
        cluster: URL that represents the duplicates of this one, which is its own URL
            if it represents them; empty if there are none.
        redirects_to: where its redirects end, if elsewhere.
        copies: of missed content, other URLs that hold it though they are in no
            cluster with this one: see `domain_clusters.with_clusters`.
        n_images: of a page of few words; of others, 0.
        n_words: of a page of many links; of others, 0.
        n_linked_words: of these, within links.
        is_error_page: it was answered with a page that says that there is none.
        containment: of missed content, greatest share of its shingles that a longer
            page has: see `domain_clusters.with_clusters`.
        pagerank: None if the URL is no node of the graph.
    """

    domain: str
    url: str
    first_linked_ms: int | None = None
    listings: tuple[SitemapListing, ...] = ()
    claims: tuple[LastmodClaim, ...] = ()
    fetches: tuple[UriFetch, ...] = ()
    cluster: str = ""
    redirects_to: str = ""
    copies: tuple[str, ...] = ()
    n_images: int = 0
    n_words: int = 0
    n_linked_words: int = 0
    is_error_page: bool = False
    containment: float = 0.0
    pagerank: float | None = None

    @property
    def first_listed_ms(self) -> int | None:
        """Begin of the first reading of a sitemap that lists the URL: FirstSeen_S."""
        return min((listing.first_ms for listing in self.listings), default=None)

    @property
    def is_listed(self) -> bool:
        """Whether the URL is in Seen_S: a sitemap lists it, or did so once."""
        return bool(self.listings)

    @property
    def is_linked(self) -> bool:
        """Whether the URL is in Seen_D: a page links to it.

        What no sitemap lists was found by Discovery: targets of redirects, too.
        """
        return self.first_linked_ms is not None or not self.listings

    @property
    def is_crawled(self) -> bool:
        """Whether the URL was fetched, whatever came of it."""
        return bool(self.fetches)

    @property
    def is_representative(self) -> bool:
        """Whether the URL stands for its cluster, or has no duplicates."""
        return not self.cluster or self.cluster == self.url

    @property
    def is_redirect(self) -> bool:
        """Whether the last fetch was led elsewhere."""
        is_left = bool(self.fetches) and self.fetches[-1].status == "REDIRECTED"
        return is_left or bool(self.redirects_to)

    @property
    def is_duplicate(self) -> bool:
        """Whether another URL holds the content of this one, which leads nowhere else.

        Section 5.1.2 counts redirects with the missed content.
        """
        return not self.is_representative and not self.is_redirect


@dataclass(frozen=True, slots=True, kw_only=True)
class ListReading:
    """One reading of a sitemap; answers of 304 are readings with the same list.

    Attributes:
        list_hash: of its URLs in their order; equal for equal lists.
    """

    started_ms: int
    n_urls: int
    list_hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapFacts:
    """What a crawl knows of one sitemap file.

    Attributes:
        domain: of the sitemap itself.
        format: `rc:sitemapFormat`; empty if the file could not be read as any.
        is_index: a list of sitemaps, not of pages.
        readings: oldest first.
    """

    domain: str
    url: str
    format: str = "xml"
    found_by: SitemapOrigin = SitemapOrigin.ROBOTS
    is_index: bool = False
    readings: tuple[ListReading, ...] = ()
