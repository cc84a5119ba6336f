"""Crawls of a data web that was made from the specifications alone."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph as ox
import pytest

from rdfcrawl.stores.reading import iter_quads
from tests.otherweb.recall import missing
from tests.otherweb.web import OtherWeb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.crawl_fixtures import Commands, CrawlResult

KINDS = [
    "303",
    "hash",
    "negotiation",
    "void",
    "sparql named",
    "sparql unnamed",
    "sparql terse",
    "sparql posted",
    "description named",
    "description unnamed",
    "ckan dcat",
    "ckan plain",
    "ckan listed",
    "ckan folder",
    "sitemap",
    "semantic sitemap",
    "rdfa",
]


@pytest.fixture(scope="module")
def web() -> Iterator[OtherWeb]:
    """Yield the web, served."""
    with OtherWeb() as web:
        yield web


@pytest.fixture(scope="module")
def crawl(web: OtherWeb, commands: Commands) -> CrawlResult:
    """Crawl all of it from one seed, once."""
    result = commands.crawl([web.seed], arguments={"harvest": "all"})
    assert result.code == 0, result.stderr
    return result


@pytest.fixture
def fresh_web() -> Iterator[OtherWeb]:
    """Yield a separate web, so that no other crawl is seen in its requests."""
    with OtherWeb() as web:
        yield web


@pytest.fixture(scope="module")
def found(crawl: CrawlResult) -> set[ox.Triple]:
    """Stored statements, read by another implementation."""
    return read(crawl)


def read(crawl: CrawlResult) -> set[ox.Triple]:
    """Return all stored statements, without the names of their graphs."""
    data = b"".join(iter_quads(crawl.folder / "quads"))
    return {quad.triple for quad in ox.parse(data, format=ox.RdfFormat.N_QUADS)}


@pytest.mark.in_turn(2, rooms=("sources",))
@pytest.mark.parametrize("kind", KINDS)
def test_all_is_found_from_one_seed(
    kind: str, web: OtherWeb, found: set[ox.Triple]
) -> None:
    """If one seed leads to a site in any documented way, then all of it is stored."""
    truth = web.truth()[kind]
    assert truth
    assert missing(truth, found) == []


def test_the_kinds_are_all(web: OtherWeb) -> None:
    """If a kind of node is added, then it is among those that are compared."""
    assert sorted(web.truth()) == sorted(KINDS)


def test_nothing_is_invented(web: OtherWeb, crawl: CrawlResult) -> None:
    """If a document is of Linked Data, then its graph has exactly its statements."""
    truth = {triple for name in KINDS[:3] for triple in web.truth()[name]}
    roots = (web.hub.root, web.hashes.root, web.negotiating.root)
    data = b"".join(iter_quads(crawl.folder / "quads"))
    stored = {
        quad.triple
        for quad in ox.parse(data, format=ox.RdfFormat.N_QUADS)
        if isinstance(quad.graph_name, ox.NamedNode)
        and quad.graph_name.value.startswith(roots)
    }
    assert stored
    assert missing(stored, truth) == []


@pytest.mark.usefixtures("crawl")
def test_nothing_is_requested_against_robots(web: OtherWeb) -> None:
    """If robots.txt forbids a path, then it is not requested, also by a redirect."""
    assert web.trespasses() == []


def test_a_closed_api_is_called_closed(web: OtherWeb, crawl: CrawlResult) -> None:
    """If robots.txt forbids the API of a portal, then that is the only fault."""
    reasons = crawl.faults(web.portals["dcat"].front + "/")
    assert set(reasons) == {"robots_disallowed"}


@pytest.mark.usefixtures("crawl")
def test_hardly_anything_is_requested_twice(web: OtherWeb) -> None:
    """If a URL was fetched, then it is not fetched again.

    Except for robots.txt, which is read for its rules and as a list of sitemaps, and a
    service, which is read as a document and then for its description.
    """
    allowed = {f"GET {site.url('/robots.txt')}" for site in web.sites}
    allowed |= {f"GET {service.endpoint}" for service in web.services.values()}
    asked = web.asked_twice()
    assert set(asked) <= allowed
    assert set(asked.values()) <= {2}


@pytest.mark.usefixtures("crawl")
def test_a_dump_stands_for_its_pages(web: OtherWeb) -> None:
    """If a dataset has a dump, then of its pages only the sample is fetched."""
    targets = [request.target for request in web.semantic.requests]
    assert [x for x in targets if x.startswith("/thing/")] == ["/thing/3"]


def test_private_data_are_not_found(web: OtherWeb, found: set[ox.Triple]) -> None:
    """If a package is private, a draft or deleted, then nothing of it is stored."""
    hidden = {
        package["id"]
        for portal in web.portals.values()
        for package in portal.holdings.packages
        if package["state"] != "active" or package["private"]
    }
    assert hidden
    named = {t.subject.value for t in found if isinstance(t.subject, ox.NamedNode)}
    assert not [name for name in named if any(each in name for each in hidden)]


def run(
    commands: Commands, spider: str, argument: str, urls: list[str]
) -> set[ox.Triple]:
    """Return the statements that a spider stores of the named sources."""
    arguments = {argument: ",".join(urls)}
    result = commands.crawl(arguments=arguments, spider=spider)
    assert result.code == 0, result.stderr
    return read(result)


def test_the_spider_for_endpoints(fresh_web: OtherWeb, commands: Commands) -> None:
    """If endpoints are named, then all statements behind them are stored."""
    services = fresh_web.services
    stored = run(
        commands, "sparql", "endpoints", [x.endpoint for x in services.values()]
    )
    for name, service in services.items():
        assert missing(service.published(), stored) == [], name


def test_the_spider_for_portals(fresh_web: OtherWeb, commands: Commands) -> None:
    """If portals are named, then their packages and their contents are stored."""
    portals = fresh_web.portals
    stored = run(commands, "ckan", "portals", [x.front for x in portals.values()])
    for name, portal in portals.items():
        assert missing(portal.published_by_api(), stored) == [], name


def test_the_spider_for_sitemaps(fresh_web: OtherWeb, commands: Commands) -> None:
    """If sites are named, then their pages and datasets are stored."""
    urls = [fresh_web.mapped.url(), fresh_web.semantic.url()]
    stored = run(commands, "sitemap", "sites", urls)
    assert missing(fresh_web.mapped.published(), stored) == []
    assert missing(fresh_web.semantic.listed(), stored) == []
    assert missing(fresh_web.mapped.published_as_rdfa(), stored) == []


def test_recall_sees_losses() -> None:
    """If a statement or one around a blank node is lost, then that is noticed."""
    text = b"<a:s> <a:p> 1 . <a:s> <a:q> [ <a:r> 2 ; <a:t> [ <a:r> 3 ] ] ."
    truth = [q.triple for q in ox.parse(text, format=ox.RdfFormat.TURTLE)]
    copy = [q.triple for q in ox.parse(text, format=ox.RdfFormat.TURTLE)]
    assert missing(truth, copy) == []
    inner, ground = ox.Literal(3), ox.Literal(1)
    without = [triple for triple in copy if triple.object != inner]
    assert len(missing(truth, without)) == len(truth) - 1
    (lost,) = missing(truth, [triple for triple in copy if triple.object != ground])
    assert lost.object == ground


def test_servers_know_nothing_of_the_crawler() -> None:
    """If the web imported the crawler, it would judge it by itself."""
    imported = {
        name
        for path in (Path(__file__).parents[2] / "otherweb").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [
            getattr(node, "module", None) or "",
            *(alias.name for alias in node.names),
        ]
    }
    assert "tests.otherweb.site" in imported
    assert not [name for name in imported if name.split(".")[0] == "rdfcrawl"]
    assert not [n for n in imported if n.startswith("tests.") and "otherweb" not in n]
