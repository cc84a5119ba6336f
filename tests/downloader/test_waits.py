"""`Retry-After`, back-off, and where a redirect leads."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.times import parse_retry_after
from rdfcrawl.downloader.redirects import resolve_redirect
from rdfcrawl.downloader.retry_policy import backoff_secs

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "secs"),
    [
        ("0", 0.0),
        (" 120 ", 120.0),
        ("9" * 400, 999_999_999_999.0),
        ("Thu, 01 Jan 2026 12:01:00 GMT", 60.0),
        ("Thu, 01 Jan 2026 12:01:00", 60.0),
        ("Thursday, 01-Jan-26 12:01:00 GMT", 60.0),
        ("Thu Jan  1 12:01:00 2026", 60.0),
        ("Thu, 01 Jan 2026 11:00:00 GMT", 0.0),
        ("Thursday, 01-Jan-76 12:01:00 GMT", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 251_635_031_999.0),
        ("Thu, 01 Jan 2026 25:99:00 GMT", None),
        ("-5", None),
        ("1.5", None),
        ("٣", None),
        ("", None),
        ("soon", None),
    ],
)
def test_retry_after(value: str, secs: float | None) -> None:
    """If `Retry-After` is seconds or a date, it is a wait; else it is nothing."""
    assert parse_retry_after(value, NOW) == secs


@given(st.text(max_size=40))
def test_retry_after_never_fails(value: str) -> None:
    """If `Retry-After` is anything at all, then reading it raises nothing."""
    secs = parse_retry_after(value, NOW)
    assert secs is None or secs >= 0


@given(st.integers(0, 10_000))
def test_backoff_grows_to_its_limit(n_failures: int) -> None:
    """If a host fails ever more often, then the wait never shrinks nor overflows."""
    secs = backoff_secs(n_failures, base_secs=1, max_secs=300)
    assert 1 <= secs <= backoff_secs(n_failures + 1, base_secs=1, max_secs=300) <= 300


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("http://other.example/x", "http://other.example/x"),
        ("//other.example/x", "http://other.example/x"),
        ("b?c#d", "http://h.example/a/b?c"),
        ("/é", "http://h.example/%C3%A9"),
        ("HTTP://H.EXAMPLE:80/", "http://h.example/"),
        ("http://user:pw@h.example/", "http://h.example/"),
    ],
)
def test_redirect_target(location: str, target: str) -> None:
    """If a Location is relative or untidy, then it is resolved as browsers do."""
    assert resolve_redirect("http://h.example/a/x", location) == target


@pytest.mark.parametrize(
    "location", ["", "javascript:x", "file:///a", "http://", "http://[/", "http://a b/"]
)
def test_bad_redirect_target(location: str) -> None:
    """If a Location is no http(s) URL, then the redirect has a named fault."""
    with pytest.raises(SourceFault) as caught:
        resolve_redirect("http://h.example/", location)
    assert caught.value.fault.reason is Reason.REDIRECT_BAD_TARGET
