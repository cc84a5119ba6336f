"""Views of datasets, links and queries while a crawl goes on, and for odd visitors."""

from __future__ import annotations

import re
import signal
import socket
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlsplit
from urllib.request import urlopen

import pytest
from playwright.sync_api import expect

from tests.support.crawl_webs import TreeWeb
from tests.support.described_sites import TurtleSite
from tests.support.page_answers import get
from tests.support.page_browser import (
    check_shown,
    check_view,
    free_port,
    start_page,
    watched_page,
)
from tests.support.page_json import moment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

    from tests.support.crawl_fixtures import Commands, RunningCrawl
    from tests.support.crawl_webs import Loopback

AWAY = "127.98.1.200"  # no server listens there
DOCUMENTS = "SELECT (COUNT(DISTINCT ?g) AS ?n) { GRAPH ?g { ?s <urn:x:child> ?o } }"
VIEWS = (
    "/datasets",
    "/datasets?text=nowhere",
    "/dataset?u={dataset}",
    "/dataset?u=urn:none",
    "/datasets/graph",
    f"/datasets/graph?linked={AWAY}",
    "/datasets/graph?group=vocabulary",
    "/query",
    "/query?q=SELECT * {{ ?s ?p ?o }}&most=3&page=2",
    "/query?q=SELECT",
    "/query?q=DESCRIBE <{dataset}>",
    "/report",
    "/host?key={host}",
)
PARAMETERS = {
    "/datasets": ("page", "sort", "text", "kind", "stored"),
    "/dataset": ("u",),
    "/datasets/graph": (
        "nodes",
        "host",
        "domain",
        "suffix",
        "linked",
        "outside",
        "group",
    ),
    "/classes": ("kind", "q", "space", "page"),
    "/term": ("kind", "u"),
    "/query": ("q", "rows", "most", "page", "as"),
    "/hosts": ("page", "most", "sort", "q", "phase", "direction"),
    "/host": ("key", "most"),
    "/report": ("site",),
    "/report/file": ("name", "site"),
    "/report/page": ("site",),
    "/uri": ("u", "version"),
}
ODD = (
    *(b"-1", b"0", b"1e9", b"9" * 15, b"9" * 40, b"%D9%A1", b"1_000", b"[]"),
    *(b"%00", b"a%00b", b"%FF", b"%ED%A0%80", b"\xff\xfe", b"%", b"%zz", b"1%0a"),
    *(b"x" * 9000, b"%27%22%3E%3Cscript%3E", b"..%2f..%2fetc%2fpasswd"),
)


class WatchedCrawl(NamedTuple):
    """A crawl that goes on, and its page.

    Attributes:
        url: of the page.
        process: of the page.
        site: that describes a dataset.
    """

    url: str
    process: RunningCrawl
    site: TurtleSite

    def view(self, path: str, **query: str) -> Any:
        """Return a view as JSON."""
        return get(f"{self.url}{path}", query | {"format": "json"}).json

    def n_documents(self) -> int:
        """Return of how many documents a query knows."""
        answer = self.view("/query", q=DOCUMENTS)["answer"]
        return int(answer["rows"][0][0]["value"])


@pytest.fixture(scope="module")
def crawl(commands: Commands, loopback: Loopback) -> Iterator[WatchedCrawl]:
    """Run a crawl that lasts longer than the tests, and its page."""
    web = TreeWeb(loopback, "127.98.1", n_hosts=2, n_docs=2000, secs=0.1)
    site = TurtleSite(loopback, "127.98.1.9")
    site.server.pages["/a.nt"] = loopback.response(
        b"<urn:a> <urn:b> <urn:c> .\n", "application/n-triples"
    )
    void = site.put(
        "/void",
        f"""<#a> a void:Dataset ; dct:title "A" ; void:triples 4 ;
            void:dataDump <{site.at("/a.nt")}> .
        <> x:see <{web.seed}>, <http://{AWAY}:1/1>, <http://{AWAY}:1/2> .""",
    )
    folder = commands.folder()
    running = commands.start_crawl(
        [web.seed, void], folder=folder, FRONTIER_COMMIT_SECS=0.1
    )
    commands.wait_until(lambda: list(folder.glob("*/quads/*.nq.gz")))
    port = free_port()
    process = start_page(commands, folder, port)
    found = WatchedCrawl(f"http://127.0.0.1:{port}", process, site)
    commands.wait_until(lambda: [x["share"] for x in found.view("/datasets")["rows"]])
    yield found
    running.send(signal.SIGKILL)
    running.wait()


def test_datasets_come_up_while_the_crawl_runs(
    crawl: WatchedCrawl, commands: Commands
) -> None:
    """If a dump is fetched while a crawl runs, then its share is known."""
    name = crawl.site.at("/void#a")

    def row() -> dict[str, Any]:
        rows = crawl.view("/datasets", kind="VoID")["rows"]
        return next((each for each in rows if each["name"] == name), {})

    commands.wait_until(lambda: row().get("n_files"))
    assert (row()["n_stored"], row()["n_stated"]) == (1, 4)
    found = crawl.view("/dataset", u=name)
    assert ([x["way"] for x in found["ways"]], found["why_away"]) == (["dump"], "")
    assert moment(crawl.url)["state"] == "running"


def test_columns_without_values_are_left_out(
    crawl: WatchedCrawl, chromium: Browser
) -> None:
    """If no dataset has a licence, then the table has no such column, and fits."""
    with watched_page(chromium, viewport={"width": 1440, "height": 900}) as page:
        page.goto(f"{crawl.url}/datasets?kind=VoID")
        table = page.get_by_role("region", name="Datasets")
        heads = table.locator("thead th").all_inner_texts()
        assert "stated" in heads
        assert "licence" not in heads
        assert table.evaluate("it => it.scrollWidth <= it.clientWidth")
        page.goto(f"{crawl.url}/datasets?sort=licence")
        assert "licence" in table.locator("thead th").all_inner_texts()


def test_graph_has_hosts_that_are_not_crawled(
    crawl: WatchedCrawl, commands: Commands
) -> None:
    """If a crawl goes on, then its graph has hosts that are linked, but not crawled."""

    def kinds() -> dict[str, str]:
        nodes = crawl.view("/datasets/graph", nodes="299")["picture"]["nodes"]
        return {each["name"]: each["kind"] for each in nodes}

    commands.wait_until(lambda: AWAY in kinds() and len(kinds()) > 2)
    host = urlsplit(crawl.site.at("/")).netloc
    assert (kinds()[AWAY], kinds()[host]) == ("linked", "host")
    around = crawl.view("/datasets/graph", linked=AWAY)["picture"]
    assert [each["name"] for each in around["nodes"]] == [host, f"{AWAY}:1"]
    assert [each["n"] for each in around["links"]] == [2]
    grouped = crawl.view("/datasets/graph", group="vocabulary", outside="no")["picture"]
    names = {x["name"]: x["n_hosts"] for x in grouped["nodes"]}
    assert names == {"urn:x:": 2, "http://rdfs.org/ns/void#": 1}
    within = crawl.view("/datasets/graph", vocabulary="urn:x:", outside="no")["picture"]
    assert {each["kind"] for each in within["nodes"]} == {"host"}
    assert moment(crawl.url)["state"] == "running"


def test_queries_follow_the_crawl(crawl: WatchedCrawl, commands: Commands) -> None:
    """If a crawl runs, then a repeated query finds more documents."""
    first = crawl.n_documents()
    commands.wait_until(lambda: crawl.n_documents() > first)
    assert moment(crawl.url)["state"] == "running"


@pytest.mark.in_turn(2)
def test_answers_follow_the_crawl(crawl: WatchedCrawl, chromium: Browser) -> None:
    """If a visitor follows the crawl, then the answer is renewed, until no longer."""
    with watched_page(chromium, allowed=("503",)) as page:
        page.goto(f"{crawl.url}/query?q={quote(DOCUMENTS)}")
        answer = page.get_by_role("region", name="Rows of the answer").locator("td")
        first = answer.inner_text()
        page.get_by_label("follow the crawl").check()
        note = page.locator("#follow-note")
        expect(note).to_contain_text("the answer is of", timeout=60_000)
        expect(answer).not_to_have_text(first, timeout=60_000)
        page.get_by_label("follow the crawl").uncheck()
        expect(note).to_contain_text("not follow the crawl any more", timeout=60_000)
        check_shown(page, "/query", 1280)


def test_report_is_made_of_a_running_crawl(
    crawl: WatchedCrawl, commands: Commands
) -> None:
    """If a report is requested while a crawl runs, then it has the present data."""
    get(f"{crawl.url}/report", {"make": "1"})
    commands.wait_until(lambda: crawl.view("/report")["report"])
    assert crawl.view("/report")["refusal"] == ""
    assert moment(crawl.url)["state"] == "running"


def test_circles_lead_to_their_neighbours(
    crawl: WatchedCrawl, chromium: Browser
) -> None:
    """If hosts outside are shown, then the table and the form lead to them, or not."""
    with watched_page(chromium) as page:
        page.goto(f"{crawl.url}/datasets/graph?nodes=298")
        page.wait_for_selector("#graph[data-nodes] canvas", state="attached")
        page.get_by_role("link", name=AWAY, exact=True).click()
        page.wait_for_url("**linked=127.98.1.200*")
        page.wait_for_selector("#graph[data-nodes='2'] canvas", state="attached")
        page.get_by_label("Hosts not crawled").select_option("no")
        page.get_by_role("button", name="Draw").click()
        page.wait_for_selector("#graph[data-nodes='1'] canvas", state="attached")


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("path", VIEWS)
def test_views_break_no_rule_of_axe(
    crawl: WatchedCrawl, chromium: Browser, path: str
) -> None:
    """If a view is shown in either scheme, then axe-core finds no violation.

    Nor is it wider than a phone.
    """
    names = {"dataset": crawl.site.at("/void#a"), "host": "127.98.1.9"}
    names = {name: quote(value, safe="") for name, value in names.items()}
    size: Any = {"width": 320, "height": 900}
    with watched_page(chromium, allowed=("status of 4",), viewport=size) as page:
        check_view(page, crawl.url + path.format_map(names), 320)


def test_each_view_leads_to_all_others(crawl: WatchedCrawl) -> None:
    """If a visitor looks at a view, then it leads to all others, and names itself."""
    with urlopen(crawl.url) as response:
        paths = re.findall(r'<a[^>]* href="([^"]+)"', _menu(response.read()))
    assert {"/", "/hosts", "/query", "/report"} < set(paths)
    for path in paths:
        with urlopen(crawl.url + path) as response:
            menu = _menu(response.read())
        assert re.findall(r'<a[^>]* href="([^"]+)"', menu) == paths
        assert re.search(rf'href="{path}"[^>]*aria-current', menu), path


def _menu(page: bytes) -> str:
    """Return the menu of a view."""
    found = re.search(r"<nav.*?</nav>", page.decode(), re.DOTALL)
    assert found is not None
    return found[0]


def raw_answer(url: str, target: bytes) -> bytes:
    """Return the complete response to a request with a literal target."""
    host, _, port = urlsplit(url).netloc.partition(":")
    with socket.create_connection((host, int(port)), 60) as connection:
        head = b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        connection.sendall(b"GET " + target + head)
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("path", PARAMETERS)
def test_odd_parameters_are_refused_or_bounded(crawl: WatchedCrawl, path: str) -> None:
    """If a parameter is odd, then the answer is 400, or 404, or a bounded one."""
    for name in PARAMETERS[path]:
        for value in ODD:
            target = f"{path}?format=json&{name}=".encode() + value
            answer = raw_answer(crawl.url, target)
            status = answer.split(b" ", 2)[1]
            assert status in (b"200", b"400", b"404"), (target, answer[:300])
            assert b"Traceback" not in answer, target
            assert len(answer) < 1_000_000, target


def test_malformed_http_fills_no_log(crawl: WatchedCrawl) -> None:
    """If a visitor sends malformed HTTP, then that is 400, and nothing is logged."""
    for target in (b"/?a= b", b"/" + b"x" * 100_000, b"/ /"):
        answer = raw_answer(crawl.url, target)
        assert answer.split(b" ", 2)[1] == b"400", answer[:200]
    assert "Traceback" not in crawl.process.stderr
