"""Data that documents describe: VoID, DCAT, schema.org; Hydra, TREE and LDES."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.nodes.catalog import CatalogOptions, DatasetOffer
from rdfcrawl.dataweb.nodes.paged import PagedOptions, PagingStyle
from rdfcrawl.dataweb.nodes.portal import PortalOptions
from tests.support.described_sites import SharedCrawl, TurtleSite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.dataweb.nodes.catalog import CatalogNode
    from rdfcrawl.dataweb.nodes.paged import PagedNode
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

NONE = {"follow": "none"}
LOOPING = PagingStyle.HYDRA, PagingStyle.HYDRA_OLD, PagingStyle.LINK
SD = "http://www.w3.org/ns/sparql-service-description#"


@pytest.fixture(scope="module")
def web() -> Iterator[LocalWeb]:
    """Yield a server of the data web's nodes."""
    with LocalWeb(first_address="127.93.0.1", n_hosts=24) as web:
        yield web


def triples(result: CrawlResult) -> set[tuple[str, str, str]]:
    """Return the stored statements, in any graph."""
    return {(s, p, o) for s, p, o, _ in result.latest_quads}


def missing(result: CrawlResult, statements: list[tuple[str, str, str]]) -> list[str]:
    """Return the subjects of statements that were not stored."""
    there = {s for s, p, _ in triples(result) if p.endswith(("#label", "#modified"))}
    return [s for s, *_ in statements if s[1:-1] not in there]


# -- crawls of many sites, each of which is a test's ----------------------------------


class UnfollowedCrawl(SharedCrawl):
    """A crawl that follows only described data.

    Attributes:
        both_ways: a dataset with a dump and an endpoint.
        endpoint: one that is described by `without_dump`.
        without_dump: its dump is unavailable.
        looping: pages without an end, of the styles `LOOPING`.
    """

    def __init__(self, loopback: Loopback, web: LocalWeb) -> None:
        described = [
            *(describe_amid_many_statements, describe_two_datasets),
            *(describe_alternatives, describe_endless_pages, describe_views),
        ]
        super().__init__(loopback, 7, described)
        node = self.both_ways = web.start(CatalogOptions(offers=(DatasetOffer.ALL,)))
        self.seeds += [node.void_url, node.catalog_url, node.origin + "/datasets.html"]
        offer = DatasetOffer.VOID_SPARQL
        self.endpoint = web.start(CatalogOptions(offers=(offer,)))
        self.without_dump = self.new_site()
        endpoint = f"void:sparqlEndpoint <{self.endpoint.endpoint_url(offer)}>"
        text = f"<#d> void:dataDump </gone.nt.gz> ; {endpoint} ."
        self.seeds.append(self.without_dump.put("/void.ttl", text))
        options = PagedOptions(n_members=50, styles=LOOPING, loops=True)
        self.looping = web.start(options)
        self.seeds += [self.looping.first_url(style) for style in LOOPING]


class FollowedCrawl(SharedCrawl):
    """A crawl that follows links.

    Attributes:
        described_elsewhere: a site whose URI space another one describes.
    """

    def __init__(self, loopback: Loopback) -> None:
        described = [
            *(describe_dump_and_endpoint, describe_other_formats, describe_uri_space),
        ]
        super().__init__(loopback, 8, described)
        self.described_elsewhere = self.new_site()
        self.seeds += describe_uri_space(self.described_elsewhere, self.new_site())


@pytest.fixture(scope="module")
def unfollowed(
    commands: Commands, loopback: Loopback, web: LocalWeb
) -> UnfollowedCrawl:
    """Return a crawl that follows only described data."""
    shared = UnfollowedCrawl(loopback, web)
    shared.result = commands.crawl(shared.seeds, arguments=NONE)
    assert shared.result.code == 0, shared.result.stderr
    return shared


@pytest.fixture(scope="module")
def followed(commands: Commands, loopback: Loopback) -> FollowedCrawl:
    """Return a crawl that follows links."""
    shared = FollowedCrawl(loopback)
    shared.result = commands.crawl(shared.seeds)
    assert shared.result.code == 0, shared.result.stderr
    return shared


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


def describe_amid_many_statements(site: TurtleSite) -> list[str]:
    """Describe a dump in the middle of a long document."""
    many = "".join(f'<#{n}> x:says "{"long " * 20}{n}" .\n' for n in range(3_000))
    site.put("/dump.ttl", '<urn:all> x:says "dumped" .')
    described = "<#data> void:dataDump </dump.ttl> .\n"
    return [site.put("/about", many + described + many.replace("long", "more"))]


def test_dump_is_found_in_a_long_document(unfollowed: SharedCrawl) -> None:
    """If a dataset is described amid many statements, then its data come."""
    site = unfollowed.site(describe_amid_many_statements)
    there = [
        (s, p, o, g)
        for s, p, o, g in unfollowed.result.latest_quads
        if g.startswith(site.at("/"))
    ]
    assert ("urn:all", "urn:x:says", '"dumped"', site.at("/dump.ttl")) in there
    assert len(there) == 6_002


def test_dataset_with_dump_and_endpoint_is_taken_by_its_dump(
    unfollowed: UnfollowedCrawl, web: LocalWeb
) -> None:
    """If a dataset has both, and three documents say so, then its dump comes, once."""
    site = unfollowed.both_ways
    asked = Counter(web.targets(site))
    assert asked["/data/all.nt.gz"] == 1
    assert not any("/sparql" in target for target in asked)
    assert max(asked.values()) == 1
    assert missing(unfollowed.result, list(site.iter_truth())) == []


def describe_dump_and_endpoint(site: TurtleSite) -> list[str]:
    """Describe a dataset with a dump, whose endpoint describes itself."""
    query = site.at("/query")
    site.put("/all.nt", "<urn:x:s> <urn:x:p> <urn:x:o> .")
    site.put("/about", f"<{query}#service> <{SD}endpoint> <{query}> .")
    described = f"<#d> void:dataDump </all.nt> ; void:sparqlEndpoint <{query}> ."
    return [site.put("/void.ttl", f"{described} <#d> <urn:x:see> </about> .")]


def test_endpoint_of_a_dataset_with_a_dump_is_not_harvested(
    followed: SharedCrawl,
) -> None:
    """If an endpoint describes itself, but its dataset has a dump, then that is it."""
    asked = followed.site(describe_dump_and_endpoint).asked()
    assert asked["/all.nt"] == 1
    assert "/about" in asked
    assert not any(target.startswith("/query") for target in asked)


def describe_two_datasets(site: TurtleSite) -> list[str]:
    """Describe two datasets behind an endpoint, of which one has a dump."""
    query = site.at("/query")
    site.put("/all.nt", "<urn:x:s> <urn:x:p> <urn:x:o> .")
    first = f"<#d> void:dataDump </all.nt> ; void:sparqlEndpoint <{query}> ."
    return [site.put("/void.ttl", f"{first} <#e> void:sparqlEndpoint <{query}> .")]


def test_endpoint_of_a_second_dataset_is_harvested(unfollowed: SharedCrawl) -> None:
    """If one of two datasets behind an endpoint has no dump, then it is harvested."""
    asked = unfollowed.site(describe_two_datasets).asked()
    assert asked["/all.nt"] == 1
    assert any(target.startswith("/query") for target in asked)


def test_dump_that_fails_is_replaced_by_the_endpoint(
    unfollowed: UnfollowedCrawl,
) -> None:
    """If a dump is unavailable, then the endpoint is harvested."""
    asked = unfollowed.without_dump.asked()
    assert asked == {"/void.ttl": 1, "/gone.nt.gz": 1}
    truth = unfollowed.endpoint.dataset(DatasetOffer.VOID_SPARQL)
    assert missing(unfollowed.result, truth) == []


def test_way_that_is_named_later_is_taken_when_others_fail(
    commands: Commands, loopback: Loopback
) -> None:
    """If one document names a dump, another an endpoint, the working one is taken."""
    site = TurtleSite(loopback, "127.94.1.4")
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


def describe_other_formats(site: TurtleSite) -> list[str]:
    """Describe distributions that are said to be something else, and two others."""
    for path in ("a.csv", *"abcde"):
        site.page(f"/{path}")
    described = """
        <#d> dcat:distribution <#1>, <#2>, <#3>, <#4>, <#5> .
        <#1> dcat:downloadURL </a.csv> .
        <#2> dcat:downloadURL </b> ; dcat:mediaType
          <http://www.iana.org/assignments/media-types/application/pdf> .
        <#3> dcat:accessURL </c> ; dct:format [ a dct:IMT ;
          rdf:value "application/vnd.ms-excel" ] .
        <#4> dcat:downloadURL </d> ; dct:format "Turtle" .
        <#5> dcat:accessURL </e> .
        """
    return [site.put("/catalog.ttl", described)]


def test_distributions_that_are_no_rdf_are_left_out(followed: SharedCrawl) -> None:
    """If a distribution is said to be something else, then it is not fetched."""
    asked = followed.site(describe_other_formats).asked()
    assert asked == {"/catalog.ttl": 1, "/d": 1, "/e": 1}
    assert followed.result.statistics["link/no_rdf"] == 3


def describe_alternatives(site: TurtleSite) -> list[str]:
    """Describe data in four formats, of which two are available."""
    urls = [f"<{site.at('/all' + end)}>" for end in (".rdf", ".nt", ".ttl", ".csv")]
    site.page("/all.ttl")
    site.page("/all.rdf")
    described = "".join(
        f"<#d> dcat:distribution <#{n}> . <#{n}> dcat:downloadURL {url} .\n"
        for n, url in enumerate(urls)
    )
    return [site.put("/catalog.ttl", described)]


def test_formats_of_one_dataset_are_alternatives(unfollowed: SharedCrawl) -> None:
    """If data come in several formats, then the best that works is taken."""
    asked = unfollowed.site(describe_alternatives).asked()
    assert asked == {"/catalog.ttl": 1, "/all.nt": 1, "/all.ttl": 1}


def describe_uri_space(site: TurtleSite, by: TurtleSite | None = None) -> list[str]:
    """Have a site, or another one, describe a dump of its URI space."""
    pages = [site.page(f"/r/{n}") for n in range(3)]
    site.put("/r/dump.ttl", "".join(f"<{x}> x:next <{x}> .\n" for x in pages))
    described = (
        f'<#d> void:uriSpace "{site.at("/r/")}" ; '
        f"void:dataDump <{site.at('/r/dump.ttl')}> ; "
        f"void:exampleResource <{pages[0]}> ."
    )
    return [(by or site).put("/void.ttl", described)]


def test_uri_space_is_covered_by_the_dump_of_its_site(followed: SharedCrawl) -> None:
    """If a site says that a dump has a URI space, then its URIs are not crawled."""
    site = followed.site(describe_uri_space)
    assert set(site.asked()) == {"/void.ttl", "/r/dump.ttl"}


def test_uri_space_is_not_covered_by_the_word_of_another_site(
    followed: FollowedCrawl,
) -> None:
    """If another site says that a dump has a URI space, then its URIs are crawled."""
    asked = set(followed.described_elsewhere.asked())
    assert asked == {"/r/dump.ttl", *(f"/r/{n}" for n in range(3))}


@pytest.mark.parametrize(("follow", "is_read"), [("none", True), ("-dataset", False)])
def test_root_resources_are_links(
    commands: Commands, loopback: Loopback, follow: str, *, is_read: bool
) -> None:
    """If nothing is followed, then root resources are: unless `-dataset` says not."""
    site = TurtleSite(loopback, f"127.94.3.{1 + is_read}")
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


def test_well_known_void_is_requested_once(commands: Commands, web: LocalWeb) -> None:
    """If `harvest` has `void`, then each site gets one request, and gives its data."""
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
    """If a site is named to the sitemap spider, then its VoID is requested, once."""
    site = web.start(CatalogOptions(offers=(DatasetOffer.VOID_DUMP,)))
    # It is a part of the source, whatever pages are allowed.
    arguments = {"sites": site.origin, "allow": r"^http://[^/]+/(?!\.well-known)"}
    result = commands.crawl(arguments=arguments, spider="sitemap")
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


def test_pages_that_loop_come_to_an_end(
    unfollowed: UnfollowedCrawl, web: LocalWeb
) -> None:
    """If the last page leads to the first, then that is a fault, and the end."""
    node = unfollowed.looping
    for style in LOOPING:
        last = node.page_urls(style)[-1]
        assert unfollowed.result.faults(last) == ["paging_loop"]
    assert missing(unfollowed.result, list(node.iter_truth())) == []
    assert max(Counter(web.targets(node)).values()) == 1


def describe_endless_pages(site: TurtleSite) -> list[str]:
    """Serve pages whose members are the same from the third on."""
    for n in range(1, 9):
        site.put(
            f"/c?page={n}",
            f"<> hydra:next </c?page={n + 1}> .<#c> hydra:member <urn:m:{min(n, 3)}> .",
        )
    return [site.at("/c?page=1")]


def test_pages_without_an_end_come_to_one(unfollowed: SharedCrawl) -> None:
    """If every page has the same members, then the pages after it are not requested."""
    site = unfollowed.site(describe_endless_pages)
    assert len(site.asked()) == 4
    assert unfollowed.result.faults(site.at("/c?page=4")) == ["paging_loop"]


def test_next_run_asks_for_pages_that_may_have_changed(
    commands: Commands, web: LocalWeb
) -> None:
    """If an event stream has grown, then full pages of it are not requested again."""
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
    """If a page says that it is immutable, also with a repair, then it is read once."""
    site = TurtleSite(loopback, "127.94.4.2")
    repaired = 'x:says "a"@en_US'
    said = f"<> tree:relation [ tree:node </2> ] ; ldes:immutable true ; {repaired} ."
    site.put("/1", said)
    site.put("/2", "<> a tree:Node ; x:says 2 .")
    folder = commands.folder()
    for _ in range(2):
        result = commands.crawl([site.at("/1")], arguments=NONE, folder=folder)
    assert site.asked() == {"/1": 1, "/2": 2}
    assert result.faults(site.at("/1")) == ["repaired"]


def describe_views(site: TurtleSite) -> list[str]:
    """Name two views of a collection."""
    site.put("/1", "<#c> tree:view <> . <> tree:relation [ tree:node </2> ] .")
    site.put("/2", "<#c> tree:view </1> . <> a tree:Node .")
    site.page("/other")
    return [site.put("/d", "<#c> tree:view </1>, </other> .")]


def test_view_of_a_collection_is_followed(unfollowed: SharedCrawl) -> None:
    """If a document names views of a collection, then one of them is read."""
    asked = unfollowed.site(describe_views).asked()
    assert asked in ({"/d": 1, "/1": 1, "/2": 1}, {"/d": 1, "/other": 1})


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
    """If the API and the first format fail, then the next format is requested."""
    site = TurtleSite(loopback, "127.94.5.1")
    site.page("/catalog.jsonld")
    commands.crawl(arguments={"portals": site.at("/")}, spider="ckan")
    order = [x for x in site.server.targets if x.startswith("/catalog")]
    assert order == ["/catalog.ttl", "/catalog.rdf", "/catalog.jsonld"]


def test_alternate_of_a_portal_page_is_a_link(
    commands: Commands, loopback: Loopback
) -> None:
    """If the page of a dataset names its data, then they are fetched."""
    site = TurtleSite(loopback, "127.94.5.2")
    link = '<link rel="alternate" type="text/turtle" href="/dataset/1.ttl">'
    page = (
        f'<html><head><meta name="generator" content="ckan 2.9.0">{link}</head></html>'
    )
    site.server.pages["/dataset/1"] = loopback.response(page.encode(), "text/html")
    site.page("/dataset/1.ttl")
    result = commands.crawl([site.at("/dataset/1")], arguments={"harvest": "none"})
    assert site.at("/dataset/1.ttl") in result.graphs
