"""Bodies in files: the same content is found in a small and in a large one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.core.content import body_of, head_of
from rdfcrawl.core.errors import Reason
from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.nodes.endpoint import EndpointOptions
from rdfcrawl.dataweb.nodes.portal import PortalOptions
from rdfcrawl.dataweb.nodes.resourcesync import ResourceSyncOptions
from rdfcrawl.dataweb.nodes.sitemap import SitemapOptions
from rdfcrawl.downloader.client import HttpResponse
from rdfcrawl.downloader.robots.parser import MAX_ROBOTS_BYTES, MAX_SITEMAPS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

TURTLE = b'<> <urn:x:says> "here" .'
SPOOL_BYTES = 256 * 1024  # the default of VISIT_SPOOL_BYTES


@pytest.fixture
def web() -> Iterator[LocalWeb]:
    """Yield a server of sources."""
    with LocalWeb(first_address="127.84.0.1", n_hosts=8) as web:
        yield web


def test_heads_are_the_same_wherever_they_lie(tmp_path: Path) -> None:
    """If a body lies in a file, then its head is that of the same body in memory."""
    path = tmp_path / "body"
    path.write_bytes(TURTLE)
    small, large, none = (
        HttpResponse(body=TURTLE),
        HttpResponse(path=path),
        HttpResponse(),
    )
    for n_bytes in (0, 5, 1000):
        assert head_of(small, n_bytes) == head_of(large, n_bytes) == TURTLE[:n_bytes]
        assert head_of(none, n_bytes) == b""
    assert [body_of(each) for each in (small, large, none)] == [TURTLE, path, None]
    assert body_of(HttpResponse(body=b"")) == b""


@pytest.mark.in_turn(2, rooms=("sources",))
@pytest.mark.parametrize(
    ("spider", "argument", "options", "least"),
    [
        ("sitemap", "sites", SitemapOptions(n_pages=6), 6),
        (
            "resourcesync",
            "sources",
            ResourceSyncOptions(n_resources=6, found_by=("robots",)),
            6,
        ),
        (
            "resourcesync",
            "sources",
            ResourceSyncOptions(n_resources=6, found_by=("html",)),
            6,
        ),
        ("ckan", "portals", PortalOptions(n_datasets=6), 6),
        ("sparql", "endpoints", EndpointOptions(n_triples=100), 1),
    ],
    ids=["sitemap", "robots", "page", "ckan", "sparql"],
)
def test_sources_whose_answers_lie_in_files(
    commands: Commands,
    web: LocalWeb,
    spider: str,
    argument: str,
    options: Any,
    least: int,
) -> None:
    """If every response of a source lies in a file, then its content is stored."""
    node = web.start(options)
    url = getattr(node, "endpoint_url", node.origin)
    result = commands.crawl(
        arguments={argument: url}, spider=spider, VISIT_SPOOL_BYTES=1
    )
    assert result.code == 0, result.stderr
    assert len(result.graphs) >= least


def crawl_site(commands: Commands, url: str) -> CrawlResult:
    """Crawl the sitemaps of a site."""
    return commands.crawl(spider="sitemap", arguments={"sites": url, "follow": "none"})


def test_long_robots_txt_has_sitemaps(commands: Commands, loopback: Loopback) -> None:
    """If robots.txt is too long for memory, then its sitemaps are read as well."""
    server = loopback(host="127.84.1.1")
    page = server.url("/page")
    filling = b"# a comment\n" * (SPOOL_BYTES // 12 + 100)
    robots = filling + f"Sitemap: {server.url('/list.txt')}\n".encode()
    server.pages |= {
        "/robots.txt": loopback.response(robots, "text/plain"),
        "/list.txt": loopback.response(page.encode(), "text/plain"),
        "/page": loopback.response(TURTLE),
    }
    result = crawl_site(commands, server.url("/"))
    assert result.statuses(page) == ["SUCCESSFUL"]
    assert result.faults(server.url("/robots.txt")) == []


@pytest.mark.parametrize("reason", [Reason.TOO_LARGE, Reason.TOO_MANY_ENTRIES])
def test_unread_parts_of_robots_txt_are_named(
    commands: Commands, loopback: Loopback, reason: Reason
) -> None:
    """If robots.txt has more than is read of it, then that is a fault."""
    server = loopback(host="127.84.1.2")
    line = f"Sitemap: {server.url('/list.txt')}\n".encode()
    if reason is Reason.TOO_LARGE:
        robots = line + b"#" * MAX_ROBOTS_BYTES
    else:
        robots = b"Sitemap: /list.txt\n" + b"".join(
            b"Sitemap: mailto:%d\n" % n for n in range(MAX_SITEMAPS)
        )
    server.pages |= {
        "/robots.txt": loopback.response(robots, "text/plain"),
        "/list.txt": loopback.response(server.url("/page").encode(), "text/plain"),
        "/page": loopback.response(TURTLE),
    }
    result = crawl_site(commands, server.url("/"))
    assert reason in result.faults(server.url("/robots.txt"))
    assert result.statuses(server.url("/page")) == ["SUCCESSFUL"]


def test_large_front_page_names_its_source(
    commands: Commands, loopback: Loopback
) -> None:
    """If a page is too long for memory, then the list that its head names is read."""
    server = loopback(host="127.84.1.3")
    link = b'<link rel="resourcesync" href="/capabilities.xml">'
    page = b"<html><head>" + link + b"</head><body>" + b"<p>a</p>" * SPOOL_BYTES
    server.pages["/"] = loopback.response(page, "text/html")
    commands.crawl(
        [server.url("/")], arguments={"harvest": "resourcesync", "follow": "none"}
    )
    assert "/capabilities.xml" in server.targets
