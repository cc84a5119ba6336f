"""Provenance of documents with the content of another one."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from tests.crawl.sources.test_revisits import DatedSite, entry
from tests.support.crawl_kills import worker_pids
from tests.support.sitemap_sites import urlset

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

DATA = "# of %s\n<> <urn:x:p> <#it>, _:b . _:b <urn:x:p> 1 ."
PAGE = """<!DOCTYPE html><script type="application/ld+json">
{"@id": "urn:x:s", "urn:x:p": "%s"}</script><p>Loading</p>"""
N_SLOW = 15


def same_as(result: CrawlResult, url: str) -> list[str]:
    """Return which URLs a document was said to have the content of."""
    return result.ask(f"?a sq:crawled <{url}> ; rc:sameContentAs ?x .")


def only_first(result: CrawlResult, urls: list[str]) -> str:
    """Return the one URL of several that all others are the same as, and only they."""
    said = {url: set(same_as(result, url)) for url in urls}
    (first,) = [url for url, found in said.items() if not found]
    assert all(found == {first} for url, found in said.items() if url != first)
    return first


def test_mirrors_are_the_same_as_the_first_copy(
    commands: Commands, loopback: Loopback
) -> None:
    """If hosts mirror each other, then all but one document of a content name that one.

    They may be crawled by several workers, and fetched again after `kill -9`. Data is
    compared by its statements, in which its own URL makes no difference; pages by their
    bytes: those of one visible text may have different data. Nothing is the same as
    nothing, or as itself.
    """
    servers = [loopback(host=f"127.0.73.{n}") for n in (1, 2)]
    slow = loopback.response(b"<> <urn:x:p> <#o> .")
    for server in servers:
        data, other = (text % server.host for text in (DATA, PAGE))
        server.pages |= {
            "/data": loopback.response(data.encode()),
            "/page": loopback.response((PAGE % "both").encode(), "text/html"),
            "/other": loopback.response(other.encode(), "text/html"),
            "/empty": loopback.response(b""),
            "/moved": loopback.redirect("/other"),
            **{f"/slow/{n}": [0.05, slow] for n in range(N_SLOW)},
        }
    paths = [path for path in servers[0].pages if not path.startswith("/robots")]
    folder = commands.folder()
    seeds = folder / "seeds.txt"
    seeds.write_text("\n".join(x.url(path) for path in paths for x in servers))
    crew = commands.start(
        *("workers", "-n2", "linkeddata", f"-aseeds=@{seeds}"),
        folder=folder,
        FRONTIER_LEASE_SECS=1,
        FRONTIER_COMMIT_SECS=0.2,
    )
    commands.wait_until(lambda: sum(len(x.requests) for x in servers) > N_SLOW)
    os.kill(worker_pids(crew)[0], signal.SIGKILL)
    result = crew.wait()
    assert result.code == 0, result.stderr
    for path in ("/data", "/page"):
        only_first(result, [server.url(path) for server in servers])
    only_first(result, [x.url(f"/slow/{n}") for x in servers for n in range(N_SLOW)])
    for path in ("/other", "/empty", "/moved"):
        assert not [x for server in servers for x in same_as(result, server.url(path))]


def test_later_runs_know_the_first_url_of_a_content(
    commands: Commands, loopback: Loopback
) -> None:
    """If a later run finds a content of an earlier one, then it names its first URL.

    It does so although that URL has another content since then; and again of a page
    that was fetched again with the same content.
    """
    site = DatedSite(loopback, "127.20.11.41")
    folder = commands.folder()

    def crawl(date: str, pages: dict[str, str]) -> CrawlResult:
        urls = [site.page(path, text) for path, text in pages.items()]
        site.put("/sitemap.xml", urlset([entry(url, date) for url in urls]))
        return site.crawl(commands, folder=folder)

    one, two = site.at("/page/1"), site.at("/page/2")
    first = only_first(
        crawl("2024-01-01", {"/page/1": "X", "/page/2": "X"}), [one, two]
    )
    again = two if first == one else one
    pages = {"/page/3": "X", "/page/4": "Y"}
    pages |= (
        {"/page/1": "Y", "/page/2": "X"}
        if first == one
        else {"/page/1": "X", "/page/2": "Y"}
    )
    result = crawl("2024-02-01", pages)
    assert same_as(result, again) == [first, first]
    assert same_as(result, site.at("/page/3")) == [first]
    only_first(result, [first, site.at("/page/4")])
    assert result.statistics["document/same_content"] == 3
