"""Datasets and sources in later runs: changed, moved, withdrawn, come upon."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.nodes.endpoint import EndpointOptions
from tests.crawl.sources.test_refresh import EAGER, refresh
from tests.crawl.sources.test_revisits import DatedSite, entry, said
from tests.support.sitemap_sites import index, urlset

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

NTRIPLES = "application/n-triples"


class DatasetSite(DatedSite):
    """A site with dumps of one statement each."""

    def dump(self, name: str, text: str, *, is_tagged: bool = True) -> None:
        """Serve a dump."""
        body = f'<{self.at(f"/{name}")}> <urn:x:says> "{text}" .\n'.encode()
        (self.tagged if is_tagged else self.put)(f"/{name}.nt", body, NTRIPLES)

    def dataset(self, name: str, *dumps: str, lastmod: str = "") -> str:
        """Return the declaration of a dataset of URLs that begin with its name."""
        places = "".join(
            f"<sc:dataDumpLocation>{self.at(f'/{each}.nt')}</sc:dataDumpLocation>"
            for each in dumps
        )
        dated = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
        return (
            f"<sc:dataset><sc:datasetURI>{self.at(f'/d/{name}')}</sc:datasetURI>"
            f"<sc:linkedDataPrefix>{self.at(f'/{name}/')}</sc:linkedDataPrefix>"
            f"{dated}{places}</sc:dataset>"
        )

    def texts(self, result: CrawlResult) -> dict[str, str]:
        """Return the statements of the latest versions, by name."""
        return {url.removeprefix(self.at("/")): x for url, x in said(result).items()}


def test_datasets_of_a_sitemap_are_kept_up(
    commands: Commands, loopback: Loopback
) -> None:
    """If a dataset has changed, moved, grown, failed or gone, then a later run sees it.

    Of a page below a prefix that has changed, the page is requested, and the dump is
    not fetched. A dump without validators is requested when it is dated, or old.
    """
    site = DatasetSite(loopback, "127.20.8.12")
    for name in ("tagged", "moved", "part1", "part2", "whole", "gone"):
        site.dump(name, "first")
    for name in ("dated", "plain"):
        site.dump(name, "first", is_tagged=False)
    for page in ("/whole/1", "/whole/2", "/gone/1"):
        site.page(page, "first")

    def write(datasets: str, date: str) -> None:
        pages = [entry(site.at("/whole/1"), date), entry(site.at("/whole/2"), "2020")]
        rows = [*pages, entry(site.at("/gone/1"))]
        site.put("/sitemap.xml", urlset(rows, datasets))

    kept = (
        site.dataset("tagged", "tagged")
        + site.dataset("dated", "dated", lastmod="2099-01-01")
        + site.dataset("plain", "plain")
        + site.dataset("whole", "whole")
        + site.dataset("failed", "failed")
    )
    others = (site.dataset("moved", "moved"), site.dataset("parts", "part1"))
    write(kept + "".join(others) + site.dataset("gone", "gone"), "2020-01-01")
    folder = commands.folder()
    first = site.crawl(commands, folder=folder)
    assert "way_failed" in first.faults(site.at("/failed.nt"))
    assert resources(site.asked()) == ["/failed/"]
    n_asked = len(site.asked())
    for name in ("tagged", "failed", "new"):
        site.dump(name, "second")
    for name in ("dated", "plain"):
        site.dump(name, "second", is_tagged=False)
    for name in ("moved", "gone"):
        site.fails(f"/{name}.nt", "404 Not Found")
    site.page("/whole/1", "second")
    others = (site.dataset("moved", "new"), site.dataset("parts", "part1", "part2"))
    write(kept + "".join(others), "2020-02-01")
    result = site.crawl(commands, folder=folder)
    asked = [*site.asked_since(n_asked)]
    assert resources(asked) == ["/gone/1", "/whole/1"]
    assert "/plain.nt" not in asked
    texts = site.texts(result)
    names = ("tagged", "failed", "new", "dated", "whole/1")
    assert {texts[name] for name in names} == {"second"}
    names = ("whole", "plain", "part1", "part2", "gone/1")
    assert {texts[name] for name in names} == {"first"}
    assert not {"moved", "gone"} & texts.keys()
    assert "UNCHANGED" in result.statuses(site.at("/whole.nt"))
    assert "/moved.nt" not in asked  # no dataset has it any more
    result = site.crawl(commands, folder=folder, REVISIT_SECS=0)
    assert site.texts(result)["plain"] == "second"


def test_each_document_of_a_dataset_has_an_owner(
    commands: Commands, loopback: Loopback
) -> None:
    """If a file, a mirror or a sample of a dataset is no longer used, then it is gone.

    Datasets with the same label are different ones, and a sample is requested whenever
    its dump is.
    """
    site = DatasetSite(loopback, "127.20.8.14")
    for name in ("main", "backup", "sampled", "twin1", "twin2", "own", "shared"):
        site.dump(name, "first")
    site.page("/sampled/1", "first")
    backup = site.at("/backup.nt")
    mirrors = site.dataset("mirrors", "main", "backup")
    mirrors = mirrors.replace(f">{backup}", f' priority="0">{backup}')
    shared = site.at("/shared.nt")
    sharing = site.dataset("sharing", "own", "shared") + site.dataset("owner", "shared")
    sharing = sharing.replace(f">{shared}", f' priority="0">{shared}', 1)
    sample = f"<sc:sampleURI>{site.at('/sampled/1')}</sc:sampleURI></sc:dataset>"
    sampled = site.dataset("sampled", "sampled").replace("</sc:dataset>", sample)

    def write(*twins: str) -> None:
        label = "<sc:datasetLabel>Data</sc:datasetLabel>"
        files = "".join(
            f"<sc:dataset>{label}<sc:dataDumpLocation>{site.at(f'/{x}.nt')}"
            "</sc:dataDumpLocation></sc:dataset>"
            for x in twins
        )
        site.put("/sitemap.xml", urlset([], mirrors + sharing + sampled + files))

    write("twin1", "twin2")
    folder = commands.folder()
    first = site.texts(site.crawl(commands, folder=folder))
    kept = {"sampled", "own", "shared"}
    assert first.keys() >= {"main", "sampled/1", "twin1", "twin2", *kept}
    assert "backup" not in first

    site.fails("/main.nt", "404 Not Found")
    write("twin1")
    site.page("/sampled/1", "second")
    second = site.texts(site.crawl(commands, folder=folder))
    assert second["sampled/1"] == "second"
    assert second.keys() >= {"backup", "twin1", *kept}
    assert not {"main", "twin2"} & second.keys()

    site.dump("main", "third")
    site.fails("/sampled/1", "404 Not Found")
    third = site.texts(site.crawl(commands, folder=folder))
    assert third["main"] == "third"
    assert third.keys() >= kept  # "shared" is the only file of another dataset
    assert not {"backup", "sampled/1"} & third.keys()
    fourth = site.crawl(commands, folder=folder)
    assert site.texts(fourth) == third
    assert fourth.statuses(backup).count("DELETED") == 1


@pytest.mark.in_turn(3, rooms=("sources", "pipelines"))
def test_datasets_of_many_files_own_each_of_them(
    commands: Commands, loopback: Loopback
) -> None:
    """If a dataset has thousands of files, then each stays while any dataset has it."""
    site = DatasetSite(loopback, "127.20.8.16")
    names = [f"file{n}" for n in range(1_060)]
    for name in names:
        site.dump(name, "first", is_tagged=False)

    def describe(**files: list[str]) -> None:
        rows = "".join(
            f"<{site.at(f'/{name}')}> a <http://rdfs.org/ns/void#Dataset> ."
            f"<{site.at(f'/{name}')}> <http://rdfs.org/ns/void#dataDump> "
            + ", ".join(f"<{site.at(f'/{x}.nt')}>" for x in some)
            + " ."
            for name, some in files.items()
        )
        site.tagged("/void", rows.encode())

    def crawl() -> set[str]:
        result = commands.crawl([site.at("/void")], folder=folder)
        return {*site.texts(result)}

    folder = commands.folder()
    describe(large=names, other=names[1_010:])
    assert crawl() == {*names}
    describe(large=names[:1_005], other=names[1_030:])
    n_asked = len(site.asked())
    assert crawl() == {*names[:1_005], *names[1_030:]}
    # The names of the datasets are dead links of a seed.
    assert site.asked_since(n_asked) == ["/large", "/other", "/void"]


def test_found_sources_are_requested_again(
    commands: Commands, loopback: Loopback
) -> None:
    """If a crawl found endpoints, sitemaps or VoID, then a later run repeats them.

    A description that has changed leads to the data where they are now.
    """
    site = DatasetSite(loopback, "127.20.8.13")
    for name in ("old", "described"):
        site.dump(name, "first")
    site.tagged("/.well-known/void", void(site, "old"))
    listed = site.page("/page/1", "first")
    site.put("/sitemap.xml", urlset([entry(listed, changefreq="always")]))
    catalog = void(site, "described").replace(b"/d>", b"/e>")
    with LocalWeb(first_address="127.81.8.21", n_hosts=1) as web:
        node = web.start(EndpointOptions(n_triples=50, blank_share=0))
        link = f"\n<#it> <urn:x:at> <{node.endpoint_url}> .".encode()
        site.put("/catalog", catalog + link)
        given = {"harvest": "sparql,sitemap,void"}
        folder = commands.folder()

        def crawl() -> CrawlResult:
            seeds = [site.at("/catalog")]
            return commands.crawl(seeds, arguments=given, folder=folder)

        assert crawl().code == 0
        n_asked, n_queries = len(site.server.targets), len(web.targets(node))
        assert n_queries > 3
        site.page("/page/1", "second")
        site.dump("described", "second")
        site.dump("now", "second")
        site.fails("/old.nt", "410 Gone")
        site.tagged("/.well-known/void", void(site, "now"))
        result = crawl()
        assert len(web.targets(node)) > 1.5 * n_queries
    asked = site.server.targets[n_asked:]
    assert "/catalog" in asked  # a seed
    texts = site.texts(result)
    assert texts == {"page/1": "second", "described": "second", "now": "second"}


def resources(asked: list[str]) -> list[str]:
    """Return the requests for URLs that may be below a prefix."""
    return [x for x in asked if x.count("/") > 1 and not x.startswith("/d/")]


def void(site: DatasetSite, dump: str) -> bytes:
    """Return the description of a dataset with a dump."""
    return (
        f"<{site.at('/d')}> a <http://rdfs.org/ns/void#Dataset> ;"
        f" <http://rdfs.org/ns/void#dataDump> <{site.at(f'/{dump}.nt')}> ."
    ).encode()


def test_data_on_a_host_that_confirms_it(
    commands: Commands, loopback: Loopback
) -> None:
    """If another host confirms that it has the data, then it may name their graphs.

    That is remembered where its sitemap is not read, as its date is the same. The URI
    of the dataset itself is dereferenced.
    """
    site, other = (DatasetSite(loopback, f"127.20.8.{n}") for n in (14, 15))
    graphs = [site.at(f"/data/{n}") for n in (1, 2)]
    foreign = site.at("/elsewhere/1")
    quads = [f'<{x}> <urn:x:says> "first" <{x}> .\n' for x in (graphs[0], foreign)]
    other.tagged("/dump.nq", "".join(quads).encode(), "application/n-quads")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        name = graphs[1].replace("/", "%2F").replace(":", "%3A")
        archive.writestr(name, f'<{graphs[1]}> <urn:x:says> "first" .')
    other.tagged("/dump.zip", packed.getvalue(), "application/zip")
    places = "".join(
        f"<sc:dataDumpLocation>{other.at(path)}</sc:dataDumpLocation>"
        for path in ("/dump.nq", "/dump.zip")
    )
    declared = site.dataset("data").replace("</sc:dataset>", f"{places}</sc:dataset>")
    site.page("/d/data", "itself")
    other.robots(other.at("/index.xml"))
    other.put("/own.xml", urlset([], declared), "application/xml")
    folder = commands.folder()
    for n, date in enumerate(("2020-01-01", "2020-02-01", "2020-02-01")):
        other.put("/index.xml", index([entry(other.at("/own.xml"), date)]))
        site.put("/sitemap.xml", urlset([site.page(f"/page/{n}")], declared))
        n_asked = len(other.asked())
        result = site.crawl(commands, folder=folder)
        assert "fault/unconfirmed_claim" not in result.statistics
    assert other.asked_since(n_asked) == ["/dump.nq", "/dump.zip", "/index.xml"]
    latest = {graph for *_, graph in result.latest_quads}
    assert {*graphs, site.at("/d/data")} <= latest
    assert foreign not in latest


def schema_page(site: DatasetSite, name: str, dump: str) -> str:
    """Serve a page with terms of schema.org, and a description of a dump, if any."""
    has = f"; s:distribution [ s:contentUrl <{dump}> ]" if dump else ""
    body = f"@prefix s: <https://schema.org/> . <#> s:name '{name}' {has} ."
    return site.tagged(f"/page/{name}", body.encode())


def feed_of(pages: list[str], date: str) -> bytes:
    """Return an Atom feed of pages that changed on a day."""
    rows = "".join(
        f'<entry><link href="{page}"/><updated>{date}T00:00:00Z</updated></entry>'
        for page in pages
    )
    return f'<feed xmlns="http://www.w3.org/2005/Atom">{rows}</feed>'.encode()


@pytest.mark.parametrize("way", ["links", "sitemap", "refresh", "feed", "tree"])
def test_pages_that_no_longer_describe_a_dataset(
    commands: Commands, loopback: Loopback, way: str
) -> None:
    """If two later runs find no data in a page, then their copies are deleted.

    This is so whether the page is a seed, due behind a link or by `scrapy refresh`, in
    a sitemap, a feed or a collection, and whether it keeps terms of the vocabulary. A
    page that fails, leads to a page to log in, or has equal content, keeps its data.
    """
    site, folder = DatasetSite(loopback, "127.20.8.16"), commands.folder()
    names = ("terms", "bare", "fails", "equal", "login")
    for name in names:
        site.dump(name, "first")
    pages = [schema_page(site, name, site.at(f"/{name}.nt")) for name in names]
    served = site.server.pages
    served["/real"] = served["/page/login"]
    served["/page/login"] = loopback.redirect("/real", "302 Found")

    def crawl(month: int) -> dict[str, str]:
        date = f"2024-0{month}-01"
        if way == "sitemap":
            site.put("/sitemap.xml", urlset([entry(page, date) for page in pages]))
        elif way == "feed":
            site.put("/sitemap.xml", feed_of(pages, date))
        else:
            if month > 1 and way == "refresh":
                assert refresh(commands, folder).code == 0
            seeds = [pages[0], site.at("/front")]
            settings: dict[str, Any] = {"REVISIT_SECS": 0}
            if way == "refresh":
                settings |= EAGER | {"REVISITS": "refresh"}
            return site.texts(commands.crawl(seeds, folder=folder, **settings))
        return site.texts(site.crawl(commands, folder=folder))

    tree = "https://w3id.org/tree#"
    leads = (
        f"<{tree}relation> [ <{tree}node> <%s> ]"
        if way == "tree"
        else "<urn:x:to> <%s>"
    )
    links = "".join(f"<> {leads % page} ." for page in pages[1:])
    site.tagged("/front", links.encode())
    assert crawl(1) == dict.fromkeys(names, "first")
    schema_page(site, "terms", "")
    site.tagged("/page/bare", b"<> <urn:x:to> 1 .")
    site.fails("/page/fails", "500 Oops")
    site.put("/log-in", b"<html><p>Log in</p></html>", "text/html")
    served["/page/login"] = loopback.redirect("/log-in", "302 Found")
    assert crawl(2) == dict.fromkeys(names, "first")
    if way == "tree":  # the page itself is doubted before
        assert crawl(3) == dict.fromkeys(names[1:], "first")
    assert crawl(4) == dict.fromkeys(("fails", "equal", "login"), "first")
