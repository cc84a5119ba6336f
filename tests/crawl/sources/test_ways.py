"""Ways to the data of a dataset: the taken ones, and the next if one gives nothing."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.stores.log.crawl_log import iter_latest
from tests.support.dataset_sites import PROTOCOL, DatasetSite, EndpointSite, dataset

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Reply
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

VOID = "http://rdfs.org/ns/void#"


# -- parts and mirrors -----------------------------------------------------------------


def test_dumps_of_one_name_on_several_hosts_are_all_taken(
    commands: Commands, loopback: Loopback
) -> None:
    """If hosts have a dump each and nothing calls them mirrors, then all are taken."""
    sites = [DatasetSite(loopback, f"127.96.1.{n}") for n in (1, 2, 3)]
    dumps = [site.dump("/dump.nt", site.at("/id/1")) for site in sites]
    for site in sites:  # each says so itself
        site.sitemap(dataset(datasetURI=sites[0].at("/#d"), dataDumpLocation=dumps))
    result = sites[0].crawl(commands)
    assert [len(result.about(dump)) for dump in dumps] == [1, 1, 1]
    assert [site.asked()["/dump.nt"] for site in sites] == [1, 1, 1]


def test_part_that_is_believed_is_taken_alone(
    commands: Commands, loopback: Loopback
) -> None:
    """If the host of one part denies it, then the others are fetched, and the pages."""
    own, other = (DatasetSite(loopback, f"127.96.1.{n}") for n in (4, 5))
    dumps = [site.dump("/dump.nt", site.at("/id/1")) for site in (own, other)]
    pages = [own.page("/id/1"), own.page("/id/2")]
    described = dataset(dataDumpLocation=dumps, linkedDataPrefix=own.at("/id/"))
    own.sitemap(described, pages)
    other.sitemap("")
    result = own.crawl(commands)
    assert result.statistics["fault/unconfirmed_claim"] == 1
    assert {dumps[0], *pages} <= result.graphs
    assert "/dump.nt" not in other.asked()


# -- a way that gives nothing ----------------------------------------------------------

HTML = "<html><head><meta property='og:title' content='x'></head><body>x</body></html>"


def line(site: DatasetSite, number: int) -> str:
    """Return a statement of a dump about a resource."""
    return f"<{site.at(f'/id/{number}')}> <urn:x:in> <urn:x:dump> .\n"


def cut(site: DatasetSite) -> Reply:
    """Return an answer of which less comes than it announces."""
    text = "".join(line(site, number) for number in range(50)).encode()
    whole = site._loopback.response(text, "application/n-triples")
    return [whole[:-700], None]


FAILURES: dict[str, Callable[[DatasetSite], Reply]] = {
    "500": lambda site: site.respond("", status="500 No"),
    "403": lambda site: site.respond("", status="403 No"),
    "404": lambda site: site.respond("", status="404 No"),
    "empty": lambda site: site.respond(""),
    "comment": lambda site: site.respond("# to come\n"),
    "page": lambda site: site.respond(HTML, "text/html"),
    "page_called_dump": lambda site: site.respond(HTML),
    "cut": cut,
    "reset": lambda _: ["reset"],
    "robots": lambda site: site.respond(line(site, 1)),
    "syntax": lambda site: site.respond("<rdf:RDF>", "application/rdf+xml"),
}


def failing(loopback: Loopback, host: str, name: str) -> tuple[DatasetSite, list[str]]:
    """Start a site whose dump fails; return its pages, the first leads to another."""
    site = DatasetSite(loopback, host)
    pages = [site.page(f"/id/{number}") for number in (1, 2, 3)]
    site.put("/id/1", f"<> <urn:x:see> <{site.page('/id/4')}> .")
    dump = site.reply("/dump.nt", FAILURES[name](site))
    if name == "robots":
        rules = "User-agent: *\nDisallow: /dump.nt\n"
        site.put("/robots.txt", rules, "text/plain")
    described = dataset(dataDumpLocation=dump, linkedDataPrefix=site.at("/id/"))
    site.sitemap(described, pages)
    return site, [*pages, site.at("/id/4")]


def test_pages_are_fetched_when_the_dump_fails(
    commands: Commands, loopback: Loopback
) -> None:
    """If a dump does not give its data, then all pages come, each once."""
    sites = {
        name: failing(loopback, f"127.96.2.{number}", name)
        for number, name in enumerate(FAILURES, 1)
    }
    all_sites = ",".join(site.at("/") for site, _ in sites.values())
    first, _ = sites["500"]
    result = first.crawl(commands, arguments={"sites": all_sites}, RETRY_TIMES=0)
    for name, (site, pages) in sites.items():
        asked = site.asked()
        assert set(pages) <= result.graphs, (name, asked)
        assert {asked[f"/id/{number}"] for number in (1, 2, 3, 4)} == {1}, name
        # A connection that was kept may have been closed before the request came: it is
        # sent once more, over a new one.
        n_asked = {"robots": 0, "reset": 2}.get(name, 1)
        assert asked["/dump.nt"] == n_asked, name
        assert "way_failed" in result.faults(site.at("/dump.nt")), name


def test_pages_are_left_when_the_dump_is_complete(
    commands: Commands, loopback: Loopback
) -> None:
    """If a dump is read, though some of its lines are not, then no page is fetched."""
    site = DatasetSite(loopback, "127.96.3.1")
    pages = [site.page(f"/id/{number}") for number in (1, 2, 3)]
    about = site.put("/about", f"<> <urn:x:see> <{pages[0]}> .")
    dump = site.put("/dump.nt", f"<broken\n{line(site, 1)}", "application/n-triples")
    described = dataset(dataDumpLocation=dump, linkedDataPrefix=site.at("/id/"))
    site.sitemap(described, [about, *pages])
    result = site.crawl(commands)
    assert site.asked() == {"/about": 1, "/dump.nt": 1}
    assert result.statistics["link/covered"]
    assert "fault/way_failed" not in result.statistics


def test_next_way_is_taken_before_the_pages(
    commands: Commands, loopback: Loopback
) -> None:
    """If mirrors fail one after another, then the next is taken, and no page is."""
    site = DatasetSite(loopback, "127.96.3.2")
    pages = [site.page(f"/id/{number}") for number in (1, 2)]
    dumps = [site.put("/empty.nt", ""), site.put("/page.nt", HTML, "text/html")]
    good = site.dump("/good.nt", *pages)
    site.sitemap(
        "<sc:dataset>"
        + "".join(
            f'<sc:dataDumpLocation priority="{10**6 if url != good else 0}">{url}'
            "</sc:dataDumpLocation>"
            for url in (*dumps, good)
        )
        + f"<sc:linkedDataPrefix>{site.at('/id/')}</sc:linkedDataPrefix></sc:dataset>",
        pages,
    )
    # Replacements are as far away as the replaced ones.
    result = site.crawl(commands, arguments={"depth": 1})
    assert site.asked() == {"/empty.nt": 1, "/page.nt": 1, "/good.nt": 1}
    assert len(result.about(good)) == 2
    assert result.statistics["fault/way_failed"] == 2


def test_file_that_is_listed_or_shared_fails_for_all(
    commands: Commands, loopback: Loopback
) -> None:
    """If two datasets have one dump, which is listed, too, then both go on without."""
    site = DatasetSite(loopback, "127.96.3.3")
    pages = [site.page("/a/1"), site.page("/b/1")]
    dump = site.put("/dump.nt", "")
    site.sitemap(
        dataset(dataDumpLocation=dump, linkedDataPrefix=site.at("/a/"))
        + dataset(dataDumpLocation=dump, linkedDataPrefix=site.at("/b/")),
        [dump, *pages],
    )
    result = site.crawl(commands)
    assert set(pages) <= result.graphs
    asked = site.asked()
    assert [asked[path] for path in ("/dump.nt", "/a/1", "/b/1")] == [1, 1, 1]


def test_dump_that_failed_before_it_was_described(
    commands: Commands, loopback: Loopback
) -> None:
    """If a dump fails, and only then is called one of a dataset, then pages come."""
    site = DatasetSite(loopback, "127.96.3.4")
    dump = site.put("/dump.nt", "")
    page = site.page("/id/1")
    described = dataset(dataDumpLocation=dump, linkedDataPrefix=site.at("/id/"))
    first = site.put(
        "/first.xml", f"<urlset {PROTOCOL}><url><loc>{dump}</loc></url></urlset>"
    )
    site.put("/robots.txt", f"Sitemap: {first}\n", "text/plain")
    folder = commands.folder()
    site.crawl(commands, folder=folder)
    assert site.asked()["/dump.nt"] == 1
    site.sitemap(described, [page])
    site.put("/robots.txt", f"Sitemap: {site.at('/sitemap.xml')}\n", "text/plain")
    result = site.crawl(commands, folder=folder)
    assert page in result.graphs
    assert site.asked()["/dump.nt"] == 2  # the next run tries once more


def test_dump_that_the_crawl_may_not_ask_for(
    commands: Commands, loopback: Loopback
) -> None:
    """If the operator denies a dump, then the pages are fetched instead."""
    site, pages = failing(loopback, "127.96.3.5", "500")
    folder = commands.folder()
    rules = folder / "deny.txt"
    rules.write_text(r"/dump\.nt$")
    result = site.crawl(commands, folder=folder, arguments={"deny": rules})
    assert set(pages) <= result.graphs
    assert "/dump.nt" not in site.asked()


def test_killed_crawl_finds_postponed_urls(
    commands: Commands, loopback: Loopback
) -> None:
    """If a worker dies while a dump is under way, its failure leads to the pages."""
    site, pages = failing(loopback, "127.96.3.6", "500")
    failure = site.server.pages["/dump.nt"]
    site.server.pages["/dump.nt"] = [600.0, None]
    folder = commands.folder()
    given: dict[str, Any] = {
        "folder": folder,
        "arguments": {"sites": site.at("/"), "follow": "all"},
        "RETRY_TIMES": 0,
        "FRONTIER_LEASE_SECS": 2,
        "FRONTIER_COMMIT_SECS": 0.1,
    }
    for _ in range(2):
        site.server.requests.clear()
        running = commands.start_crawl(spider="sitemap", **given)
        commands.wait_until(lambda: "/dump.nt" in site.server.targets)
        time.sleep(0.5)  # the sitemap is acknowledged
        running.send(signal.SIGKILL)
        running.wait()
    site.server.pages["/dump.nt"] = failure
    site.server.requests.clear()
    result = site.crawl(commands, **given)
    assert set(pages) <= result.graphs
    asked = site.asked()
    assert {asked[f"/id/{number}"] for number in (1, 2, 3, 4)} == {1}
    assert "/sitemap.xml" not in site.server.targets  # it was acknowledged


def test_uri_space_is_crawled_when_the_dump_fails(
    commands: Commands, loopback: Loopback
) -> None:
    """If VoID covers URIs by a dump that is a page, then links to them are followed."""
    site = DatasetSite(loopback, "127.96.3.7")
    pages = [site.page(f"/id/{number}") for number in (1, 2)]
    site.put("/id/1", f"<> <urn:x:see> <{pages[1]}> .")
    dump = site.put("/dump.nt", HTML, "text/html")
    void = "http://rdfs.org/ns/void#"
    seed = site.put(
        "/void",
        f'<#d> <{void}dataDump> <{dump}> ; <{void}uriSpace> "{site.at("/id/")}" .'
        f"<#d> <urn:x:see> <{pages[0]}> .",
    )
    result = commands.crawl([seed])
    assert result.code == 0, result.stderr
    assert set(pages) <= result.graphs
    assert set(site.asked().values()) == {1}
    assert result.faults(dump) == ["way_failed"]


@pytest.mark.in_turn(2, rooms=("sources", "frontier"))
def test_crawl_killed_after_the_failure_loses_no_page(
    commands: Commands, loopback: Loopback
) -> None:
    """If a worker dies as the first of the pages is requested, then the others come."""
    site = DatasetSite(loopback, "127.96.3.8")
    pages = [site.page(f"/id/{number}") for number in range(120)]
    site.reply("/id/0", [600.0, None])
    dump = site.put("/dump.nt", "")
    described = dataset(dataDumpLocation=dump, linkedDataPrefix=site.at("/id/"))
    site.sitemap(described, pages)
    folder = commands.folder()
    given: dict[str, Any] = {
        "folder": folder,
        "arguments": {"sites": site.at("/"), "follow": "all"},
        "FRONTIER_LEASE_SECS": 2,
        "FRONTIER_COMMIT_SECS": 60,
    }
    running = commands.start_crawl(spider="sitemap", **given)
    commands.wait_until(lambda: "/id/" in "".join(site.server.targets))
    running.send(signal.SIGKILL)
    running.wait()
    site.page("/id/0")
    result = site.crawl(commands, **given)
    assert set(pages) <= result.graphs


# -- graphs of an endpoint -------------------------------------------------------------


def test_graph_of_a_dataset_is_taken_alone(
    commands: Commands, loopback: Loopback
) -> None:
    """If a dataset names its graph, or none, then that or the default graph is it."""
    one, every, default, two = sites = [
        EndpointSite(loopback, f"127.96.4.{number}") for number in range(1, 5)
    ]
    one.described(one.graphs[1])
    every.described("*")
    default.described("")
    two.described(*two.graphs[:2])
    all_sites = ",".join(site.at("/") for site in sites)
    result = one.crawl(commands, arguments={"sites": all_sites})
    assert one.taken(result) == {one.graphs[1]}
    assert every.taken(result) == {"", *every.graphs}
    assert default.taken(result) == {""}
    assert two.taken(result) == set(two.graphs[:2])
    assert "fault/way_failed" not in result.statistics


def test_graph_that_a_dataset_has_no_more_is_deleted(
    commands: Commands, loopback: Loopback
) -> None:
    """If a dataset names another graph, then the former one goes, and no others."""
    site = EndpointSite(loopback, "127.96.4.6")
    first, second, third = site.graphs
    folder = commands.folder()

    def graphs(*names: str) -> set[str]:
        site.described(*names)
        result = site.crawl(commands, folder=folder)
        latest = b"".join(x.quads for x in iter_latest(result.folder / "quads"))
        return {x for x in site.graphs if f"?in={x}>".encode() in latest}

    assert graphs(first, second) == {first, second}
    assert graphs(first, third) == {first, third}
    assert graphs(first, third) == {first, third}


@pytest.mark.in_turn(2, rooms=("sources",))
def test_endpoint_and_dump_replace_each_other(
    commands: Commands, loopback: Loopback
) -> None:
    """If a dataset is read in another way, then the copies of the former way go.

    They stay until the other way is complete and has as much, and a copy that was
    deleted is read again before it counts.
    """
    site = EndpointSite(loopback, "127.96.4.7")
    name = site.graphs[0]
    folder = commands.folder()
    parts = [site.at("/1.nt"), site.at("/2.nt")]
    site.sitemap(
        dataset(
            datasetURI=site.at("/#d"),
            dataDumpLocation=parts,
            sparqlEndpointLocation=site.endpoint,
            sparqlGraphName=name,
        )
    )
    broken = site.respond("", status="500 No")
    # The first part is read at another URL.
    site.reply("/1.nt", site.respond("", status="302 Found", location="/moved.nt"))

    def stored(*, fails: str = "", n_statements: int = 1) -> set[str]:
        for path in ("/moved.nt", "/2.nt"):
            site.dump(path, *(f"urn:x:{path}{n or ''}" for n in range(n_statements)))
        if fails:
            site.reply(fails, broken)
        result = site.crawl(commands, folder=folder, REVISIT_SECS=0)
        latest = b"".join(x.quads for x in iter_latest(result.folder / "quads"))
        marks = {
            "endpoint": f"?in={name}>",
            "1": "<urn:x:/moved.nt>",
            "2": "<urn:x:/2.nt>",
        }
        is_kept = "fault/copy_kept" in result.statistics
        found = {key for key, mark in marks.items() if mark.encode() in latest}
        return found | ({"kept"} if is_kept else set())

    assert stored() == {"1", "2"}
    assert stored(fails="/2.nt") == {"endpoint"}
    assert "endpoint" in stored(fails="/moved.nt")
    assert stored() == {"1", "2"}
    assert stored(fails="/moved.nt") == {"endpoint"}
    site.endpoint_works = False
    assert stored(fails="/2.nt") == {"endpoint", "1"}
    site.endpoint_works = True
    assert stored(n_statements=50) == {"1", "2"}
    assert stored(fails="/2.nt", n_statements=50) == {"endpoint", "1", "2", "kept"}


def test_endpoint_that_no_dataset_has_any_more(
    commands: Commands, loopback: Loopback
) -> None:
    """If no dataset has an endpoint any more, then its statements go; others stay.

    Those of a list that has become empty stay until it is read once more.
    """
    names = ("gone", "moved", "dumped", "kept", "void", "named")
    sites = {
        name: EndpointSite(loopback, f"127.96.4.{n}") for n, name in enumerate(names, 8)
    }
    gone, moved, dumped, kept, void, named = sites.values()
    for site in sites.values():
        site.described(site.graphs[0])

    def describe(predicate: str) -> None:
        terms = f"<{void.at('/d')}> <{VOID}{predicate}> <{void.endpoint}> ."
        void.put("/.well-known/void", terms)

    def stored() -> set[str]:
        places = ",".join(site.at("/") for site in sites.values())
        result = commands.crawl(
            arguments={"sites": places, "endpoints": named.endpoint, "follow": "all"},
            spider="every-source",
            folder=folder,
            SPIDER_MODULES="rdfcrawl.spiders,tests.injector.spiders",
        )
        assert result.code == 0, result.stderr
        latest = b"".join(x.quads for x in iter_latest(result.folder / "quads"))
        return {
            name
            for name, site in sites.items()
            if f"{site.at('/resource')}?in={site.graphs[0]}>".encode() in latest
        }

    void.sitemap("")
    describe("sparqlEndpoint")
    folder = commands.folder()
    assert stored() == {*names}
    gone.sitemap("")
    named.sitemap("")
    name, elsewhere = moved.at("/#0"), moved.at("/sparql?")
    moved.sitemap(dataset(datasetURI=name, sparqlEndpointLocation=elsewhere))
    name, dump = dumped.at("/#0"), dumped.dump("/d.nt", "urn:x:d")
    dumped.sitemap(dataset(datasetURI=name, dataDumpLocation=dump))
    kept.described(*kept.graphs[:2])
    describe("nothing")
    assert stored() == {"kept", "named", "gone", "void"}
    assert stored() == {"kept", "named"}


def test_pages_are_fetched_when_the_graph_is_empty(
    commands: Commands, loopback: Loopback
) -> None:
    """If an endpoint has nothing in a graph, then the pages come; other graphs stay."""
    site = EndpointSite(loopback, "127.96.4.5")
    pages = [site.page(f"/id/{number}") for number in (1, 2)]
    covered = site.page("/other/1")
    good = site.graphs[0]
    site.sitemap(
        dataset(
            datasetURI=site.at("/#1"),
            sparqlEndpointLocation=site.endpoint,
            sparqlGraphName=site.at("/none"),
            linkedDataPrefix=site.at("/id/"),
        )
        + dataset(
            datasetURI=site.at("/#2"),
            sparqlEndpointLocation=site.endpoint,
            sparqlGraphName=good,
            linkedDataPrefix=site.at("/other/"),
        ),
        [*pages, covered],
    )
    result = site.crawl(commands)
    assert set(pages) <= result.graphs
    assert site.taken(result) == {good}
    assert covered not in result.graphs
    assert result.statistics["fault/way_failed"] == 1
