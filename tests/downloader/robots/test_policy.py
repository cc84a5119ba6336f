"""What robots.txt means, clause by clause."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.downloader.robots.parser import MAX_ROBOTS_BYTES
from rdfcrawl.downloader.robots.policy import (
    ALLOW_ALL,
    RobotsAccess,
    judge,
    parse_robots,
)

BASE = "http://h.example"


@pytest.mark.parametrize(
    ("status", "access"),
    [
        pytest.param(200, RobotsAccess.PARSE, id="rfc9309-2.3.1.1-200"),
        pytest.param(204, RobotsAccess.PARSE, id="rfc9309-2.3.1.1-204"),
        pytest.param(301, RobotsAccess.ALLOW_ALL, id="rfc9309-2.3.1.2-too-many"),
        pytest.param(300, RobotsAccess.ALLOW_ALL, id="300"),
        pytest.param(304, RobotsAccess.ALLOW_ALL, id="304"),
        pytest.param(400, RobotsAccess.ALLOW_ALL, id="rfc9309-2.3.1.3-400"),
        pytest.param(401, RobotsAccess.ALLOW_ALL, id="rfc9309-2.3.1.3-401"),
        pytest.param(403, RobotsAccess.ALLOW_ALL, id="rfc9309-2.3.1.3-403"),
        pytest.param(404, RobotsAccess.ALLOW_ALL, id="rfc9309-2.3.1.3-404"),
        pytest.param(410, RobotsAccess.ALLOW_ALL, id="rfc9309-2.3.1.3-410"),
        pytest.param(429, RobotsAccess.UNREACHABLE, id="429"),
        pytest.param(500, RobotsAccess.UNREACHABLE, id="rfc9309-2.3.1.4-500"),
        pytest.param(503, RobotsAccess.UNREACHABLE, id="rfc9309-2.3.1.4-503"),
        pytest.param(0, RobotsAccess.UNREACHABLE, id="rfc9309-2.3.1.4-network"),
        pytest.param(600, RobotsAccess.UNREACHABLE, id="600"),
    ],
)
def test_status_decides(status: int, access: RobotsAccess) -> None:
    """If robots.txt is fetched, then the status decides how it is interpreted."""
    assert judge(status) is access


@pytest.mark.parametrize(
    "body",
    [b"", b"User-agent: *\nDisallow:\n", b"<html>not found</html>", b"\xff\xfe\x00"],
)
def test_nothing_forbidden_costs_nothing(body: bytes) -> None:
    """If nothing is forbidden, then the rules are the one object that allows all."""
    assert parse_robots(body) is ALLOW_ALL


def test_delay_and_sitemaps_are_read() -> None:
    """If there are a delay and sitemaps, then both are known without any rule."""
    rules = parse_robots(
        b"Sitemap: http://h.example/s.xml\nUser-agent: *\nCrawl-delay: 2.5\n"
        b"Sitemap: /t.xml\n"
    )
    assert rules.delay_secs == 2.5
    assert rules.sitemaps == ("http://h.example/s.xml", "/t.xml")
    assert rules.allows(f"{BASE}/a")


def test_long_text_is_cut_at_a_line_end() -> None:
    """If the text is too long, then complete lines within 500 KiB count (2.5)."""
    line = b"Disallow: /private/%06d\n"
    head = b"User-agent: *\n"
    n_lines = MAX_ROBOTS_BYTES // len(line % 0)
    body = head + b"".join(line % number for number in range(n_lines + 10))
    n_whole = (MAX_ROBOTS_BYTES - len(head)) // len(line % 0)
    rules = parse_robots(body)
    assert not rules.allows(f"{BASE}/private/{n_whole - 1:06d}")
    assert rules.allows(f"{BASE}/private/{n_whole:06d}")
    assert rules.allows(f"{BASE}/private/00")  # half a line would forbid it


@given(st.binary(max_size=400))
def test_any_bytes_are_read(body: bytes) -> None:
    """If robots.txt is garbage, then reading it raises nothing."""
    parse_robots(body).allows(f"{BASE}/a")
