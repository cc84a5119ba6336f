"""URLs that strangers ping."""

from __future__ import annotations

import pytest

from rdfcrawl.monitor.pings.judging import MAX_URL_CHARS, PingRefused, sitemap_url
from rdfcrawl.uri.guard.policy import Guard, parse_networks

PUBLIC = "https://example.org/sitemap.xml"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("", 400),
        ("sitemap.xml", 400),
        ("//example.org/sitemap.xml", 400),
        ("file:///etc/passwd", 400),
        ("gopher://example.org/", 400),
        ("javascript:alert(1)", 400),
        ("http://", 400),
        ("http://exa mple.org/", 400),
        ("http://example.org/\r\nHost: x", 400),
        ("http://example.org/\0", 400),
        ("http://user:password@example.org/", 400),
        ("HTTP:\\\\user@example.org/", 400),
        (f"http://example.org/{'x' * MAX_URL_CHARS}", 400),
        (f"http://example.org/{'ü' * 1000}", 400),
        ("http://localhost/", 403),
        ("http://127.0.0.1/", 403),
        ("http://2130706433/", 403),
        ("http://0x7f.1/", 403),
        ("http://[::1]/", 403),
        ("http://[::ffff:127.0.0.1]/", 403),
        ("http://10.0.0.1/sitemap.xml", 403),
        ("http://169.254.169.254/latest/meta-data/", 403),
        ("http://example.org:22/", 403),
        ("ftp://192.168.0.1/sitemap.xml", 403),
    ],
    ids=lambda x: x[:40] if isinstance(x, str) else None,
)
def test_urls_that_are_no_sitemap_of_a_public_host_are_refused(
    text: str, status: int
) -> None:
    """If a ping is no URL of the public web, then it is refused before it is kept."""
    with pytest.raises(PingRefused) as refused:
        sitemap_url(text, Guard())
    assert refused.value.answer.status == status
    assert "GUARD" not in refused.value.answer.text  # its configuration is not shown


def test_spellings_of_a_url_are_one() -> None:
    """If a URL is spelled in another way, then it is the same sitemap."""
    for text in (PUBLIC, "HTTPS://Example.ORG:443/sitemap.xml#top"):
        assert sitemap_url(text, Guard()) == PUBLIC
    assert sitemap_url("ftp://example.org/s.txt", Guard()) == "ftp://example.org/s.txt"


def test_guard_may_let_an_address_through() -> None:
    """If the operator allows a network, then its hosts may ping."""
    guard = Guard(allow_nets=parse_networks(["10.0.0.0/8"]))
    assert sitemap_url("http://10.0.0.1/s", guard) == "http://10.0.0.1/s"


@pytest.mark.parametrize("sign", ["x", "\u00fc"])
def test_longest_url_is_taken(sign: str) -> None:
    """If a URL has as many characters as may be, then it is taken; one more is not."""
    begin = f"http://example.org/{sign * 100}"
    n_begin = len(sitemap_url(begin, Guard()))  # escapes count
    longest = begin + "x" * (MAX_URL_CHARS - n_begin)
    assert len(sitemap_url(longest, Guard())) == MAX_URL_CHARS
    with pytest.raises(PingRefused) as refused:
        sitemap_url(f"{longest}x", Guard())
    assert refused.value.answer.status == 400
