"""Responses that the standard does not allow are read as other clients read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.odd_responses import CLOSED, CUT, READ, REFUSED, STRICT

if TYPE_CHECKING:
    from tests.conftest import RawServer, Reply
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback
    from tests.support.odd_responses import OddResponse

RULES = b"User-agent: *\nDisallow: /no\n"
ALL = {**READ, **CUT, **REFUSED}
SEEDS = ("/doc", "/next", "/no")


def statement(name: str, target: str) -> bytes:
    """Return the statement of a document."""
    return f'<urn:x:s> <urn:x:p> "{name} at {target}" .\n'.encode()


def odd(name: str, make: OddResponse, body: bytes) -> Reply:
    """Return an odd response, whose server closes the connection only if it must."""
    response = make(body)
    return [response, None] if name in CLOSED else response


def host(loopback: Loopback, name: str, n: int) -> RawServer:
    """Start a host with an odd document, an usual one, and rules."""
    make = ALL[name]
    document = loopback.response(statement(name, "next"), "application/n-triples")
    pages = {"/doc": odd(name, make, statement(name, "doc")), "/next": document}
    pages["/robots.txt"] = loopback.response(RULES, "text/plain")
    if name in READ:
        pages["/robots.txt"] = odd(name, make, RULES)
    return loopback(pages, host=f"127.66.{n // 250}.{n % 250 + 1}")


@pytest.fixture(scope="module")
def hosts(loopback: Loopback) -> dict[str, RawServer]:
    """Return a host for each odd response."""
    return {name: host(loopback, name, n) for n, name in enumerate(ALL)}


@pytest.fixture(scope="module")
def crawl(commands: Commands, hosts: dict[str, RawServer]) -> CrawlResult:
    """Crawl all of them in one crawl."""
    urls = [server.url(target) for server in hosts.values() for target in SEEDS]
    result = commands.crawl(urls, RETRY_TIMES=0)
    assert result.code == 0, result.stderr
    return result


def values(crawl: CrawlResult, url: str) -> set[str]:
    """Return the statements of the document at a URL."""
    return {statement[2].strip('"') for statement in crawl.about(url)}


def test_odd_responses_are_read(
    crawl: CrawlResult, hosts: dict[str, RawServer]
) -> None:
    """If curl, http.client or browsers read a response, then so does the crawl."""
    for name in READ:
        url = hosts[name].url("/doc")
        assert values(crawl, url) == {f"{name} at doc"}, (name, crawl.details(url))
        assert not crawl.faults(url), (name, crawl.details(url))


def test_rules_in_odd_responses_are_obeyed(
    crawl: CrawlResult, hosts: dict[str, RawServer]
) -> None:
    """If robots.txt comes in an odd response, then its host is crawled by its rules."""
    for name in READ:
        targets = hosts[name].targets
        assert sorted(targets) == ["/doc", "/next", "/robots.txt"], name
        no = hosts[name].url("/no")
        assert crawl.faults(no) == ["robots_disallowed"], name


def test_responses_that_break_off_are_read_up_to_there(
    crawl: CrawlResult, hosts: dict[str, RawServer]
) -> None:
    """If a response breaks off, then the received part is read, and a fault says so."""
    for name in CUT:
        url = hosts[name].url("/doc")
        assert values(crawl, url) == {f"{name} at doc"}, (name, crawl.details(url))
        assert set(crawl.faults(url)) <= {"truncated_body", "bad_http"}, name
        assert crawl.faults(url), name


def test_unreadable_responses_are_faults(
    crawl: CrawlResult, hosts: dict[str, RawServer]
) -> None:
    """If no client reads a response, then it is a fault of that document alone."""
    for name in REFUSED:
        url = hosts[name].url("/doc")
        assert crawl.faults(url) == ["bad_http"], (name, crawl.details(url))
        assert not values(crawl, url), name


def test_no_response_is_taken_for_another(
    crawl: CrawlResult, hosts: dict[str, RawServer]
) -> None:
    """If parsers could differ about a response, then its connection is closed."""
    for name, server in hosts.items():
        assert values(crawl, server.url("/next")) == {f"{name} at next"}, name
        connections = {each.target: each.connection for each in server.requests}
        is_kept = connections["/doc"] == connections["/next"]
        assert is_kept == (name in STRICT), (name, is_kept)


def test_scrapys_downloader_reads_responses_that_its_parser_accepts(
    commands: Commands, loopback: Loopback
) -> None:
    """If Scrapy's downloader gets a body to its end, then no length has to be there."""
    names = [
        *("to-close", "to-close-1.0", "to-close-kept", "coding-utf-8", "no-colon"),
        *("length-twice", "length-and-chunked", "many-lines"),
    ]
    names += CUT
    servers = {name: host(loopback, name, n) for n, name in enumerate(names, start=200)}
    urls = [server.url(target) for server in servers.values() for target in SEEDS]
    result = commands.crawl(urls, RETRY_TIMES=0, FETCH_WITH_SCRAPY=True)
    for name, server in servers.items():
        url = server.url("/doc")
        assert values(result, url) == {f"{name} at doc"}, (name, result.details(url))
        is_told = name in CUT and name != "gzip-cut"  # Scrapy's decoder is silent
        expected = ["truncated_body"] * is_told
        assert result.faults(url) == expected, (name, result.details(url))
        assert "/no" not in server.targets, name
