"""Data that documents describe: VoID, DCAT, schema.org; Hydra, TREE and LDES."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.nodes.catalog import CatalogOptions, DatasetOffer
from rdfcrawl.dataweb.nodes.paged import PagedOptions, PagingStyle
from rdfcrawl.dataweb.nodes.portal import PortalOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.dataweb.nodes.catalog import CatalogNode
    from rdfcrawl.dataweb.nodes.paged import PagedNode
    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

PREFIXES = """
@prefix void: <http://rdfs.org/ns/void#> .
@prefix dcat: <http://www.w3.org/ns/dcat#> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix hydra: <http://www.w3.org/ns/hydra/core#> .
@prefix ldes: <https://w3id.org/ldes#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix tree: <https://w3id.org/tree#> .
@prefix x: <urn:x:> .
"""
NONE = {"follow": "none"}
SD = "http://www.w3.org/ns/sparql-service-description#"


class Site:
    """A scripted site."""

    def __init__(self, loopback: Loopback, host: str) -> None:
        self._loopback = loopback
        self.server: RawServer = loopback(host=host)
        self.at = self.server.url

    def put(self, path: str, turtle: str, **headers: str) -> str:
        """Serve Turtle, with the usual prefixes; return its URL."""
        body = (PREFIXES + turtle).encode()
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        self.server.pages[path] = self._loopback.response(body, "text/turtle", **fields)
        return self.at(path)

    def page(self, path: str) -> str:
        """Serve a page of one statement; return its URL."""
        return self.put(path, f'<> x:says "{path}" .')

    def asked(self) -> Counter[str]:
        """Return how often each target was asked for."""
        targets = Counter(self.server.targets)
        del targets["/robots.txt"]
        return targets


@pytest.fixture(scope="module")
def web() -> Iterator[LocalWeb]:
    """Yield what serves the data web's nodes."""
    with LocalWeb(first_address="127.93.0.1", n_hosts=24) as web:
        yield web


def triples(result: CrawlResult) -> set[tuple[str, str, str]]:
    """Return what was stored, whatever the graph."""
    return {(s, p, o) for s, p, o, _ in result.latest_quads}


def missing(result: CrawlResult, statements: list[tuple[str, str, str]]) -> list[str]:
    """Return the subjects of statements that were not stored."""
    there = {s for s, p, _ in triples(result) if p.endswith(("#label", "#modified"))}
    return [s for s, *_ in statements if s[1:-1] not in there]


# -- VoID, DCAT, schema.org ------------------------------------------------------------


def test_every_offer_is_taken(commands: Commands, web: LocalWeb) -> None:
    """If a site describes its datasets in any way, then all their data come."""
    site: CatalogNode = web.start(CatalogOptions())
    result = commands.crawl(
        [site.origin + "/", site.origin + "/datasets.html"],
        arguments={"harvest": "sparql"},
    )
    assert result.code == 0, result.stderr
    assert missing(result, list(site.iter_truth())) == []


def test_dump_is_found_in_a_long_document(
    commands: Commands, loopback: Loopback
) -> None:
    """If a dataset is described amid many statements, then its data come."""
    site = Site(loopback, "127.0.0.52")
    many = "".join(f'<#{n}> x:says "{"long " * 20}{n}" .\n' for n in range(3_000))
    site.put("/dump.ttl", '<urn:all> x:says "dumped" .')
    described = "<#data> void:dataDump </dump.ttl> .\n"
    seed = site.put("/about", many + described + many.replace("long", "more"))
    result = commands.crawl([seed], arguments=NONE)
    assert ("urn:all", "urn:x:says", '"dumped"') in triples(result)
    assert len(triples(result)) == 6_002


def test_dataset_with_dump_and_endpoint_is_taken_by_its_dump(
    commands: Commands, web: LocalWeb
) -> None:
    """If a dataset has both, and three documents say so, then its dump comes, once."""
    site = web.start(CatalogOptions(offers=(DatasetOffer.ALL,)))
    result = commands.crawl(
        [site.void_url, site.catalog_url, site.origin + "/datasets.html"],
        arguments=NONE,
    )
    asked = Counter(web.targets(site))
    assert asked["/data/all.nt.gz"] == 1
    assert not any("/sparql" in target for target in asked)
    assert max(asked.values()) == 1
    assert missing(result, list(site.iter_truth())) == []


def test_endpoint_of_a_dataset_with_a_dump_is_not_harvested(
    commands: Commands, loopback: Loopback
) -> None:
    """If an endpoint describes itself, but its dataset has a dump, then that is it."""
    site = Site(loopback, "127.94.1.9")
    query = site.at("/query")
    site.put("/all.nt", "<urn:x:s> <urn:x:p> <urn:x:o> .")
    site.put(
        "/void.ttl",
        f"<#d> void:dataDump </all.nt> ; void:sparqlEndpoint <{query}> ."
        " <#d> <urn:x:see> </about> .",
    )
    site.put("/about", f"<{query}#service> <{SD}endpoint> <{query}> .")
    result = commands.crawl([site.at("/void.ttl")])
    assert result.code == 0, result.stderr
    assert site.asked()["/all.nt"] == 1
    assert "/about" in site.asked()
    assert not any(target.startswith("/query") for target in site.asked())


def test_endpoint_of_a_second_dataset_is_harvested(
    commands: Commands, loopback: Loopback
) -> None:
    """If one of two datasets behind an endpoint has no dump, then it is harvested."""
    site = Site(loopback, "127.94.1.10")
    query = site.at("/query")
    site.put("/all.nt", "<urn:x:s> <urn:x:p> <urn:x:o> .")
    site.put(
        "/void.ttl",
        f"<#d> void:dataDump </all.nt> ; void:sparqlEndpoint <{query}> ."
        f" <#e> void:sparqlEndpoint <{query}> .",
    )
    result = commands.crawl([site.at("/void.ttl")], arguments=NONE)
    assert result.code == 0, result.stderr
    assert site.asked()["/all.nt"] == 1
    assert any(target.startswith("/query") for target in site.asked())


def test_dump_that_fails_is_replaced_by_the_endpoint(
    commands: Commands, web: LocalWeb, loopback: Loopback
) -> None:
    """If a dump cannot be had, then the endpoint is harvested."""
    offer = DatasetOffer.VOID_SPARQL
    node = web.start(CatalogOptions(offers=(offer,)))
    site = Site(loopback, "127.94.1.1")
    site.put(
        "/void.ttl",
        f"<#d> void:dataDump </gone.nt.gz> ; "
        f"void:sparqlEndpoint <{node.endpoint_url(offer)}> .",
    )
    result = commands.crawl([site.at("/void.ttl")], arguments=NONE)
    assert site.asked() == {"/void.ttl": 1, "/gone.nt.gz": 1}
    assert missing(result, node.dataset(offer)) == []


def test_way_that_is_named_later_is_taken_when_others_fail(
    commands: Commands, loopback: Loopback
) -> None:
    """If one document names a dump, another an endpoint, then what works is taken."""
    site = Site(loopback, "127.94.1.4")
    dataset = f"<{site.at('/about#d')}>"
    first = site.put("/1", f"{dataset} void:dataDump </gone.nt> .")
    endpoint = site.at("/query")
    later = site.put("/2", f"{dataset} void:sparqlEndpoint <{endpoint}> .")
    folder = commands.folder()
    commands.crawl([first], arguments=NONE, folder=folder)
    assert "/query" not in " ".join(site.asked())
    commands.crawl([later], arguments=NONE, folder=folder)
    assert "/query" in " ".join(site.asked())
    assert site.asked()["/gone.nt"] == 2  # each run tries the best way first


def test_distributions_that_are_no_rdf_are_left_out(
    commands: Commands, loopback: Loopback
) -> None:
    """If a distribution is said to be something else, then it is not fetched."""
    site = Site(loopback, "127.94.1.2")
    seed = site.put(
        "/catalog.ttl",
        """
        <#d> dcat:distribution <#1>, <#2>, <#3>, <#4>, <#5> .
        <#1> dcat:downloadURL </a.csv> .
        <#2> dcat:downloadURL </b> ; dcat:mediaType
          <http://www.iana.org/assignments/media-types/application/pdf> .
        <#3> dcat:accessURL </c> ; dct:format [ a dct:IMT ;
          rdf:value "application/vnd.ms-excel" ] .
        <#4> dcat:downloadURL </d> ; dct:format "Turtle" .
        <#5> dcat:accessURL </e> .
        """,
    )
    for path in "abcde":
        site.page(f"/{path}")
    site.page("/a.csv")
    result = commands.crawl([seed])
    assert site.asked() == {"/catalog.ttl": 1, "/d": 1, "/e": 1}
    assert result.statistics["link/no_rdf"] == 3


def test_formats_of_one_dataset_are_alternatives(
    commands: Commands, loopback: Loopback
) -> None:
    """If data come in several formats, then the best that works is taken."""
    site = Site(loopback, "127.94.1.3")
    urls = [f"<{site.at('/all' + end)}>" for end in (".rdf", ".nt", ".ttl", ".csv")]
    seed = site.put(
        "/catalog.ttl",
        "".join(
            f"<#d> dcat:distribution <#{n}> . <#{n}> dcat:downloadURL {url} .\n"
            for n, url in enumerate(urls)
        ),
    )
    site.page("/all.ttl")
    site.page("/all.rdf")
    commands.crawl([seed], arguments=NONE)
    assert site.asked() == {"/catalog.ttl": 1, "/all.nt": 1, "/all.ttl": 1}


@pytest.mark.parametrize("is_own", [True, False], ids=["own", "of another site"])
def test_uri_space_is_covered_by_the_dump_of_its_site(
    commands: Commands, loopback: Loopback, *, is_own: bool
) -> None:
    """If a dump has a URI space, then its URIs are not crawled: if the site says so."""
    site = Site(loopback, f"127.94.2.{1 + is_own}")
    other = Site(loopback, f"127.94.2.{3 + is_own}")
    pages = [site.page(f"/r/{n}") for n in range(3)]
    site.put("/r/dump.ttl", "".join(f"<{x}> x:next <{x}> .\n" for x in pages))
    describing = site if is_own else other
    seed = describing.put(
        "/void.ttl",
        f'<#d> void:uriSpace "{site.at("/r/")}" ; '
        f"void:dataDump <{site.at('/r/dump.ttl')}> ; "
        f"void:exampleResource <{pages[0]}> .",
    )
    commands.crawl([seed])
    asked = set(site.asked()) - {"/void.ttl"}
    expected = {"/r/dump.ttl"}
    if not is_own:
        expected |= {f"/r/{n}" for n in range(3)}
    assert asked == expected


@pytest.mark.parametrize(("follow", "is_read"), [("none", True), ("-dataset", False)])
def test_root_resources_are_links(
    commands: Commands, loopback: Loopback, follow: str, *, is_read: bool
) -> None:
    """If nothing is followed, then root resources are: unless `-dataset` says not."""
    site = Site(loopback, f"127.94.3.{1 + is_read}")
    paths = ["/root", "/example", "/subset"]
    for path in paths:
        site.page(path)
    seed = site.put(
        "/void.ttl",
        "<#d> void:rootResource </root> ; void:exampleResource </example> ;"
        " void:subset </subset> ; void:dataDump </all.nt> .",
    )
    commands.crawl([seed], arguments={"follow": f"{follow},subject"})
    # Without `dataset`, objects are no links here.
    expected = {"/void.ttl", *paths, "/all.nt"} if is_read else {"/void.ttl"}
    assert set(site.asked()) == expected


def test_well_known_void_is_asked_for_once(commands: Commands, web: LocalWeb) -> None:
    """If `harvest` has `void`, then each site is asked once, and its data are taken."""
    options = CatalogOptions(
        offers=(DatasetOffer.VOID_DUMP, DatasetOffer.VOID_ROOT), links_pages=False
    )
    site, bare = web.start(options), web.start(PagedOptions(styles=(PagingStyle.LINK,)))
    result = commands.crawl(
        [site.origin + "/", bare.first_url(PagingStyle.LINK)],
        arguments={"harvest": "void"},
    )
    for each in (site, bare):
        assert web.targets(each).count("/.well-known/void") == 1
    assert missing(result, list(site.iter_truth())) == []
    assert result.faults(bare.origin + "/.well-known/void") == []


def test_sitemap_spider_asks_for_the_void_of_a_site(
    commands: Commands, web: LocalWeb
) -> None:
    """If a site is named to the sitemap spider, then its VoID is asked for, once."""
    site = web.start(CatalogOptions(offers=(DatasetOffer.VOID_DUMP,)))
    result = commands.crawl(arguments={"sites": site.origin}, spider="sitemap")
    assert web.targets(site).count("/.well-known/void") == 1
    assert missing(result, site.dataset(DatasetOffer.VOID_DUMP)) == []


# -- pages of collections --------------------------------------------------------------


def test_collections_of_many_pages_are_complete(
    commands: Commands, web: LocalWeb
) -> None:
    """If a collection has 50 pages, however they are linked, then each comes once."""
    node: PagedNode = web.start(PagedOptions(n_members=500))
    seeds = [node.first_url(style) for style in PagingStyle]
    result = commands.crawl(seeds, arguments={**NONE, "depth": 0})
    asked = Counter(web.targets(node))
    pages = {url for style in PagingStyle for url in node.page_urls(style)}
    assert {node.origin + x for x in asked if x != "/robots.txt"} == pages
    assert max(asked.values()) == 1
    assert missing(result, list(node.iter_truth())) == []
    assert all(result.faults(url) == [] for url in pages)


def test_pages_that_loop_come_to_an_end(commands: Commands, web: LocalWeb) -> None:
    """If the last page leads to the first, then that is a fault, and the end."""
    styles = (PagingStyle.HYDRA, PagingStyle.HYDRA_OLD, PagingStyle.LINK)
    node = web.start(PagedOptions(n_members=50, styles=styles, loops=True))
    seeds = [node.first_url(style) for style in styles]
    result = commands.crawl(seeds, arguments=NONE)
    for style in styles:
        assert result.faults(node.page_urls(style)[-1]) == ["paging_loop"]
    assert missing(result, list(node.iter_truth())) == []
    assert max(Counter(web.targets(node)).values()) == 1


def test_pages_without_an_end_come_to_one(
    commands: Commands, loopback: Loopback
) -> None:
    """If every page has the same members, then the pages after it are not asked for."""
    site = Site(loopback, "127.94.4.1")
    for n in range(1, 9):
        site.put(
            f"/c?page={n}",
            f"<> hydra:next </c?page={n + 1}> .<#c> hydra:member <urn:m:{min(n, 3)}> .",
        )
    result = commands.crawl([site.at("/c?page=1")], arguments=NONE)
    assert len(site.asked()) == 4
    assert result.faults(site.at("/c?page=4")) == ["paging_loop"]


def test_next_run_asks_for_pages_that_may_have_changed(
    commands: Commands, web: LocalWeb
) -> None:
    """If an event stream has grown, then full pages of it are not asked for again."""
    style = PagingStyle.LDES
    node = web.start(PagedOptions(n_members=45, styles=(style,)))
    folder = commands.folder()

    def crawl() -> CrawlResult:
        web.forget()
        return commands.crawl([node.first_url(style)], arguments=NONE, folder=folder)

    crawl()
    result = crawl()
    last = node.page_urls(style)[-1]
    (asked,) = [x for x in web.requests(node) if x.target != "/robots.txt"]
    assert (node.origin + asked.target, asked.status) == (last, 304)
    assert result.statuses(last) == ["SUCCESSFUL", "UNCHANGED"]
    assert missing(result, node.members(style)) == []

    node.revise(added=15)
    result = crawl()
    asked_for = [x for x in web.targets(node) if x != "/robots.txt"]
    assert [node.origin + x for x in asked_for] == node.page_urls(style)[-2:]
    assert missing(result, node.members(style)) == []


def test_page_that_says_so_is_immutable(commands: Commands, loopback: Loopback) -> None:
    """If a page itself says that it is immutable, then the next run leaves it alone."""
    site = Site(loopback, "127.94.4.2")
    site.put("/1", "<> tree:relation [ tree:node </2> ] ; ldes:immutable true .")
    site.put("/2", "<> a tree:Node ; x:says 2 .")
    folder = commands.folder()
    for _ in range(2):
        commands.crawl([site.at("/1")], arguments=NONE, folder=folder)
    assert site.asked() == {"/1": 1, "/2": 2}


def test_view_of_a_collection_is_followed(
    commands: Commands, loopback: Loopback
) -> None:
    """If a document names views of a collection, then one of them is read."""
    site = Site(loopback, "127.94.4.3")
    seed = site.put("/d", "<#c> tree:view </1>, </other> .")
    site.put("/1", "<#c> tree:view <> . <> tree:relation [ tree:node </2> ] .")
    site.put("/2", "<#c> tree:view </1> . <> a tree:Node .")
    site.page("/other")
    commands.crawl([seed], arguments=NONE)
    assert site.asked() in ({"/d": 1, "/1": 1, "/2": 1}, {"/d": 1, "/other": 1})


# -- the catalogue of a portal ---------------------------------------------------------


def test_catalogue_of_a_portal_stands_in_for_its_api(
    commands: Commands, web: LocalWeb
) -> None:
    """If the API of a portal is forbidden, then its catalogue is read, page by page."""
    portals = [
        web.start(PortalOptions(n_datasets=45, dcat="hydra", dcat_page=10)),
        web.start(PortalOptions(n_datasets=45, dcat="link", dcat_page=10)),
        web.start(PortalOptions(n_datasets=45, dcat="looping", dcat_page=10)),
    ]
    given = ",".join(portal.origin for portal in portals)
    result = commands.crawl(
        arguments={"portals": given}, spider="ckan", CKAN_ROBOTS="always"
    )
    datasets = {
        s for s, p, o in triples(result)
        if p.endswith("#type") and o == "http://www.w3.org/ns/dcat#Dataset"
    }  # fmt: skip
    assert len(datasets) == 3 * 45
    for portal in portals:
        asked = Counter(web.targets(portal))
        assert not any("/api/" in target for target in asked)
        assert max(asked.values()) == 1


def test_catalogue_in_another_format_is_tried(
    commands: Commands, loopback: Loopback
) -> None:
    """If the API and the first format fail, then the next format is asked for."""
    site = Site(loopback, "127.94.5.1")
    site.page("/catalog.jsonld")
    commands.crawl(arguments={"portals": site.at("/")}, spider="ckan")
    order = [x for x in site.server.targets if x.startswith("/catalog")]
    assert order == ["/catalog.ttl", "/catalog.rdf", "/catalog.jsonld"]


def test_alternate_of_a_portal_page_is_a_link(
    commands: Commands, loopback: Loopback
) -> None:
    """If the page of a dataset names its data, then they are fetched."""
    site = Site(loopback, "127.94.5.2")
    link = '<link rel="alternate" type="text/turtle" href="/dataset/1.ttl">'
    page = (
        f'<html><head><meta name="generator" content="ckan 2.9.0">{link}</head></html>'
    )
    site.server.pages["/dataset/1"] = loopback.response(page.encode(), "text/html")
    site.page("/dataset/1.ttl")
    result = commands.crawl([site.at("/dataset/1")], arguments={"harvest": "none"})
    assert site.at("/dataset/1.ttl") in result.graphs
