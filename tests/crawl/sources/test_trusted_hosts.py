"""Hosts that the operator trusts: sources may list them without confirmation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rdfcrawl.frontier.arguments.crawl import CrawlArguments
from tests.crawl.sources.test_consent import lists, sites
from tests.crawl.sources.test_resourcesync import Source
from tests.support.resourcesync_source import facts_of

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback


def test_trusted_hosts_need_not_confirm(commands: Commands, loopback: Loopback) -> None:
    """If the operator trusts a host, then any sitemap may list it, without a question.

    A port is another host; the crawl remembers the trusted ones.
    """
    site, friend, stranger = sites(loopback, 12, 3)
    pages = [each.page("/page/1") for each in (site, friend, stranger)]
    lists(site, *pages)
    trust = "127.97.12.2,127.97.12.3:1,*.cdn.example"
    folder = commands.folder()
    result = commands.crawl(
        arguments={"sites": site.at("/"), "trust": trust},
        spider="sitemap",
        folder=folder,
    )
    assert set(pages[:2]) <= result.graphs
    assert friend.server.targets.count("/robots.txt") == 1  # before the page
    assert stranger.asked() == []
    lists(site, *pages, friend.page("/page/2"))
    result = commands.crawl(
        arguments={"sites": site.at("/")}, spider="sitemap", folder=folder
    )
    assert friend.at("/page/2") in result.graphs
    refused = commands.crawl(
        arguments={"trust": "other.example"}, spider="sitemap", folder=folder
    )
    assert refused.code == 2
    assert "reset=trust" in refused.stderr


@pytest.mark.parametrize("text", ["*", "http://a.example", "a.example/x", "*.10.0.0.1"])
def test_only_hosts_can_be_trusted(commands: Commands, text: str) -> None:
    """If `trust` has something that is not a host, then one line says so."""
    result = commands.crawl(arguments={"trust": text}, spider="sitemap")
    assert result.code == 2
    assert f"argument trust={text}: must be hosts such as" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("trust", "url", "is_trusted"),
    [
        ("A.example", "https://a.example/x", True),
        ("a.example", "ftp://a.example:2121/x", True),
        ("a.example", "http://b.a.example/x", False),
        ("a.example:443", "https://a.example/x", True),
        ("a.example:443", "http://a.example/x", False),
        ("*.a.example", "http://c.b.a.example/x", True),
        ("*.a.example", "http://a.example/x", False),
        ("*.a.example", "http://ba.example/x", False),
        ("münchen.example", "http://xn--mnchen-3ya.example/", True),
        ("[::1]:8080", "http://[::1]:8080/", True),
        ("", "http://a.example/", False),
    ],
)
def test_who_is_trusted(trust: str, url: str, *, is_trusted: bool) -> None:
    """If a host is named, then it is trusted; `*.` stands for those below it."""
    assert CrawlArguments.parse({"trust": trust}).trust.covers(url) is is_trusted


@pytest.fixture(scope="module")
def synced(
    commands: Commands, loopback: Loopback
) -> tuple[CrawlResult, dict[bool, str]]:
    """Return a crawl of two sources that list trusted and other hosts."""
    sources, listed = [], {}
    for is_trusted in (True, False):
        number = 31 + is_trusted
        source = Source(loopback, f"127.97.{number}.1")
        other = Source(loopback, f"127.97.{number}.2")
        url, body = other.resource("r", "elsewhere")
        source.list([(url, facts_of(body), "")])
        sources.append(source.at("/capabilities.xml"))
        listed[is_trusted] = url
    arguments = {"sources": ",".join(sources), "trust": "127.97.32.2"}
    return commands.crawl(arguments=arguments, spider="resourcesync"), listed


@pytest.mark.parametrize("is_trusted", [True, False], ids=["trusted", "not"])
def test_resourcesync_may_list_hosts_that_are_trusted(
    synced: tuple[CrawlResult, dict[bool, str]], *, is_trusted: bool
) -> None:
    """If a source lists resources of a host that is trusted, then they are taken."""
    result, urls = synced
    assert (urls[is_trusted] in result.graphs) is is_trusted
    refused = result.ask("?a sq:crawled ?x ; rc:fault/rc:reason 'cross_site' .")
    number = 31 + is_trusted
    assert any(f"//127.97.{number}." in url for url in refused) is not is_trusted
