"""Portals of DCAT catalogs by their URLs and pages."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.sources.dcat_portals import catalog_url, is_catalog_url
from tests.support.examples import examples

HUB = "/api/feed/dcat-us/1.1.json"
ODS = "/api/explore/v2.1/catalog/exports/dcat"
CDN = b"https://hubcdn.arcgis.com/opendata-ui"


@pytest.mark.parametrize(
    ("page", "path"),
    [
        (b'<link href="%s/assets/vendor-1.css" rel=stylesheet>' % CDN, HUB),
        (b"<script defer src=%s/assets/chunk.1.js?v=2></script>" % CDN, HUB),
        (b'<meta name="opendata-ui/config/environment" content="%7B">', HUB),
        (b"<script>window.socrata.featureFlags = {};</script>", "/data.json"),
        (b'<nav id=n class="a ods-front-header b" breakpoint="9">', ODS),
        (b"<header class=ods-front-header>", ODS),
    ],
)
def test_a_page_shows_its_portal(page: bytes, path: str) -> None:
    """If a page has the mark of a platform, then the catalog is on its host."""
    url = "https://h.example:8443/en/pages/home?x=/api/"
    assert catalog_url(url, b"<html>" + page) == "https://h.example:8443" + path


@pytest.mark.parametrize(
    "page",
    [
        b"",
        b'<img src="%s/assets/logo.png">' % CDN,
        b'<link rel=icon href="%s/assets/favicon.ico">' % CDN,
        b"<a href='%s/assets/vendor-1.js'>a script of opendata-ui/</a>" % CDN,
        b"<p>A portal sets socrata.featureFlags in its pages",
        b"<style>.ods-front-header{height:9px}</style>",
        b'<nav class="ods-front-header__menu">',
        b'<p class="ods-front-header">',
        b" " * 300_000 + b"<nav class=ods-front-header>",
    ],
)
def test_other_pages_show_no_portal(page: bytes) -> None:
    """If a page only refers to a platform, then it is not a portal."""
    assert catalog_url("https://h.example/", page) == ""


@pytest.mark.parametrize(
    ("path", "catalog"),
    [
        ("/api/search/v1/collections/dataset/items?limit=9", HUB),
        ("/api/feed/rss/2.0", HUB),
        ("/resource/abcd-1234.json?$limit=1", "/data.json"),
        ("/api/views/abcd-1234/rows.csv", "/data.json"),
        ("/api/views/abcd-1234", "/data.json"),
        ("/api/explore/v2.1/catalog/datasets/trees/records", ODS),
        ("/api/v2/catalog/datasets/", ODS),
        ("/api/records/1.0/search/?dataset=trees", ODS),
        ("/api/datasets/1.0/search", ODS),
        ("/api/explore/v2.1/catalog/exports/csv", ODS),
    ],
)
def test_a_url_of_an_api_shows_its_portal(path: str, catalog: str) -> None:
    """If a URL has a path of an API, then no page is needed."""
    assert catalog_url("https://h.example" + path) == "https://h.example" + catalog


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/api/", "/api/search/v1", "/api/views/", "/api/views/abcd-12345"),
        *("/resource/blue-book", "/resource/blue-book.rdf", "/x/api/feed/rss/2.0"),
        *("/api/feed/rss", "/api/explore/v1/catalog", "/api/v2/catalogs/datasets"),
        *("/x?/api/feed/rss/2.0", "/api/3/action/package_list"),
    ],
)
def test_other_urls_show_no_portal(path: str) -> None:
    """If a path is only similar, then it is not of an API."""
    assert catalog_url("https://h.example" + path) == ""
    assert not is_catalog_url("https://h.example" + path)


@pytest.mark.parametrize(
    "path",
    [
        *("/data.json", "/data.json?x", HUB, HUB + "?q=lakes", "/api/feed/dcat-us/1.1"),
        *("/api/feed/dcat-ap/2.1.1.json", "/api/feed/dcat-ap/3.0.0"),
        *(ODS, ODS + "_ap_de?lang=fr", "/api/v2/catalog/exports/data.json"),
        *("/api/v2/catalog/exports/rdf", "/api/explore/v2.0/catalog/exports/ttl"),
    ],
)
def test_a_catalog_is_its_own(path: str) -> None:
    """If a URL is that of a catalog, in any form of DCAT, then it is the result."""
    assert catalog_url("https://h.example" + path) == "https://h.example" + path
    assert is_catalog_url("https://h.example" + path)


@given(st.binary(max_size=300), st.text(max_size=20))
@settings(max_examples=examples(200), deadline=None)
def test_any_page_is_looked_at(page: bytes, url: str) -> None:
    """If page and URL are anything, then nothing is raised."""
    catalog_url(url, page)
    catalog_url(
        "https://h.example/" + url, b"<nav class=" + page + b"ods-front-header>"
    )
