"""Tests of `rdfcrawl.uri.parse`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.core.errors import ConfigError, Fault, Reason, SourceFault
from rdfcrawl.uri import MAX_URL_CHARS, BadUri, parse_uri, requestable
from rdfcrawl.uri.parse import named_url

if TYPE_CHECKING:
    from tests.support.conformance_suites import Suites

# Pieces of which a random URL meets every rule of the parser now and then.
_PIECES = st.sampled_from(
    [
        *["http://", "https://", "HTTP:", "ftp://", "/", "//", "\\", "?", "#", "@"],
        *[":", ":80", ":443", ":080", ":8080", ":65535", ":65536", ":0", ".", ".."],
        *["%2e", "%2E", "%", "%41", "%zz", "%2f", "a", "B", "0", "1", "9", "256"],
        *["example.org", "127.0.0.1", "127.1", "0x7f", "1.2.3.4", "[::1]", "xn--", "-"],
        *["xn--mnchen-3ya", "ü", "_", "a.b", "&", "=", ";", "'", "|", "^", "[", "]"],
        *["{", "`", " ", "\t", "\n", "~", "+", "*", "\ud800", "user:pw@", "a--b", "\0"],
    ]
)
URLS = st.lists(_PIECES, max_size=12).map("".join)


def test_wpt_http_subset(suites: Suites) -> None:
    """If web-platform-tests give a URL, then it parses or is refused as they say."""
    cases = suites.checkout("wpt-url") / "tests" / "wpt" / "urltestdata.json"
    adapter = ("--adapter", "rdfcrawl.uri:parse_uri")
    assert suites.score("url_suite.py", f"wpt:{cases}", *adapter) == (446, 446)


@pytest.mark.parametrize(
    ("text", "base", "href"),
    [
        pytest.param(
            "HTTP://EXAMPLE.org:80/a", None, "http://example.org/a", id="port"
        ),
        pytest.param("b", "http://a/x/y?q#f", "http://a/x/b", id="relative"),
        pytest.param("", "http://a/x?q#f", "http://a/x?q", id="empty"),
        pytest.param("/ä", "http://a/", "http://a/%C3%A4", id="utf-8"),
        pytest.param("http://münchen/", None, "http://xn--mnchen-3ya/", id="idn"),
        pytest.param("http://2130706433/", None, "http://127.0.0.1/", id="ipv4-number"),
        pytest.param("http://a/\ud800", None, "http://a/%EF%BF%BD", id="surrogate"),
    ],
)
def test_resolves_as_browsers_do(text: str, base: str | None, href: str) -> None:
    """If a link is read, then it is resolved and serialized by the WHATWG rules."""
    assert parse_uri(text, base) == href


@pytest.mark.parametrize(
    ("text", "base"),
    [
        pytest.param("a/b", None, id="relative-to-nothing"),
        pytest.param("http://", None, id="no-host"),
        pytest.param("http://a b/", None, id="space-in-host"),
        pytest.param("\U000e0001" * 999, None, id="long-when-quoted"),
        pytest.param("http://256.1.1.1/", None, id="ipv4-overflow"),
        pytest.param("http://a:65536/", None, id="port-overflow"),
        pytest.param("x", "no url", id="bad-base"),
        pytest.param("http://a/" + "x" * 70_000, None, id="endless"),
        pytest.param("x", "http://a/" + "x" * 70_000, id="endless-base"),
    ],
)
def test_refusal_is_a_named_fault(text: str, base: str | None) -> None:
    """If a link is not a URL, then a `ValueError` that carries its fault is raised."""
    with pytest.raises(ValueError, match="bad_uri") as caught:
        parse_uri(text, base)
    assert isinstance(caught.value, SourceFault)
    assert caught.value.fault.reason is Reason.BAD_URI
    assert len(caught.value.fault.detail) <= Fault.MAX_DETAIL


@given(URLS)
def test_parse_is_idempotent(text: str) -> None:
    """If a URL was parsed, then parsing it again changes nothing."""
    try:
        href = parse_uri(text)
    except BadUri:
        return
    assert parse_uri(href) == href


@pytest.mark.parametrize(
    ("text", "url"),
    [
        pytest.param("http://a/b#c", "http://a/b", id="fragment"),
        pytest.param("http://a/ b#c#d", "http://a/%20b", id="fragment-rewritten"),
        pytest.param("http://me:pw@a/@", "http://a/@", id="userinfo"),
        pytest.param("http://a//b://c@d", "http://a//b://c@d", id="at-in-path"),
        pytest.param("http://m@a/b://c@", "http://a/b://c@", id="userinfo-at-in-path"),
        pytest.param("https://@a", "https://a/", id="empty-userinfo"),
        pytest.param("http://a/?b=%2f&a=+", "http://a/?b=%2f&a=+", id="query-kept"),
        pytest.param("http://a//b//", "http://a//b//", id="slashes-kept"),
        pytest.param("http://a/%7e%C3%a4", "http://a/%7e%C3%a4", id="escapes-kept"),
        pytest.param(b"http://a/\xc3\xa4", "http://a/%C3%A4", id="bytes"),
        pytest.param(b"http://a/\xff", "http://a/%EF%BF%BD", id="bytes-not-utf-8"),
        pytest.param("http://a/x/%2E%2e/y", "http://a/y", id="escaped-dots"),
        pytest.param("http://0x7f.1/", "http://127.0.0.1/", id="numeric-host"),
        pytest.param("http://[::1]:80/", "http://[::1]/", id="ipv6"),
    ],
)
def test_requestable_changes_only_what_it_must(text: str | bytes, url: str) -> None:
    """If a link is to be requested, then only fragment and userinfo are taken off."""
    assert requestable(text) == url


def test_requestable_resolves() -> None:
    """If a link is relative, then it is resolved against the document."""
    assert requestable("#me", "http://a/b?c#d") == "http://a/b?c"
    assert requestable(b"../e", "http://a/b/c/") == "http://a/b/e"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("mailto:me@example.org", id="mailto"),
        pytest.param("file:///etc/hostname", id="file"),
        pytest.param("sftp://a/b", id="sftp"),
        pytest.param("urn:isbn:0451450523", id="urn"),
        pytest.param("http://a/" + "x" * MAX_URL_CHARS, id="long"),
        pytest.param("http://a/" + "ä" * (MAX_URL_CHARS // 6), id="long-when-escaped"),
        pytest.param("http://a #b", id="space-before-fragment"),
        pytest.param("", id="empty"),
    ],
)
def test_requestable_refuses(text: str) -> None:
    """If a link is not to be requested, then it is refused as a bad URI."""
    with pytest.raises(BadUri):
        requestable(text)


@pytest.mark.parametrize("text", ["mailto:x@y", "me:pw@a.example", "", "a b"])
def test_names_of_hosts_are_hosts(text: str) -> None:
    """If an operator names no host, such as an address of mail, it is refused."""
    with pytest.raises(ConfigError, match="not a host"):
        named_url(text)


def test_requestable_limits_are_parameters() -> None:
    """If schemes or length are given, then they decide."""
    assert requestable("ftp://a/b", schemes=frozenset({"ftp"})) == "ftp://a/b"
    with pytest.raises(BadUri):
        requestable("http://a/b", schemes=frozenset({"ftp"}))
    assert requestable("http://a/b", max_chars=10) == "http://a/b"
    with pytest.raises(BadUri):
        requestable("http://a/bc", max_chars=10)


@given(URLS)
def test_requestable_agrees_with_the_parser(text: str) -> None:
    """If the parser is left out, then it would have changed nothing."""
    try:
        url = requestable(text)
    except BadUri:
        return
    href = parse_uri(text).partition("#")[0]
    scheme, _, rest = href.partition("://")
    authority, slash, path = rest.partition("/")
    assert url == f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"
    assert requestable(url) == url
