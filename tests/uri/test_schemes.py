"""Schemes of users: their URLs, and the pages that may link to them."""

from __future__ import annotations

import pytest
from hypothesis import given

from rdfcrawl.uri import (
    BadUri,
    HostGrouping,
    NormalForm,
    PolitenessKey,
    compact,
    expand,
    parse_uri,
    requestable,
)
from rdfcrawl.uri.hosts import port_of
from rdfcrawl.uri.parse import SchemePolicy, seed_url
from tests.uri.test_parse import URLS

NORMAL_FORM = NormalForm()


@pytest.mark.parametrize(
    ("text", "url", "normal"),
    [
        ("S3://Bucket", "s3://Bucket/", "s3://bucket/"),
        ("s3://b?x", "s3://b/?x", "s3://b/?x"),
        ("s3://b/?", "s3://b/?", "s3://b/?"),
        ("s3://b/a/../B/%7e%2f#f", "s3://b/B/%7e%2f", "s3://b/B/~%2F"),
        ("s3://b/x?b=%7e&a=1&&sid=2", "s3://b/x?b=%7e&a=1&&sid=2", "s3://b/x?b=~&a=1&&sid=2"),
        ("s3://me:pw@b:90/k", "s3://b:90/k", "s3://b:90/k"),
        ("s3:///k", "s3:///k", "s3:///k"),
        ("file://LAB/a b", "file://lab/a%20b", "file://lab/a%20b"),
    ],
)  # fmt: skip
def test_forms(text: str, url: str, normal: str) -> None:
    """If a URL is of another scheme, then RFC 3986 alone says which one it is."""
    assert seed_url(text) == url
    assert NORMAL_FORM.normalize(url) == normal
    assert NORMAL_FORM.normalize(normal) == normal
    key = PolitenessKey().of(url)
    assert expand(compact(url, key), key) == url


@given(URLS)
def test_forms_of_any_text(text: str) -> None:
    """If a text is a URL of another scheme, then its forms are unchanged."""
    try:
        url = seed_url(f"s3://{text}")
    except BadUri:
        return
    assert seed_url(url) == url
    normal = NORMAL_FORM.normalize(url)
    assert NORMAL_FORM.normalize(normal) == normal
    assert parse_uri(normal) == normal


@pytest.mark.parametrize(
    "text", ["mailto:a@b.example", "urn:x:y", "data:,x", "localhost:80/a", "a.example"]
)
def test_urls_without_authority(text: str) -> None:
    """If a text has no authority, then it is not a seed, with any scheme."""
    with pytest.raises(BadUri):
        seed_url(text)


@pytest.mark.parametrize(
    ("link", "base", "url"),
    [
        ("x", "s3://b/k/l", "s3://b/k/x"),
        ("s3://other", "s3://b/", "s3://other/"),
        ("http://a.example", "s3://b/", "http://a.example/"),
        ("s3://b/x", "http://a.example/", None),
        ("s3://b/x", "s30://b/", None),
        ("file:///x", "s3://b/", None),
        ("mailto:a@b", "s3://b/", None),
        ("s3://b/x", None, None),
    ],
)
def test_links_keep_the_scheme(link: str, base: str | None, url: str | None) -> None:
    """If a base is of another scheme, then links may be, too, and no others."""
    if url is not None:
        assert requestable(link, base) == url
        return
    with pytest.raises(BadUri):
        requestable(link, base)


def test_schemes_of_a_document() -> None:
    """If a document is of the Web, then it leads to what `from_web` has, no more."""
    policy = SchemePolicy(frozenset({"s3", "file"}), frozenset({"s3"}))
    assert policy.of_links("https://a.example/") & policy.own == {"s3"}
    assert policy.of_links("file://lab/") & policy.own == {"s3", "file"}
    assert policy.of_links("gopher://a.example/") & policy.own == {"s3"}
    assert policy.of_seeds >= {"http", "ftps", "s3", "file"}


@pytest.mark.parametrize("grouping", list(HostGrouping))
def test_keys(grouping: HostGrouping) -> None:
    """If a scheme is not one of the Web, then its hosts have keys of their own."""
    keys = PolitenessKey(grouping, {"b": "192.0.2.1"}.get)
    assert keys.of("s3://B:90/x") == "s3!b"
    assert keys.of("file:///x") == "file!"
    assert keys.of("http://b/") != "s3!b"
    assert port_of("s3://b:90/x") == 90
