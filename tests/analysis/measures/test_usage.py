"""Statistics of how sites use sitemaps."""

from __future__ import annotations

from rdfcrawl.analysis.measures.uri_facts import (
    ListReading,
    SitemapFacts,
    UriFacts,
    UriListing,
)
from rdfcrawl.analysis.measures.usage import UNKNOWN_FORMAT, UsageCount, describe_habits


def sitemap(*readings: tuple[int, str], is_index: bool = False) -> SitemapFacts:
    """Return a sitemap that was read with these numbers and hashes."""
    return SitemapFacts(
        domain="a.example",
        url="map",
        is_index=is_index,
        readings=tuple(
            ListReading(started_ms=n, n_urls=number, list_hash=shown)
            for n, (number, shown) in enumerate(readings)
        ),
    )


def test_table_1_counts_listings_and_unreadable_files() -> None:
    """If sitemaps are of several formats, then table 1 has the share of each."""
    count = UsageCount()
    listings = (
        UriListing(sitemap="1", first_ms=0, format="xml", has_lastmod=True),
        UriListing(sitemap="2", first_ms=0, format="text"),
        UriListing(sitemap="3", first_ms=0, format="xml", priority=0.0),
    )
    count.add_uri(UriFacts(domain="a.example", url="u", listings=listings))
    count.add_uri(UriFacts(domain="a.example", url="v"))
    unreadable = SitemapFacts(domain="a.example", url="4", format="")
    count.add_sitemaps("a.example", [sitemap((3, "x")), unreadable])
    assert count.format_share("xml").value == 0.5
    assert count.format_share("text").value == 0.25
    assert count.format_share(UNKNOWN_FORMAT).value == 0.25
    assert count.format_share("rss").value == 0
    assert count.lastmod_share.value == 1 / 3
    assert count.changefreq_share.value == 0
    assert count.priority_share.value == 1 / 3


def test_nothing_listed_is_undefined() -> None:
    """If nothing is listed, then no share has a value."""
    count = UsageCount()
    count.add_sitemaps("a.example", [])
    assert count.format_share("xml").value is None
    assert count.lastmod_share.value is None
    assert count.top_tlds() == ([], 0)


def test_tlds_of_most_sites_come_first() -> None:
    """If sites have sitemaps, then the top domains are listed, and the tail counted."""
    count = UsageCount()
    for domain in ("a.org", "b.org", "c.com", "d.net", "e.co.uk"):
        count.add_sitemaps(domain, [sitemap((1, "x"))])
    assert count.top_tlds(2) == ([("org", 2), ("com", 1)], 2)


def test_log_structured_sitemaps_never_change() -> None:
    """If a sitemap read again has the same list, then it is log structured."""
    found = describe_habits(
        [
            sitemap((2, "x"), (2, "x")),
            sitemap((2, "y"), (3, "z")),
            sitemap((5, "once")),
            sitemap((100, "n"), is_index=True),
            sitemap(),
        ]
    )
    assert found.n_sitemaps == 4
    assert (found.n_reread, found.n_log_structured) == (2, 1)
    assert found.log_structured_share.value == 0.5
    assert describe_habits([sitemap((1, "a"))]).log_structured_share.value is None


def test_addresses_are_of_no_tld() -> None:
    """If sites have IP addresses for names, then these are counted by themselves."""
    count = UsageCount()
    for domain in ("127.0.0.1", "[::1]", "localhost", "a.example"):
        count.add_sitemaps(domain, [sitemap((1, "x"))])
    assert count.n_sites == {"": 2, "localhost": 1, "example": 1}
