"""Sitemaps and descriptions that list FTP servers, and the consent for those."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.crawl.sources.test_consent import (
    SharedCrawl,
    crawl,
    lists,
    nameless,
    sites,
)
from tests.support.ftp_servers import RealFtp
from tests.support.sitemap_sites import Site, dataset, dump_at, urlset

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

DUMP = b"<urn:x:s> <urn:x:p> <urn:x:o> .\n"


@contextmanager
def ftp(folder: Path, host: str, port: int = 0, **files: bytes) -> Iterator[RealFtp]:
    """Serve a dump by FTP, and other files."""
    for name, content in {"dump_nt": DUMP, **files}.items():
        (folder / name.replace("_", ".")).write_bytes(content)
    with RealFtp(folder, host=host, port=port) as server:
        yield server


FTP_WORDS = "robots", "sitemap", "trust", "none"


@dataclass(frozen=True, slots=True)
class FtpCrawl(SharedCrawl):
    """One crawl of sites that list a dump on an FTP server.

    Attributes:
        dumps: URL of each.
        commands: received by each server.
    """

    dumps: dict[str, str]
    commands: dict[str, Counter[str]]


@pytest.fixture(scope="module")
def ftp_crawl(
    commands: Commands, loopback: Loopback, tmp_path_factory: pytest.TempPathFactory
) -> FtpCrawl:
    """Return a crawl of a site for each of `FTP_WORDS`."""
    listing, servers = [], {}
    with ExitStack() as stack:
        for number, word in enumerate(FTP_WORDS, 20):
            (site,) = sites(loopback, number, 1)
            folder = tmp_path_factory.mktemp(word)
            server = stack.enter_context(ftp(folder, f"127.97.{number}.2"))
            list_dump(site, server.url("dump.nt"), folder, word)
            listing.append(site.at("/"))
            servers[word] = server
        trusted = f"127.97.22.2:{servers['trust'].port}"
        arguments = {"sites": ",".join(listing), "trust": trusted}
        result = commands.crawl(arguments=arguments, spider="sitemap")
        said = {word: Counter(server.commands) for word, server in servers.items()}
    assert result.code == 0, result.stderr
    dumps = {word: server.url("dump.nt") for word, server in servers.items()}
    return FtpCrawl(result, {}, dumps, said)


def list_dump(site: Site, dump: str, folder: Path, word: str) -> None:
    """Have a site list a dump, and the folder of its server confirm it by `word`."""
    described = dataset(site, extra=dump_at(dump))
    if word == "robots":
        described = nameless(dump)
        text = f"Sitemap: {site.at('/sitemap.xml')}\n"
        (folder / "robots.txt").write_text(text)
    elif word == "sitemap":
        (folder / "sitemap.xml").write_bytes(urlset([], described))
    lists(site, extra=described)


@pytest.mark.parametrize("word", FTP_WORDS)
def test_dump_on_an_ftp_server_can_be_confirmed(ftp_crawl: FtpCrawl, word: str) -> None:
    """If an FTP server has a robots.txt or sitemap, or is trusted, its word counts."""
    dump = ftp_crawl.dumps[word]
    assert ftp_crawl.result.counts().is_over
    assert (dump in ftp_crawl.result.graphs) is (word != "none")
    assert ftp_crawl.commands[word]["RETR /dump.nt"] == (word != "none")
    assert ftp_crawl.is_refused(dump) is (word == "none")


@pytest.mark.parametrize("is_named", [True, False], ids=["named", "not"])
def test_web_site_of_an_ftp_server_speaks_for_it(
    commands: Commands, loopback: Loopback, tmp_path: Path, *, is_named: bool
) -> None:
    """If an FTP server has no robots.txt, then that of its host on the Web counts."""
    number = 24 + is_named
    (site,) = sites(loopback, number, 1)
    host = f"127.97.{number}.2"
    try:
        web = Site(loopback, host, port=80)
        with ftp(tmp_path, host, port=21) as server:
            page = f"ftp://{host}/dump.nt"
            sitemap = lists(site, page, extra=nameless(page))
            web.robots(sitemap if is_named else web.at("/own.xml"))
            result = crawl(commands, site)
            said = Counter(server.commands)
    except PermissionError:
        pytest.skip("may not listen on ports 21 and 80")
    assert said["RETR /dump.nt"] == is_named
    assert (page in result.graphs) is is_named
    refusals = ("fault/unconfirmed_claim", "fault/cross_site")
    assert [result.statistics[each] for each in refusals] == [1 - is_named] * 2


@pytest.mark.parametrize("is_trusted", [True, False], ids=["trusted", "not"])
def test_uri_space_is_covered_by_a_dump_on_an_ftp_server(
    commands: Commands, loopback: Loopback, tmp_path: Path, *, is_trusted: bool
) -> None:
    """If a description names a dump by FTP, then it covers its URIs if that is trusted.

    It is fetched in any case, as a link would be.
    """
    number = 33 + is_trusted
    (site,) = sites(loopback, number, 1)
    host = f"127.97.{number}.2"
    with ftp(tmp_path, host) as server:
        dump = server.url("dump.nt")
        space = f'<#d> void:uriSpace "{site.at("/r/")}" ; void:dataDump <{dump}> .'
        example = f"<#d> void:exampleResource <{site.page('/r/1')}> ."
        prefix = "@prefix void: <http://rdfs.org/ns/void#> ."
        site.put("/void.ttl", f"{prefix} {space} {example}".encode())
        trust = {"trust": host} if is_trusted else {}
        result = commands.crawl([site.at("/void.ttl")], arguments=trust)
    assert dump in result.graphs
    assert ("/r/1" in site.asked()) is not is_trusted
