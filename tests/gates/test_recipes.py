"""The recipes of the README find what they name, on servers on loopback."""

from __future__ import annotations

import csv
import shlex
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.nodes.portal import PortalOptions
from tests.support.command_forks import scrapy
from tests.support.pages import ROOT, blocks, commands_in
from tests.support.product_pages import MICRODATA, NAIL, PAGE
from tests.support.web_archives import HOST, Archive

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

_SHOP = "https://shop.example.org"
_SITEMAP = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{}</urlset>"
_FEEDS = {"products.jl"}
_LDP = "http://www.w3.org/ns/ldp#contains"


class _Recipes:
    """The commands of the recipes."""

    def __init__(self, commands: Commands) -> None:
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        self.text = text.partition("## Recipes\n")[2].partition("\n## ")[0]
        self._typed = commands_in(self.text)
        self._commands = commands

    def crawl(self, spider: str, given: str, real: str, n: int = 0) -> CrawlResult:
        """Run the crawl of a recipe, the n-th of a spider, at another place."""
        crawls = [words for words in self._typed if words[1:3] == ["crawl", spider]]
        words = [word.replace(given, real) for word in crawls[n][1:]]
        folder = self._commands.folder()
        words = [str(folder / word) if word in _FEEDS else word for word in words]
        running = self._commands.start(*words, folder=folder, CRAWL_ID=spider)
        result = running.wait()
        assert result.code == 0, result.stderr
        return result

    def export(self, result: CrawlResult, name: str) -> str:
        """Run the export of a recipe; return the file."""
        (words,) = [words for words in self._typed if name in words]
        path = result.folder.parent / name
        typed = [str(path) if word == name else word for word in words[1:]]
        where = f"-sCRAWL_DIR={path.parent}", f"-sCRAWL_ID={result.folder.name}"
        done = scrapy(*typed, *where)
        assert done.returncode == 0, shlex.join(typed) + done.stderr
        return path.read_text()


@pytest.fixture(scope="module")
def recipes(commands: Commands) -> _Recipes:
    """Return the commands."""
    return _Recipes(commands)


def test_products_of_a_shop(recipes: _Recipes, loopback: Loopback) -> None:
    """If a sitemap lists pages of products, then each is an item, as shown."""
    server = loopback()
    entries = ""
    for name, text in (("lamp", MICRODATA), ("nail", NAIL)):
        page = PAGE.format(text).encode()
        server.pages[f"/{name}"] = loopback.response(page, "text/html; charset=utf-8")
        entries += f"<url><loc>{server.url(f'/{name}')}</loc></url>"
    sitemap = _SITEMAP.format(entries).encode()
    server.pages["/sitemap.xml"] = loopback.response(sitemap, "application/xml")
    site = server.url("").rstrip("/")
    result = recipes.crawl("sitemap", _SHOP, site)
    feed = (result.folder.parent / "products.jl").read_text(encoding="utf-8")
    (shown,) = blocks(recipes.text, "json")
    assert shown.strip() in feed.replace(site, _SHOP).splitlines()
    rows = csv.DictReader(recipes.export(result, "products.csv").splitlines())
    assert {row["offers.price"] for row in rows} == {"19.50", "0.05"}


def test_portal(recipes: _Recipes) -> None:
    """If a portal has datasets, then all are found."""
    with LocalWeb(first_address="127.81.8.1", n_hosts=1) as web:
        portal = web.start(PortalOptions(n_datasets=3, rdf_every=0))
        result = recipes.crawl("ckan", "https://data.example.org", portal.origin)
    datasets = [graph for graph in result.graphs if "/dataset/" in graph]
    assert len(datasets) == 3


def test_vocabulary(recipes: _Recipes, loopback: Loopback) -> None:
    """If a vocabulary has a document for each term, then all are in one file."""
    server = loopback(host="127.81.8.3")
    for path, body in {
        "/ns/": b"<A> <urn:x:below> <B> .",
        "/ns/A": b"<> <urn:x:label> 'one' ; a <C> .",
        "/ns/B": b"<> <urn:x:label> 'two' .",
        "/ns/C": b"<> <urn:x:label> 'class' ; <urn:x:see> </other> .",
        "/other": b"<> <urn:x:label> 'other' .",
    }.items():
        server.pages[path] = loopback.response(body, "text/turtle")
    origin = server.url("").rstrip("/")
    result = recipes.crawl("linkeddata", "https://vocab.example.org", origin)
    turtle = recipes.export(result, "vocabulary.ttl")
    assert all(f'"{label}"' in turtle for label in ("one", "two", "class"))
    assert "/other" not in server.targets


def test_solid_pod(recipes: _Recipes, loopback: Loopback) -> None:
    """If containers hold others, then all of them and their documents are read."""
    server = loopback(host="127.81.8.4")
    for path, body in {
        "/": f"<> <{_LDP}> <public/>, <private> .",
        "/public/": f"<> <{_LDP}> <notes> ; <urn:x:o> <no> .",
        "/public/notes": "<#it> <urn:x:text> 'note' .",
    }.items():
        server.pages[path] = loopback.response(body.encode(), "text/turtle")
    server.pages["/private"] = loopback.response(b"", status="401 Unauthorized")
    origin = server.url("").rstrip("/")
    result = recipes.crawl("linkeddata", "https://alice.pod.example.org", origin, 1)
    assert result.graphs == {*map(server.url, ("/", "/public/", "/public/notes"))}
    assert "/public/no" not in server.targets


def test_archives(recipes: _Recipes, tmp_path: Path) -> None:
    """If archives are on this machine, then their captures are read."""
    archive = Archive()
    archive.add_statement("captured")
    (tmp_path / "a.warc.gz").write_bytes(archive.content())
    result = recipes.crawl("warc", "archive/", f"{tmp_path}/")
    assert result.graphs == {f"{HOST}/captured"}
