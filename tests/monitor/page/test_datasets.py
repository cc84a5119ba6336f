"""Datasets and the graph of hosts, of a real crawl and in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.support.described_sites import TurtleSite
from tests.support.page_answers import get
from tests.support.page_browser import serve_page, watched_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

_HOSTILE = "<img src=x onerror=alert(1)>"


class DescribedCrawl(NamedTuple):
    """A page, and the sites that were crawled."""

    url: str
    site: TurtleSite
    other: TurtleSite


@pytest.fixture(scope="module")
def crawl(commands: Commands, loopback: Loopback) -> DescribedCrawl:
    """Return the page of a crawl of two sites, of which one describes datasets."""
    site, other = (TurtleSite(loopback, f"127.0.0.{n}") for n in (61, 62))
    site.server.pages["/a.nt"] = loopback.response(
        b"<urn:a> <urn:b> <urn:c> .\n<urn:a> <urn:b> <urn:d> .\n",
        "application/n-triples",
    )
    other.put("/page", f"<> x:p <{site.at('/void')}> .")
    void = site.put(
        "/void",
        f"""<#a> a void:Dataset ; dct:title "{_HOSTILE}" ; void:triples 4 ;
            void:dataDump <{site.at("/a.nt")}>, <{site.at("/gone.nt")}> ;
            dct:license <{other.at("/page")}> ; dct:modified "2026-01-01" .
        <#s> a void:Dataset ; void:sparqlEndpoint <{site.at("/sparql")}> .""",
    )
    result = commands.crawl([void])
    assert result.code == 0, result.stderr
    url = serve_page(commands, result.folder.parent)

    def is_indexed() -> bool:
        found = get(f"{url}/datasets/graph", {"format": "json", "nodes": "299"}).json
        n_rows = get(f"{url}/datasets", {"format": "json"}).json["n_rows"]
        return bool(n_rows) and len(found["picture"]["nodes"]) > 1

    commands.wait_until(is_indexed)
    return DescribedCrawl(url, site, other)


def test_table_shows_stored_data(crawl: DescribedCrawl) -> None:
    """If a dataset has a count and dumps, then its completeness is known."""
    found = get(f"{crawl.url}/datasets", {"format": "json", "kind": "VoID"}).json
    (row,) = (x for x in found["rows"] if x["name"] == crawl.site.at("/void#a"))
    assert (row["n_stored"], row["n_stated"], row["share"]) == (2, 4, 0.5)
    assert (row["n_files"], row["n_faulty"], row["ways"]) == (2, 1, "dump")
    assert row["modified"] == "2026-01-01"


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"stored": "part"}, {"/void#a"}),
        ({"text": "IMG SRC"}, {"/void#a"}),
        ({"text": "/void#", "sort": "name"}, {"/void#a", "/void#s"}),
        ({"text": "nowhere"}, set()),
    ],
)
def test_table_is_filtered(
    crawl: DescribedCrawl, query: dict[str, str], names: set[str]
) -> None:
    """If a filter is given, then only datasets that match it are shown."""
    found = get(f"{crawl.url}/datasets", query | {"format": "json"}).json
    assert {x["name"] for x in found["rows"]} == {crawl.site.at(x) for x in names}


def test_wrong_sort_is_refused(crawl: DescribedCrawl) -> None:
    """If a sort column does not exist, then one line says so."""
    answer = get(f"{crawl.url}/datasets", {"sort": "name;DROP"})
    assert (answer.status, "sort: must be one of" in answer.text) == (400, True)


def test_dataset_has_its_files_and_ways(crawl: DescribedCrawl) -> None:
    """If one dataset is looked at, then its ways, files and faults are there."""
    name = crawl.site.at("/void#a")
    found = get(f"{crawl.url}/dataset", {"u": name, "format": "json"}).json
    assert [x["way"] for x in found["ways"]] == ["dump"]
    assert {x["http_status"] for x in found["files"]} == {200, 404}
    assert "gone.nt" in found["faults"][0]
    assert {"title", "licence", "dump"} <= {x["about"] for x in found["statements"]}
    endpoint = get(f"{crawl.url}/dataset", {"u": crawl.site.at("/void#s")})
    assert "sparql" in endpoint.text
    assert get(f"{crawl.url}/dataset", {"u": "urn:none"}).status == 404


def test_host_has_its_datasets(crawl: DescribedCrawl, chromium: Browser) -> None:
    """If datasets are described at a host, its page alone leads to them."""
    url = f"{crawl.url}/host"
    found = get(url, {"key": "127.0.0.61", "format": "json"}).json
    names = {crawl.site.at(f"/void#{x}") for x in "as"}
    assert names <= {x["name"] for x in found["datasets"]}
    assert found["has_more_datasets"] is False
    assert get(url, {"key": "127.0.0.62", "format": "json"}).json["datasets"] == []
    with watched_page(chromium, viewport={"width": 320, "height": 700}) as page:
        page.goto(f"{url}?key=127.0.0.61")
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        page.get_by_role("link", name=_HOSTILE).click()
        page.wait_for_url("**/dataset?u=*")


def test_hostile_titles_are_text(crawl: DescribedCrawl, chromium: Browser) -> None:
    """If the title of a dataset is markup, then a browser shows it as text."""
    with watched_page(chromium, viewport={"width": 320, "height": 700}) as page:
        page.goto(f"{crawl.url}/datasets")
        page.get_by_role("link", name=_HOSTILE).click()
        assert _HOSTILE in page.locator("table").last.inner_text()
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 320


def test_graph_is_drawn_under_the_policy(
    crawl: DescribedCrawl, chromium: Browser
) -> None:
    """If the graph is opened, then it is drawn, without an error in the console."""
    with watched_page(chromium, color_scheme="dark") as page:
        page.goto(f"{crawl.url}/datasets/graph")
        page.wait_for_selector("#graph[data-nodes='2'] canvas", state="attached")
        host = crawl.other.server.url("/").split("/")[2]
        page.locator("table").get_by_role("link", name=host).click()
        page.wait_for_url(f"**host={host.replace(':', '%3A')}*")
        page.wait_for_selector("#graph[data-nodes='2'] canvas", state="attached")
        assert page.locator("tbody tr").count() == 2


def test_graph_without_script_is_a_table(
    crawl: DescribedCrawl, chromium: Browser
) -> None:
    """If there is no JavaScript, then the table has the same as the picture."""
    with watched_page(chromium, java_script_enabled=False) as page:
        page.goto(f"{crawl.url}/datasets/graph?host=nowhere.example")
        assert "No host of this name was crawled" in page.locator("main").inner_text()
        page.goto(f"{crawl.url}/datasets/graph")
        assert page.locator("tbody tr").count() == 2
