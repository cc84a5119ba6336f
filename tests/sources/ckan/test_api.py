"""Requests of the action API, and portals found by their URLs and pages."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.sources.ckan.api import PortalAddress, PortalScope, phrase
from rdfcrawl.sources.ckan.portal import is_api_url, portal_url, recognize
from rdfcrawl.sources.ckan.values import date_time, parse_time, solr_time
from rdfcrawl.uri import BadUri
from tests.support.examples import examples

PORTAL = PortalAddress(url="https://data.example/open")


def query_of(url: str) -> dict[str, str]:
    """Return the parameters of a URL, each of which occurs once."""
    found = parse_qs(urlsplit(url).query, strict_parsing=True)
    return {key: value for key, (value,) in found.items()}


def test_a_search_has_scope_order_and_time() -> None:
    """If a part of a portal is searched, then all of it is in one filter query."""
    scope = PortalScope(organization='a "b"', group="g", q=" trees ", fq="x:1 OR y:2")
    portal = PortalAddress(url="https://data.example/open", scope=scope)
    request = portal.search(
        rows=50, start=3, sort="id asc", modified_from="2020-01-01T00:00:00.000Z"
    )
    assert request.url.startswith(
        "https://data.example/open/api/3/action/package_search?"
    )
    assert query_of(request.url) == {
        "rows": "50",
        "start": "3",
        "sort": "id asc",
        "q": "trees",
        "fq": '+(x:1 OR y:2) +(organization:"a \\"b\\"" OR owner_org:"a \\"b\\"")'
        ' +groups:"g" +metadata_modified:[2020-01-01T00:00:00.000Z TO *]',
    }
    assert not request.body


@pytest.mark.parametrize(
    ("fq", "clause"),
    [
        ("-type:harvest", "-type:harvest"),
        ("NOT a:b", "NOT a:b"),
        ("-a:b OR c:d", "+(-a:b OR c:d)"),
        ("a:b", "+(a:b)"),
        ("  ", ""),
    ],
)
def test_a_filter_keeps_its_meaning(fq: str, clause: str) -> None:
    """If clauses are added to a filter, then its meaning is unchanged."""
    assert " ".join(PortalScope(fq=fq).filters()) == clause


def test_the_key_is_sent_and_not_shown() -> None:
    """If there is a key, then it is in its header and in no text."""
    portal = PortalAddress(url="https://h.example", key="s3cret")
    for request in (portal.show("a"), portal.search_ids(["a"], rows=1)):
        assert ("Authorization", "s3cret") in request.headers
        assert "s3cret" not in repr(request) + repr(portal)
    assert "Authorization" not in dict(PORTAL.show("a").headers)


def test_what_is_too_long_for_a_url_is_posted() -> None:
    """If a query is longer than URLs are, then it is the body of a POST."""
    portal = PortalAddress(
        url="https://h.example", scope=PortalScope(fq="a:" + "b" * 3000)
    )
    request = portal.search(rows=1)
    assert request.body
    assert request.url == "https://h.example/api/3/action/package_search"
    assert json.loads(request.body)["rows"] == 1
    assert ("Content-Type", "application/json") in request.headers


@given(st.text(max_size=50))
@settings(max_examples=examples(100), deadline=None)
def test_any_name_is_one_parameter(name: str) -> None:
    """If a name is any text, then it changes nothing but its parameter."""
    safe = name.encode(errors="replace").decode()
    assert query_of(PORTAL.show(name + "x").url) == {"id": safe + "x"}
    inside = phrase(name)[1:-1]
    assert '"' not in inside.replace("\\\\", "").replace('\\"', "")


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("https://h.example", "https://h.example"),
        ("https://h.example/", "https://h.example"),
        ("https://h.example/data/", "https://h.example/data"),
        ("https://h.example/data/api/3", "https://h.example/data"),
        ("https://h.example/api/3/action/package_list?limit=1", "https://h.example"),
        ("https://h.example/api/action/package_show", "https://h.example"),
        ("https://h.example/api/2/rest/dataset/a", "https://h.example"),
        ("https://h.example/en/dataset/trees", "https://h.example/en"),
        ("https://h.example/dataset", "https://h.example"),
        ("https://h.example/dataset/?q=a", "https://h.example"),
        ("https://h.example/dataset/a.ttl", "https://h.example"),
        ("https://h.example/catalog.ttl?page=2", "https://h.example"),
        ("https://h.example/organization/a#b", "https://h.example"),
        ("HTTP://me:pw@H.example:80/group/a", "http://h.example"),
        ("https://h.example/datasets/a", "https://h.example/datasets/a"),
    ],
)
def test_the_portal_of_a_url(url: str, base: str) -> None:
    """If a URL is within a portal, then what CKAN appends is cut off."""
    assert portal_url(url) == base


def test_what_is_no_url_has_no_portal() -> None:
    """If a text is not a URL of the web, then it is a `BadUri`."""
    for text in ("", "data.example", "ftp://h.example/", "mailto:a@b"):
        with pytest.raises(BadUri):
            portal_url(text)
        assert not is_api_url(text)


# -- times -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2024-02-29T12:00:00.123999", "2024-02-29T12:00:00.123Z"),
        ("2024-02-29T12:00:00", "2024-02-29T12:00:00.000Z"),
        ("2024-02-29 12:00", "2024-02-29T12:00:00.000Z"),
        ("2024-02-29", "2024-02-29T00:00:00.000Z"),
        ("2024-02-29T01:00:00+02:00", "2024-02-28T23:00:00.000Z"),
        ("2024-02-29T01:00:00.5-0130", "2024-02-29T02:30:00.500Z"),
        ("0001-01-01T00:00:00", "0001-01-01T00:00:00.000Z"),
        ("0001-01-01T00:00:00+01:00", ""),
        ("2023-02-29T00:00:00", ""),
        ("yesterday", ""),
        ("", ""),
        (3, ""),
        (None, ""),
    ],
)
def test_times_of_the_index(text: object, written: str) -> None:
    """If a portal writes a time in any way, then the index gets its own format."""
    assert solr_time(text) == written


@given(st.text(max_size=30) | st.from_regex(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.{0,9}"))
@settings(max_examples=examples(300), deadline=None)
def test_any_text_is_a_time_or_not(text: str) -> None:
    """If a text is anything, then it is a time or none, and nothing is raised."""
    assert bool(solr_time(text)) == (parse_time(text) is not None)
    date_time(text)


# -- recognition -----------------------------------------------------------------------

CKAN_2_9 = b"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8" />
<meta name="generator" content="ckan 2.9.5" /><title>Welcome</title></head>
<body data-site-root="https://h.example/data/" data-locale-root="/data/">
<a href="/data/dataset/">Datasets</a></body></html>"""
NO_GENERATOR = b"""<html><body data-site-root="/" data-locale-root="/en/">
<a class=x href="/en/dataset/trees">Trees</a> <a href='/en/organization/'>Orgs</a>
<div data-module="select-switch"></div></body></html>"""


def test_a_portal_by_its_generator() -> None:
    """If a page names CKAN as generator, then the portal is recognized."""
    found = recognize("https://h.example/data/dataset/a", CKAN_2_9)
    assert found == "https://h.example/data"


@pytest.mark.parametrize(
    "meta",
    [
        b"<meta name='generator' content='ckan 2.8.1'>",
        b'<META content="CKAN 2.10.0" NAME=generator>',
        b"<meta name=generator content=ckan>",
    ],
)
def test_a_generator_in_any_spelling(meta: bytes) -> None:
    """If the meta element is written in another way, then it is still found."""
    assert recognize("https://h.example/", b"<html>" + meta) == "https://h.example"


def test_a_portal_by_its_templates() -> None:
    """If a page hides its generator, then three marks of the templates identify it."""
    assert (
        recognize("https://h.example/en/dataset/trees", NO_GENERATOR)
        == "https://h.example"
    )
    two = NO_GENERATOR.replace(b"data-", b"x-")
    assert recognize("https://h.example/", two) == ""


@pytest.mark.parametrize(
    "root",
    [b"https://evil.example/", b"https://h.example/other/", b"ftp://x", b"http://["],
)
def test_a_root_that_is_not_the_pages_own_is_not_believed(root: bytes) -> None:
    """If a page names another site or place as its root, then its URL decides."""
    page = CKAN_2_9.replace(b"https://h.example/data/", root)
    assert (
        recognize("https://h.example/data/dataset/a", page) == "https://h.example/data"
    )


@pytest.mark.parametrize(
    "page",
    [
        b"",
        b"<html><meta name=generator content='WordPress 6'><a href='/dataset/a'>",
        b"<p>ckan 2.9.5 is a portal; see /api/3/action/package_list",
        b'{"help": "ckan"}',
        b"<meta name=description content='ckan 2.9'>",
    ],
)
def test_other_pages_are_no_portal(page: bytes) -> None:
    """If a page only speaks of CKAN, then it is not a portal."""
    assert recognize("https://h.example/x", page) == ""


def test_an_api_url_identifies_a_portal() -> None:
    """If a URL is one of the action API, then no page is needed."""
    assert (
        recognize("https://h.example/data/api/3/action/package_show?id=a")
        == "https://h.example/data"
    )
    assert recognize("https://h.example/api/v1/things") == ""


@given(st.binary(max_size=300), st.text(max_size=20))
@settings(max_examples=examples(200), deadline=None)
def test_any_page_is_looked_at(page: bytes, url: str) -> None:
    """If page and URL are anything, then nothing is raised."""
    recognize(url, page)
    recognize("https://h.example/" + url, CKAN_2_9[:200] + page + CKAN_2_9[200:])
