"""Measures are given what the URL database knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.errors import Reason
from rdfcrawl.measures.uri_facts import (
    LastmodClaim,
    SitemapListing,
    SitemapOrigin,
    UriFacts,
    UriFetch,
)
from rdfcrawl.urldb.building import build
from rdfcrawl.urldb.database import UrlDatabase
from rdfcrawl.urldb.facts import FactReader
from tests.support.url_events import (
    LinksFound,
    ListedUrl,
    SitemapRead,
    UrlEvent,
    UrlFetched,
    write_events,
)
from tests.urldb.test_building import NORMAL, T0

if TYPE_CHECKING:
    from pathlib import Path


def test_facts_of_measures(tmp_path: Path) -> None:
    """If pages are listed, linked and fetched, then measures are given just that."""
    site = "http://a.example"
    page, seed = f"{site}/page", f"{site}/seed"
    index, child = f"{site}/index.xml", f"{site}/child.xml"
    written = (("foundBy", "index"), ("sitemapFormat", "xml"))
    named = (("foundBy", "robots"), ("sitemapFormat", "xml"), ("task", "sitemap()"))
    task = "source(run=1, payload=robots())"
    modified = "Thu, 01 Jan 1970 00:00:01 GMT"
    events: list[UrlEvent] = [
        UrlFetched(f"{site}/robots.txt", T0, facts=(("task", task),)),
        UrlFetched(index, T0, facts=named),
        SitemapRead(index, T0, (ListedUrl(child, is_sitemap=True),)),
        UrlFetched(child, T0 + 1, facts=written),
        SitemapRead(child, T0 + 1, (ListedUrl(page, "2026-01-01", None, 0.5),)),
        UrlFetched(child, T0 + 9, 304),
        SitemapRead(child, T0 + 20, (ListedUrl(seed), ListedUrl(page, "2026-01-02"))),
        LinksFound(seed, T0 + 2, (page,)),
        UrlFetched(seed, T0 + 2, facts=(("lastModified", modified),)),
        UrlFetched(page, T0 + 3, 404, fault=Reason.NOT_FOUND),
        UrlFetched(page, T0 + 4, 0, fault=Reason.ROBOTS_DISALLOWED),
        UrlFetched(page, T0 + 5, 0, fault=Reason.TIMEOUT),
    ]
    write_events(tmp_path, events)
    build(tmp_path, NORMAL)
    with UrlDatabase(tmp_path) as database:
        reader = FactReader(database)
        uris, sitemaps = list(reader.uris()), list(reader.sitemaps())
    new_year = 1_767_225_600_000
    listing = SitemapListing(sitemap=child, first_ms=T0 + 1, has_lastmod=True)
    assert uris == [
        UriFacts(
            domain="a.example",
            url=page,
            first_linked_ms=T0 + 2,
            listings=(listing,),
            claims=(
                LastmodClaim(read_ms=T0 + 1, lastmod_ms=new_year),
                LastmodClaim(read_ms=T0 + 20, lastmod_ms=new_year + 86_400_000),
            ),
            fetches=(
                UriFetch(
                    started_ms=T0 + 3,
                    status="FAILED",
                    http_status=404,
                    fault="not_found",
                ),
                UriFetch(
                    started_ms=T0 + 5, status="FAILED", http_status=0, fault="timeout"
                ),
            ),
        ),
        UriFacts(
            domain="a.example",
            url=seed,
            listings=(SitemapListing(sitemap=child, first_ms=T0 + 20),),
            fetches=(UriFetch(started_ms=T0 + 2, n_statements=3, modified_ms=1000),),
        ),
    ]
    lists = {each.url: each for each in sitemaps}
    assert list(lists) == [child, index]
    assert lists[index].is_index
    assert {each.found_by for each in sitemaps} == {SitemapOrigin.ROBOTS}
    assert {each.format for each in sitemaps} == {"xml"}
    first, same, last = lists[child].readings
    assert [x.started_ms - T0 for x in (first, same, last)] == [1, 9, 20]
    assert first.list_hash == same.list_hash != last.list_hash
    assert [x.n_urls for x in (first, same, last)] == [1, 1, 2]
