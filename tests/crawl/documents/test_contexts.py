"""Crawls of JSON-LD whose contexts and alternates are elsewhere."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import Reason

if TYPE_CHECKING:
    from tests.conftest import RawServer, Reply
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

LD = "application/ld+json"
CONTEXT = b'{"@context": {"name": "http://schema.org/name"}}'
NAMED = json.dumps({"@id": "http://a.example/s", "name": "N"}).encode()
TRIPLE = ("http://a.example/s", "http://schema.org/name", '"N"')


def naming(context: str) -> bytes:
    """Return a document that names a context."""
    named = {"@context": context, "@id": "http://a.example/s", "name": "N"}
    return json.dumps(named).encode()


@pytest.fixture(scope="module")
def context_host(loopback: Loopback) -> RawServer:
    """Return a host of contexts."""
    pages: dict[str, Reply] = {"/c": loopback.response(CONTEXT, LD)}
    pages["/robots.txt"] = loopback.response(
        b"User-agent: *\nDisallow: /private", "text/plain"
    )
    return loopback(pages, host="127.0.78.2")


@pytest.fixture(scope="module")
def blocked_host(loopback: Loopback) -> RawServer:
    """Return a host that no worker may ask for contexts."""
    return loopback({"/c": loopback.response(CONTEXT, LD)}, host="127.0.79.1")


@pytest.fixture(scope="module")
def server(
    loopback: Loopback, context_host: RawServer, blocked_host: RawServer
) -> RawServer:
    """Return the server of the documents."""
    server = loopback(host="127.0.78.1")
    context = '<own>; rel="http://www.w3.org/ns/json-ld#context"'
    alternate = f'<data>; rel="alternate"; type="{LD}"'
    documents = {
        "/own": CONTEXT,
        "/near": naming("own"),
        "/far": naming(context_host.url("/c")),
        "/far-again": naming(context_host.url("/c")),
        "/disallowed": naming(context_host.url("/private")),
        "/missing": naming(context_host.url("/none")),
        "/blocked": naming(blocked_host.url("/c")),
        "/data": naming("own"),
    }
    server.pages |= {
        target: loopback.response(body, LD) for target, body in documents.items()
    }
    server.pages["/header"] = loopback.response(NAMED, "application/json", Link=context)
    foreign = b'<!DOCTYPE html><base href="%s"><script type="%s">%s</script>' % (
        blocked_host.url("/").encode(),
        LD.encode(),
        naming(blocked_host.url("/c")),
    )
    server.pages["/base"] = loopback.response(foreign, "text/html")
    server.pages["/page"] = loopback.response(
        b"<!DOCTYPE html><html><title>a</title>", "text/html", Link=alternate
    )
    return server


@pytest.fixture(scope="module")
def result(
    commands: Commands, server: RawServer, context_host: RawServer
) -> CrawlResult:
    """Return one crawl of it all; one host of contexts is private."""
    del context_host
    left_out = {"/own", "/data"}
    seeds = [server.url(target) for target in server.pages if target not in left_out]
    return commands.crawl(seeds, GUARD_ALLOW_NETS="127.0.78.0/24")


@pytest.mark.parametrize("target", ["/near", "/far", "/far-again", "/header"])
def test_document_is_read_with_its_context(
    result: CrawlResult, server: RawServer, target: str
) -> None:
    """If a document names an allowed context, then it is read with it."""
    assert result.code == 0, result.stderr
    assert result.faults(server.url(target)) == []
    assert result.about(server.url(target)) == {TRIPLE}


def test_context_is_requested_once(
    result: CrawlResult, server: RawServer, context_host: RawServer
) -> None:
    """If several documents name a context, then one request is made for it.

    So it is for the robots.txt of a host that both are on.
    """
    assert result.statistics["context/fetched"] == 2
    assert context_host.targets.count("/c") == 1
    assert server.targets.count("/own") == 1
    assert context_host.targets.count("/robots.txt") == 1
    assert server.targets.count("/robots.txt") == 1


def test_alternate_of_a_page_is_crawled(result: CrawlResult, server: RawServer) -> None:
    """If a page says in its header where its data are, then they are crawled."""
    assert result.about(server.url("/data")) == {TRIPLE}


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("/disallowed", "robots_disallowed"),
        ("/missing", "not_found"),
        ("/blocked", "guard_blocked"),
        ("/base", "guard_blocked"),
    ],
)
def test_document_without_its_context_says_why(
    result: CrawlResult, server: RawServer, target: str, why: str
) -> None:
    """If a context is unavailable, then that is the fault of the document."""
    assert result.faults(server.url(target)) == [Reason.BAD_TERM, Reason.REMOTE_CONTEXT]
    assert why in str(result.details(server.url(target)))
    assert result.about(server.url(target)) == set()


def test_private_host_got_no_request(
    result: CrawlResult, context_host: RawServer, blocked_host: RawServer
) -> None:
    """If the guard or robots.txt refuse a context, then no request is made."""
    assert result.code == 0
    assert blocked_host.n_connections == 0
    assert "/private" not in context_host.targets
