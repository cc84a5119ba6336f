"""Crawls of links that come to hosts with dumps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rdfcrawl.analysis.urldb.building import build
from rdfcrawl.analysis.urldb.database import UrlDatabase
from rdfcrawl.analysis.urldb.facts import FactReader
from rdfcrawl.uri import NormalForm
from tests.support.sitemap_sites import Site, index, urlset

if TYPE_CHECKING:
    from tests.conftest import RawServer, Reply
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

N_PAGES = 120  # more than one visit takes


def statement(site: RawServer, number: int) -> bytes:
    """Return the description of one resource."""
    return f"<{site.url(f'/r/{number}')}> <urn:x:p> 'v{number}' .\n".encode()


@pytest.fixture
def site(loopback: Loopback) -> RawServer:
    """Return a site of many pages with a dump, which its robots.txt leads to."""
    site = loopback(host="127.20.9.1")
    dataset = (
        f"<sc:dataset><sc:linkedDataPrefix>{site.url('/r/')}</sc:linkedDataPrefix>"
        f"<sc:dataDumpLocation>{site.url('/dump.ttl')}</sc:dataDumpLocation>"
        "</sc:dataset>"
    )
    sitemap = urlset([], dataset)
    numbers = range(N_PAGES)
    site.pages |= {
        "/robots.txt": loopback.response(f"Sitemap: {site.url('/s.xml')}\n".encode()),
        "/s.xml": loopback.response(sitemap, "application/xml"),
        "/dump.ttl": loopback.response(b"".join(statement(site, n) for n in numbers)),
        **{f"/r/{n}": loopback.response(statement(site, n)) for n in numbers},
    }
    return site


def offer_in_index(
    site: RawServer, loopback: Loopback, name: str, *others: str
) -> None:
    """Let robots.txt name an index, which lists the sitemap among others."""
    entries = [f"<loc>{site.url(x)}</loc>" for x in (*others[:-1], name, *others[-1:])]
    site.pages["/index.xml"] = loopback.response(index(entries), "application/xml")
    site.pages[name] = site.pages["/s.xml"]
    robots = f"Sitemap: {site.url('/index.xml')}\n".encode()
    site.pages["/robots.txt"] = loopback.response(robots)
    for other in others:
        pages = urlset([site.url(f"/r/{n}") for n in range(N_PAGES)])
        site.pages[other] = loopback.response(pages, "application/xml")


@pytest.fixture
def seed(loopback: Loopback, site: RawServer) -> str:
    """Return a document of another host with links to all pages of the site."""
    server = loopback(host="127.20.9.2")
    links = (f"<> <urn:x:l> <{site.url(f'/r/{n}')}> .\n" for n in range(N_PAGES))
    server.pages["/"] = loopback.response("".join(links).encode())
    return server.url("/")


def crawl(commands: Commands, *seeds: str, **arguments: str) -> CrawlResult:
    """Crawl the links of the seeds."""
    result = commands.crawl([*seeds], arguments=arguments)
    assert result.code == 0, result.stderr
    return result


def test_dump_is_fetched_in_place_of_the_pages_that_led_to_it(
    commands: Commands, site: RawServer, seed: str
) -> None:
    """If robots.txt leads to a dump, then a host of any size takes five requests.

    A page that is a seed is requested, too.
    """
    result = crawl(commands, seed, site.url("/r/5"))
    assert {"/dump.ttl", "/r/5"} <= {*site.targets}
    assert len(site.targets) <= 5
    assert len(result.about(site.url("/dump.ttl"))) == N_PAGES


@pytest.mark.in_turn(2, rooms=("sources",))
@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("/semantic.xml", [f"/pages{n}.xml" for n in range(300)]),
        ("/last.xml", ["/first.xml"]),
        ("/only.xml", []),
    ],
)
def test_sitemap_in_an_index_leads_to_the_dump(
    commands: Commands,
    site: RawServer,
    seed: str,
    loopback: Loopback,
    name: str,
    others: list[str],
) -> None:
    """If an index lists the sitemap of a dump, then a host takes five requests, too.

    A later run requests the same sitemaps, and the dump if it may have changed.
    """
    offer_in_index(site, loopback, name, *others)
    folder = commands.folder()
    for _ in range(2):
        n_asked = len(site.targets)
        result = commands.crawl([seed], folder=folder, REVISIT_SECS=0)
        assert result.code == 0, result.stderr
        assert len(site.targets[n_asked:]) <= 5, site.targets[n_asked:]
        assert {name, "/dump.ttl"} <= {*site.targets[n_asked:]}
        assert len(result.about(site.url("/dump.ttl"))) == N_PAGES


def test_page_that_names_its_dataset_leads_to_the_dump(
    commands: Commands, site: RawServer, seed: str, loopback: Loopback
) -> None:
    """If pages name their dataset, which has a dump, then a host takes five requests.

    A later run requests the description of the dataset, and the dump.
    """
    void = "http://rdfs.org/ns/void#"
    described = (
        f"<#d> a <{void}Dataset> ; <{void}dataDump> <{site.url('/dump.ttl')}> ;"
        f" <{void}uriSpace> '{site.url('/r/')}' ."
    )
    site.pages["/void"] = loopback.response(described.encode())
    del site.pages["/robots.txt"]
    for n in range(N_PAGES):
        within = f"<> <{void}inDataset> <{site.url('/void#d')}> .".encode()
        site.pages[f"/r/{n}"] = loopback.response(statement(site, n) + within)
    folder = commands.folder()
    for _ in range(2):
        n_asked = len(site.targets)
        result = commands.crawl([seed], folder=folder, REVISIT_SECS=0)
        assert result.code == 0, result.stderr
        assert len(site.targets[n_asked:]) <= 5, site.targets[n_asked:]
        assert {"/void", "/dump.ttl"} <= {*site.targets[n_asked:]}
        assert len(result.about(site.url("/dump.ttl"))) == N_PAGES


USUAL = (
    "/.well-known/void",
    "/sitemap.xml",
    "/data.json",
    "/.well-known/resourcesync",
)


def test_usual_places_are_tried_one_after_another(
    commands: Commands, loopback: Loopback
) -> None:
    """If pages name no data, then usual places are tried until one has a dataset.

    A place that is forbidden or fails is passed over. A later run requests the place
    with the dataset, and the dump.
    """
    respond, pages = loopback.response, [f"/r/{n}" for n in range(9)]
    sites = [loopback(host=f"127.20.13.{n}") for n in range(1, 8)]
    by_void, by_sitemap, bare, forbidding, failing, denied, listed = sites
    for site in sites:
        links = (f"<> <urn:x:l> <{site.url(page)}> .\n" for page in pages)
        site.pages |= {
            "/": respond("".join(links).encode()),
            "/dump.ttl": respond(b"".join(statement(site, n) for n in range(9))),
            **{page: respond(b"<> <urn:x:p> 1 .") for page in pages},
        }
    void, dump = "http://rdfs.org/ns/void#", by_void.url("/dump.ttl")
    by_void.pages[USUAL[0]] = respond(
        f"<#d> a <{void}Dataset> ; <{void}dataDump> <{dump}> ;"
        f" <{void}uriSpace> '{by_void.url('/r/')}' .".encode()
    )
    dataset = (
        f"<sc:dataset><sc:linkedDataPrefix>{by_sitemap.url('/r/')}"
        "</sc:linkedDataPrefix><sc:dataDumpLocation>"
        f"{by_sitemap.url('/dump.ttl')}</sc:dataDumpLocation></sc:dataset>"
    )
    by_sitemap.pages[USUAL[1]] = respond(urlset([], dataset), "application/xml")
    rules = f"User-agent: *\nDisallow: {USUAL[0]}\nDisallow: {USUAL[2]}\n"
    forbidding.pages["/robots.txt"] = respond(rules.encode())
    failing.pages |= {USUAL[0]: [None], USUAL[1]: respond(status="500 No")}
    failing.pages[USUAL[2]] = loopback.redirect("http://127.20.13.99:9/")
    listed.pages["/robots.txt"] = respond(f"Sitemap: {listed.url('/s')}\n".encode())
    listed.pages["/s"] = respond(urlset([listed.url("/r/1")]), "application/xml")
    expected = [
        {USUAL[0], "/dump.ttl"},
        {*USUAL[:2], "/dump.ttl"},
        {*USUAL, *pages},
        {USUAL[1], USUAL[3], *pages},
        {*USUAL, *pages},
        {*USUAL[:2], USUAL[3], *pages},
        {"/s", USUAL[0], USUAL[2], *pages},
    ]
    result = commands.crawl(
        [site.url("/") for site in sites],
        folder=(folder := commands.folder()),
        arguments={"harvest": "all", "deny": rf"^{denied.url('/data')}\.json"},
        TRANSFER_FIRST_BYTE_SECS=1,
        HOST_BACKOFF_SECS=0.2,
    )
    assert result.code == 0, result.stderr
    for site, targets in zip(sites, expected, strict=True):
        assert {*site.targets} - {"/", "/robots.txt"} == targets, site.url("/")
    tried = [x for x in bare.targets if x in USUAL]
    assert tried == [*USUAL]
    numbers = [len(site.targets) for site in sites]
    commands.crawl(
        [site.url("/") for site in sites],
        folder=folder,
        arguments={"harvest": "all", "deny": rf"^{denied.url('/data')}\.json"},
        REVISIT_SECS=0,
    )
    assert {*by_void.targets[numbers[0] :]} == {"/", USUAL[0], "/dump.ttl"}


def test_pages_are_fetched_if_the_dump_fails(
    commands: Commands, site: RawServer, seed: str, loopback: Loopback
) -> None:
    """If the dump cannot be fetched, then each page that waited for it is."""
    site.pages["/dump.ttl"] = loopback.response(status="404 Not Found")
    crawl(commands, seed)
    pages = [each for each in site.targets if each.startswith("/r/")]
    assert len(pages) == len({*pages}) == N_PAGES + 1  # with the prefix


@pytest.mark.parametrize("harvest", ["none", "ckan,sparql"])
def test_operator_chooses_pages(
    commands: Commands, site: RawServer, seed: str, harvest: str
) -> None:
    """If `harvest` leaves datasets out, then pages are fetched, and no sitemap."""
    crawl(commands, seed, harvest=harvest)
    assert not {"/s.xml", "/dump.ttl"} & {*site.targets}
    assert sum(each.startswith("/r/") for each in site.targets) == N_PAGES


def test_sitemap_that_fails_costs_no_page(
    commands: Commands, loopback: Loopback
) -> None:
    """If the sitemap that robots.txt names fails in any way, then all pages come."""
    respond = loopback.response
    answers: list[Reply] = [
        [600.0],  # silence
        [b"HTTP/1.1 200 OK\r\n", 600.0],
        [None],
        ["reset"],
        loopback.redirect("/s.xml"),
        loopback.redirect("http://127.20.9.77:9/s.xml"),
        respond(b"<html><p>none", "text/html"),
        *(respond(b"", status=status) for status in ("404 No", "500 No", "503 No")),
        respond(b"", status="503 Busy", Retry_After="600"),
    ]
    pages = [f"/r/{number}" for number in range(3)]
    sites = [loopback(host=f"127.20.10.{n}") for n, _ in enumerate(answers, 1)]
    for site, answer in zip(sites, answers, strict=True):
        robots = f"Sitemap: {site.url('/s.xml')}\n".encode()
        site.pages |= {"/robots.txt": respond(robots), "/s.xml": answer}
        site.pages |= {page: respond(b"<> <urn:x:p> 1 .") for page in pages}
    front = loopback(host="127.20.9.3")
    links = [site.url(page) for site in sites for page in pages]
    front.pages["/"] = respond(
        "".join(f"<> <urn:x:l> <{x}> .\n" for x in links).encode()
    )
    result = commands.crawl(
        [front.url("/")],
        TRANSFER_FIRST_BYTE_SECS=1,
        HOST_BACKOFF_SECS=0.2,
        HOST_PATIENCE_SECS=20,
    )
    assert result.code == 0, result.stderr
    assert not {*links} - result.graphs
    assert all("/s.xml" in site.targets for site in sites)


def test_listed_pages_stay_listed_if_their_sitemap_is_read_for_datasets(
    commands: Commands, loopback: Loopback
) -> None:
    """If a spider reads a sitemap for datasets alone, then the entries are still known.

    Another spider of the crawl has read them before.
    """
    site = Site(loopback, "127.20.44.5")
    site.put("/map.xml", urlset([site.page("/p/0"), site.page("/p/1")]))
    site.robots(site.at("/map.xml"))
    folder = commands.folder()
    site.crawl(commands, folder=folder)
    n_asked = len(site.asked())
    result = commands.crawl([site.page("/new")], folder=folder, CRAWL_ID="sitemap")
    assert site.asked()[n_asked:] == ["/map.xml", "/new"]
    assert result.faults(site.at("/map.xml")) == []
    build(result.folder, NormalForm())
    with UrlDatabase(result.folder) as database:
        listed = {x.url for x in FactReader(database).uris() if x.is_still_listed}
    assert listed == {site.at("/p/0"), site.at("/p/1")}
    assert result.raw(site.at("/map.xml")).count(b"#lists>") == 2
