"""The URL database of a crawl equals the responses of the servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from rdfcrawl.analysis.urldb.database import UrlDatabase
from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.nodes.sitemap import SitemapOptions
from rdfcrawl.stores.log.links import LinkLog
from rdfcrawl.uri import NormalForm
from tests.analysis.urldb.test_building import content, rebuilt

if TYPE_CHECKING:
    from pathlib import Path

    from rdfcrawl.dataweb.nodes.sitemap import SitemapNode
    from tests.support.crawl_fixtures import Commands

NOT_VISITED = {"/robots.txt", "/.well-known/void"}


def check(root: Path, web: LocalWeb, node: SitemapNode) -> None:
    """Compare the records of a host with its log, and with what it lists."""
    normalize = NormalForm().normalize
    served: dict[str, list[int]] = {}
    for request in web.requests(node):
        if request.target not in NOT_VISITED:
            url = normalize(node.origin + request.target)
            served.setdefault(url, []).append(request.status)
    with UrlDatabase(root) as database:
        records = {
            x.url: x for x in database.records() if x.url.startswith(node.origin)
        }
    fetched = {
        url: [each.http_status for each in record.fetches]
        for url, record in records.items()
        if record.fetches and url.removeprefix(node.origin) not in NOT_VISITED
    }
    for url in fetched.keys() - served.keys():
        refused = {(x.http_status, x.fault) for x in records[url].fetches}
        assert refused == {(0, "robots_disallowed")}
        assert any(url.startswith(node.origin + path) for path in node.disallowed)
        del fetched[url]
    assert fetched == served
    listed = {url for url, x in records.items() if x.listed and not x.is_sitemap}
    assert listed == {normalize(node.page_url(n)) for n in range(node.options.n_pages)}


def linked(root: Path) -> list[set[str]]:
    """Return the links of each document to other pages."""
    documents = (each for batch in LinkLog(root).read() for each in batch.documents)
    return [{url for url, _ in x.links} - {x.graph} for x in documents]


def test_database_of_a_crawl_that_comes_again(
    commands: Commands, tmp_path: Path
) -> None:
    """If sites are crawled twice, then all served and listed URLs are known."""
    with LocalWeb(first_address="127.93.7.1", n_hosts=2) as web:
        node = web.start(SitemapOptions(n_pages=24, found_by="default", packed="no"))
        other = web.start(SitemapOptions(n_pages=24, disallowed=3))
        folder = commands.folder()
        revised: frozenset[str] = frozenset()
        sites = f"{node.origin}/,{other.origin}/"
        for _ in range(2):
            result = commands.crawl(
                folder=folder, arguments={"sites": sites}, spider="sitemap"
            )
            assert result.code == 0, result.stderr
            built = commands.start("urldb", "build", folder=folder).wait()
            assert built.code == 0, built.stderr
            for each in (node, other):
                check(result.folder, web, each)
            assert content(result.folder) == rebuilt(result.folder)
            if not revised:
                revised = node.revise()
    ranked = commands.start("urldb", "rank", folder=folder).wait()
    assert ranked.code == 0, ranked.stderr
    path = tmp_path / "urls.parquet"
    exported = commands.start("urldb", "export", "--to", str(path), folder=folder)
    assert exported.wait().code == 0
    rows = {row["url"]: row for row in pq.read_table(path).to_pylist()}
    page = node.page_url(0)
    assert rows[page]["fetches"][0]["http_status"] == 200
    assert rows[page]["claims"][0]["priority"] == "0.0"
    assert 0 < rows[page]["priorityrank"] < 1
    assert rows[page]["inlinks"] == sum(
        page in links for links in linked(result.folder)
    )
    assert max(len(rows[url]["fetches"]) for url in revised) == 2
    assert max(len(rows[url]["claims"]) for url in revised) == 2
    parts = [row for row in rows.values() if row["listed_by"] == node.sitemap_urls[0]]
    assert len(parts) > 1
    assert all(part["is_sitemap"] for part in parts)
    shown = commands.start("urldb", "show", page, folder=folder).wait()
    assert shown.code == 0
    unknown = commands.start("urldb", "show", "http://x.example/", folder=folder)
    assert unknown.wait().code == 1
