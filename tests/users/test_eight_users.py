"""Eight users of the installed package, each with the commands of a first day.

Each command runs in an empty folder, or in the user's own project.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

import pytest

from tests.conftest import LOOPBACK_NETS
from tests.support.ckan_sites import CkanSite
from tests.support.product_pages import DAMAGED, JSON_LD, MICRODATA, PAGE, RDFA
from tests.support.project import ADDON, LAB

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RawServer
    from tests.support.crawl_webs import Loopback
    from tests.support.project import InstalledPackage, Project
    from tests.support.project_fixtures import StartProject

_HERE = ("-s", f"GUARD_ALLOW_NETS={LOOPBACK_NETS}", "-s", "DOWNLOAD_DELAY=0")
_SITEMAP = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</urlset>'
_HTML = "text/html; charset=utf-8"


class User:
    """A person at a terminal, in a folder of their own."""

    def __init__(self, installed: InstalledPackage, folder: Path) -> None:
        self._installed = installed
        self.folder = folder

    def types(self, line: str, *, code: int = 0, on_web: bool = True) -> str:
        """Run a command; return all that it writes."""
        words = [*shlex.split(line), *(_HERE if on_web else ())]
        done = self._installed.run(*words, folder=self.folder)
        assert done.code == code, f"{line}\n{done.stderr}"
        assert "Traceback" not in done.stderr, done.stderr
        return done.stderr


@pytest.fixture
def user(installed: InstalledPackage, tmp_path: Path) -> User:
    """Return a person in an empty folder."""
    return User(installed, tmp_path)


@pytest.fixture(scope="module")
def shop(loopback: Loopback) -> RawServer:
    """Serve a shop: three products in its sitemap, a fourth on a category alone."""
    server = loopback(host="127.20.79.1")
    kinds = {"json": JSON_LD, "rdfa": RDFA, "micro": MICRODATA, "comma": DAMAGED}
    for name, text in kinds.items():
        page = PAGE.format(text).encode()
        server.pages[f"/{name}"] = loopback.response(page, _HTML)
    links = "".join(f"<a href=/{name}>{name}</a>" for name in kinds)
    server.pages["/lamps"] = loopback.response(links.encode(), _HTML)
    front = "<title>Shop</title><a href=/lamps>lamps</a><a href=/cart/1>cart</a>"
    server.pages["/"] = loopback.response(front.encode(), _HTML)
    listed = ("json", "rdfa", "micro", "gone")
    locs = "".join(f"<url><loc>{server.url(f'/{x}')}</loc></url>" for x in listed)
    sitemap = _SITEMAP.format(locs).encode()
    server.pages["/sitemap.xml"] = loopback.response(sitemap, "application/xml")
    rules = f"User-agent: *\nDisallow: /cart/\nSitemap: {server.url('/sitemap.xml')}\n"
    server.pages["/robots.txt"] = loopback.response(rules.encode(), "text/plain")
    return server


def test_newcomer(user: User, shop: RawServer) -> None:
    """If a newcomer has only a URL, then the commands lead from it to an answer."""
    url = shop.url("/")
    nothing = user.types(f"rdfcrawl crawl linkeddata -a seeds={url}")
    assert "hint" in nothing
    assert "-a follow=abox,hyperlink" in nothing
    seen = user.types(f"rdfcrawl look {url}")
    # By chance, only the page that writes https://schema.org is a sample.
    assert re.search(r"(?:schema:|https://schema\.org/)Product ", seen)
    (command,) = re.findall(r"^command +(.*)$", seen, re.MULTILINE)
    user.types(f"{command} -O products.csv -a items=schema:Product")
    assert (user.folder / "products.csv").read_text().count("19.50") == 3
    select = "SELECT ?name { ?p a schema:Product ; schema:name ?name }"
    query = f"rdfcrawl query -s CRAWL_ID=sitemap --format csv '{select}'"
    assert user.types(query).count("Lamp") == 2  # one page writes https://schema.org


def test_scrapy_developer(start_project: StartProject, shop: RawServer) -> None:
    """If a developer adds rdfcrawl to a project, then spiders yield items as ever."""
    project = start_project("developer")
    project.write(
        "spiders/lamps.py",
        f"""
        from rdfcrawl import LinkedDataSpider

        class LampSpider(LinkedDataSpider):
            name = "lamps"

            def parse_document(self, document):
                \"\"\"Yield products.

                @url {shop.url("/json")}
                @returns items 1 1
                \"\"\"
                for item in document.items(type="schema:Product"):
                    yield {{"name": item["name"], "price": item["offers"]["price"]}}
        """,
    )
    assert "Ran 1 contract" in project.run("check", "lamps").stderr
    seeds = f"seeds={shop.url('/')}"
    words = ("crawl", "lamps", "-a", seeds, "-a", "follow=abox,hyperlink")
    result = project.run(*words, "-a", "scope=host", "-O", "lamps.jl")
    assert result.code == 0, result.stderr
    lines = (project.folder / "lamps.jl").read_text(encoding="utf-8").splitlines()
    lamp = {"name": "Lamp \u00e9clair", "price": "19.50"}
    rows = map(json.loads, lines)  # of documents, too
    assert [row for row in rows if "price" in row] == [lamp] * 4


def test_open_data_team(user: User, loopback: Loopback) -> None:
    """If a portal is kept, then the second night has its changes, and only those."""
    site = CkanSite(loopback, "127.20.79.2")
    for name in ("lakes", "rivers", "towns"):
        site.dataset(name, {"url": site.file(f"/{name}.nt", "1")})
    command = f"rdfcrawl crawl ckan -a portals={site.at('/')}"
    assert "finished" in user.types(command)
    site.dataset("lakes", {"url": site.file("/lakes.nt", "2")}, notes="more")
    del site.packages["towns"]
    second = user.types(f"{command} -s REVISIT_SECS=0")
    assert "deleted" in second
    changes = user.types("rdfcrawl changes", on_web=False)
    # The dataset and its file: changed are those of lakes, deleted those of towns.
    assert re.search(r"all +0 +2 +3 +2\n", changes), changes


def test_graph_builder(user: User, shop: RawServer) -> None:
    """If a graph is built from a site, then one file has it, and a store equals it."""
    keep = f"rdfcrawl keep {shop.url('/')}"
    stores = """-s STORES='{"oxigraph:store": {}}'"""
    assert "kept; report:" in user.types(f"{keep} {stores}")
    user.types("rdfcrawl export --to shop.nt", on_web=False)
    lines = (user.folder / "shop.nt").read_text(encoding="utf-8").splitlines()
    assert sum("schema.org/price>" in line for line in lines) == 4
    verified = user.types("rdfcrawl store verify oxigraph:store", on_web=False)
    assert "0 missing, 0 stale, 0 surplus" in verified


def test_researcher(user: User, shop: RawServer) -> None:
    """If sitemaps are judged, then the report has their coverage and dead entries."""
    keep = f"rdfcrawl keep {shop.url('/')}"
    user.types(keep)
    figures = json.loads(user.types("rdfcrawl report --json", on_web=False))
    text = json.dumps(figures)
    assert shop.url("/comma") in text  # not listed
    assert shop.url("/gone") in text  # listed, and not there


def test_operator(user: User, loopback: Loopback) -> None:
    """If a host fails for a while, then its URLs are named, and a retry gets them."""
    body = loopback.response(b"<> <urn:x:p> 1 .")
    server = loopback({"/a": body}, host="127.20.79.4")
    server.pages["/b"] = loopback.response(b"", status="500 No")
    seeds = ",".join(server.url(path) for path in ("/a", "/b"))
    crawl = f"rdfcrawl crawl linkeddata -a seeds={seeds}"
    first = user.types(f"{crawl} -s RETRY_TIMES=0 -s HOST_PATIENCE_SECS=0")
    assert "1 of 2 seeds failed" in first
    assert "http_status" in first or "server_error" in first
    user.types("rdfcrawl frontier status", on_web=False)
    explained = user.types(f"rdfcrawl explain {server.url('/b')}", on_web=False)
    assert "500" in explained
    server.pages["/b"] = body
    assert "seeds failed" not in user.types(f"{crawl} -a retry=failed")


def test_site_owner(user: User, shop: RawServer) -> None:
    """If an owner asks about a page, then the rule that kept it away is shown."""
    cart = shop.url("/cart/1")
    user.types(
        f"rdfcrawl crawl linkeddata -a seeds={shop.url('/')}"
        " -a scope=host -a follow=hyperlink"
    )
    assert "/cart/1" not in shop.targets
    explained = user.types(f"rdfcrawl explain {cart}", on_web=False)
    assert "robots_disallowed" in explained


def test_extension_author(start_project: StartProject, loopback: Loopback) -> None:
    """If an author adds a media type, then crawls and `rdf` read its documents."""
    project: Project = start_project("author", LAB + ADDON)
    project.add_settings('EXTRACTORS = {"text/x-pairs": "author.pairs.PairsExtractor"}')
    project.write(
        "pairs.py",
        """
        from rdfcrawl import iri, literal, statement

        class PairsExtractor:
            def extract(self, document):
                for line in document.text.splitlines():
                    name, _, value = line.partition("=")
                    subject = iri(document.url)
                    yield statement(subject, iri(f"urn:x:{name}"), literal(value))
        """,
    )
    server = loopback({"/": loopback.response(b"a=1\nb=2", "text/x-pairs")})
    shown = project.run("rdf", server.url("/"))
    assert shown.stderr.count("urn:x:") == 2
    result = project.run("crawl", "linkeddata", "-a", f"seeds={server.url('/')}")
    assert result.code == 0
    assert "quads         2" in result.stderr
