"""Properties derived from the facts of a URL."""

from __future__ import annotations

from rdfcrawl.analysis.measures.uri_facts import UriFacts, UriFetch, UriListing

URL = "https://a.example/x"
EARLY = UriListing(sitemap="https://a.example/1.xml", first_ms=5)
LATE = UriListing(sitemap="https://a.example/0.xml", first_ms=9)


def facts(**known: object) -> UriFacts:
    """Return facts of one URL."""
    return UriFacts(domain="a.example", url=URL, **known)  # type: ignore[arg-type]


def test_url_of_both_ways_is_in_both() -> None:
    """If a sitemap lists a URL and a page links to it, then it is seen both ways."""
    both = facts(first_linked_ms=7, listings=(LATE, EARLY))
    assert both.is_listed
    assert both.is_linked
    assert both.first_listed_ms == 5


def test_url_of_no_known_way_is_of_discovery() -> None:
    """If neither way is known, as of a redirect's target, then Discovery found it."""
    target = facts(fetches=(UriFetch(started_ms=1),))
    assert target.is_linked
    assert not target.is_listed
    assert target.first_listed_ms is None


def test_listed_url_is_not_linked() -> None:
    """If only a sitemap names a URL, then Discovery has not seen it."""
    assert not facts(listings=(EARLY,)).is_linked


def test_representative_is_alone_or_names_itself() -> None:
    """If a URL has duplicates, then it stands for them only under its own name."""
    assert facts().is_representative
    assert facts(cluster=URL).is_representative
    assert not facts(cluster="https://a.example/other").is_representative
