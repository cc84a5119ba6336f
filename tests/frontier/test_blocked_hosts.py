"""Hosts as an operator names them, on the command line and in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import ConfigError, Reason
from rdfcrawl.core.records import Record
from rdfcrawl.downloader.redirects import RedirectJudge
from rdfcrawl.frontier.queue.host_rules import (
    MAX_FILE_BYTES,
    BlockedHosts,
    parse_hosts,
    read_file,
)
from rdfcrawl.uri import BadUri, requestable

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "entry",
    ["a.example,b.example", "a..example", "..example", "a.example..", ".", "", "*"],
)
def test_what_names_no_host_is_refused(entry: str) -> None:
    """If an entry names no host that could be met, then it is refused."""
    with pytest.raises(BadUri):
        parse_hosts([entry])


@pytest.mark.parametrize(
    ("entry", "url"),
    [
        ("A.example.", "http://a.example/x"),
        ("a.example", "https://a.example./x"),
        ("a.example:8080", "http://a.example:8080/x"),
        ("[::1]", "http://[0:0::1]/x"),
        ("exämple.org", "http://xn--exmple-cua.org/"),
        (".a.example", "ftp://b.a.example/x"),
    ],
)
def test_host_is_known_in_any_spelling(entry: str, url: str) -> None:
    """If a URL spells a host in another way than the entry, then it is that host."""
    assert parse_hosts([entry]).covers(requestable(url))


def test_file_that_is_too_long_is_refused(tmp_path: Path) -> None:
    """If a file is longer than is read, then it is not taken in part."""
    path = tmp_path / "leave.txt"
    line = "a.example # ü\n".encode()
    path.write_bytes(line * (MAX_FILE_BYTES // len(line) + 1))
    with pytest.raises(ConfigError, match="more than 16777216 bytes"):
        read_file(path)


def test_redirects_to_hosts_that_are_left_later_are_not_followed() -> None:
    """If a host joins those to leave while a crawl goes on, then hops know it."""
    blocked = BlockedHosts()
    hops = RedirectJudge(blocked_hosts=blocked)
    record, target = Record("http://a.example/"), "http://b.example/x"
    assert hops.unwanted(record, target) is None
    blocked.replace(["b.example"])
    fault = hops.unwanted(record, target)
    assert fault is not None
    assert fault.reason is Reason.HOST_LEFT
