"""Queries of visitors: results and refusals."""

from __future__ import annotations

import fcntl
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import pytest

from rdfcrawl.monitor.page.query_rules import check_query
from tests.support.page_answers import PageAnswer, get
from tests.support.page_browser import serve_page, watched_page

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

_HOSTILE = '"><script>document.title=1</script><img src=x onerror=alert(1)>'
# Longer than any test has time for.
_ENDLESS = (
    "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n2 ?o }"
)


# A text of 4 GB.
_VAST = (
    f"SELECT (STRLEN(?b) AS ?n) {{ BIND(REPLACE('{'a' * 2000}', 'a', '{'b' * 2000}')"
    f" AS ?a) BIND(REPLACE(?a, 'b', '{'c' * 1000}') AS ?b) }}"
)
_ALL = " ".join(f"?a{n} ?b{n} ?c{n} ." for n in range(8))  # 10 ** 20 solutions


class QueriedCrawl(NamedTuple):
    """A page with queries.

    Attributes:
        url: of the page.
        folder: of its crawl.
        document: URL of the crawled document.
    """

    url: str
    folder: Path
    document: str

    def ask(self, query: str, **more: str) -> PageAnswer:
        """Return the answer to a query, as JSON."""
        return get(f"{self.url}/query", {"q": query, "format": "json"} | more)

    def file(self, query: str, form: str, **more: str) -> PageAnswer:
        """Return the answer to a query, as a file."""
        return get(f"{self.url}/query", {"q": query, "as": form} | more)

    def refusal(self, query: str) -> tuple[int, str]:
        """Return status and reason of a refusal."""
        answer = self.ask(query)
        return answer.status, answer.json["refusal"]


@pytest.fixture(scope="module")
def crawl(commands: Commands, loopback: Loopback) -> QueriedCrawl:
    """Return the page of a finished crawl with hostile statements."""
    server = loopback()
    lines = [
        f"<> <urn:x:says> '''{_HOSTILE}'''@en .",
        "<> a <urn:x:Page> ; <urn:x:see> <javascript:alert(1)> .",
        *(f"<urn:x:{n}> <urn:x:number> {n} ." for n in range(300)),
    ]
    server.pages["*"] = loopback.response("\n".join(lines).encode())
    result = commands.crawl([server.url("/a")])
    assert result.code == 0, result.stderr
    url = serve_page(
        commands, result.folder.parent, PAGE_QUERY_SECS=1, PAGE_QUERY_ROWS=200
    )
    return QueriedCrawl(url, result.folder, server.url("/a"))


def test_rows_are_terms_and_the_store_is_up_to_date(crawl: QueriedCrawl) -> None:
    """If a query is run, then the store is first brought up to date."""
    found = crawl.ask("SELECT ?s { ?s a <urn:x:Page> }").json["answer"]
    assert found["rows"] == [[{"type": "uri", "value": crawl.document}]]
    assert (found["n_behind"], found["note"], found["is_cut"]) == (0, "", False)


def test_answers_are_cut_at_the_limit(crawl: QueriedCrawl) -> None:
    """If there are more rows than the limit, then the answer says so."""
    query = "SELECT ?n { ?s <urn:x:number> ?n }"
    found = crawl.ask(query).json
    assert (found["rows"], found["max_rows"]) == (200, 200)
    assert (found["answer"]["n_rows"], found["answer"]["is_cut"]) == (200, True)
    file = crawl.file(query, "csv", rows="3")
    assert file.headers["Rdfcrawl-Cut"] == "yes"
    assert file.headers["Content-Disposition"].startswith("attachment")
    assert len(file.text.splitlines()) == 4


def test_pages_are_of_one_answer(crawl: QueriedCrawl) -> None:
    """If pages are turned, then each row of the answer is on one, also the last one."""
    query = "SELECT ?n { ?s <urn:x:number> ?n } # in pages"
    more = {"rows": "95", "most": "30"}
    answers = [crawl.ask(query, **more).json["answer"]]
    answers += [
        crawl.ask(query, **more, page=page).json["answer"] for page in ("2", "3", "4")
    ]
    assert len({answer["answered_ms"] for answer in answers}) == 1
    assert [answer["first"] for answer in answers] == [1, 31, 61, 91]
    rows = [row[0]["value"] for answer in answers for row in answer["rows"]]
    assert len(set(rows)) == len(rows) == 95
    behind = crawl.ask(query, **more, page="99").json["answer"]
    assert (behind["page"], behind["n_pages"], behind["rows"]) == (
        *(4, 4),
        answers[-1]["rows"],
    )


def test_pages_need_no_kept_answer(crawl: QueriedCrawl) -> None:
    """If an answer is not kept, then the query is run for its page."""
    query = "SELECT ?n { ?s <urn:x:number> ?n } ORDER BY ?n # new"
    found = crawl.ask(query, most="10", page="3").json["answer"]
    assert [row[0]["value"] for row in found["rows"]] == [str(n) for n in range(20, 30)]
    none = crawl.ask("SELECT ?n { ?n <urn:x:none> 1 }", page="3").json["answer"]
    assert (none["rows"], none["page"], none["n_pages"], none["first"]) == ([], 1, 1, 0)
    assert none["notes"] == ["<urn:x:none> is in no statement"]


@pytest.mark.parametrize("form", ["SELECT ?n", "ASK"])
def test_terms_that_are_absent_are_named_only_without_a_result(
    crawl: QueriedCrawl, form: str
) -> None:
    """If a query has a result, then terms that no statement has may be optional."""
    query = f"{form} {{ ?s <urn:x:number> ?n OPTIONAL {{ ?s <urn:x:none> ?o }} }}"
    assert crawl.ask(query).json["answer"]["notes"] == []


def test_pages_are_turned_by_links(crawl: QueriedCrawl, chromium: Browser) -> None:
    """If an answer is long, then links lead from page to page, and to files of all."""
    query = "SELECT ?n { ?s <urn:x:number> ?n } ORDER BY ?n"
    with watched_page(chromium, java_script_enabled=False) as page:
        page.goto(f"{crawl.url}/query?q={query}")
        text = page.locator("main").inner_text()
        assert "200 rows, 100 on a page; there are more, which are left out" in text
        page.get_by_role("link", name="Next").first.click()
        rows = page.locator("table.rows tbody tr")
        assert (rows.count(), "100" in rows.first.inner_text()) == (100, True)
        assert "page 2 of 2" in page.locator("nav.pages").last.inner_text()
        page.get_by_role("link", name="Previous").last.click()
        assert "page 1 of 2" in page.locator("nav.pages").last.inner_text()


@pytest.mark.parametrize(
    ("query", "form", "begin"),
    [
        ("SELECT ?s { ?s a <urn:x:Page> }", "json", '{"head":{"vars":["s"]}'),
        ("CONSTRUCT { ?s a rdfs:Resource } { ?s a ?c }", "ttl", "@prefix "),
        ("CONSTRUCT { ?s a rdfs:Resource } { ?s a ?c }", "nt", "<"),
    ],
)
def test_answers_are_files(
    crawl: QueriedCrawl, query: str, form: str, begin: str
) -> None:
    """If a format is requested, then the response is a file of it."""
    assert crawl.file(query, form).text.startswith(begin)


@pytest.mark.parametrize(
    ("query", "status", "reason"),
    [
        ("INSERT DATA { <urn:a> <urn:b> 1 }", 400, "query: error at 1:"),
        ("SELECT * {", 400, "query: error at 1:"),
        ("SELECT * { SERVICE <URL> { ?s ?p ?o } }", 400, "query: SERVICE is refused"),
        ("SELECT * { service silent ?e { ?s ?p ?o } }", 400, "query: SERVICE is"),
        (_ENDLESS, 400, "PAGE_QUERY_SECS=1: the query took longer"),
        ("SELECT * { ?s ?p 1 } #" + "x" * 8000, 400, "query: longer than 8,000"),
    ],
)
def test_refusals_are_one_line(
    crawl: QueriedCrawl, query: str, status: int, reason: str
) -> None:
    """If a query is wrong, writes, reaches others or is too long, one line says so."""
    found, told = crawl.refusal(query)
    assert (found, told[: len(reason)]) == (status, reason)
    assert "\n" not in told


def test_disguised_service_reaches_no_endpoint(crawl: QueriedCrawl) -> None:
    """If a query hides SERVICE from our eyes, then the kernel keeps it from the net."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.5)
        port = listener.getsockname()[1]
        # To the expression that looks for the word, all up to `>` is an IRI.
        hidden = f"FILTER(1<?b)SERVICE#>\n<http://127.0.0.1:{port}/> {{ ?s ?p ?o }}"
        query = f"SELECT * {{ VALUES ?b {{ 2 }} {hidden} }}"
        check_query(query, is_confined=True)
        assert crawl.refusal(query) == (
            400,
            "query: requests to other endpoints are not allowed",
        )
        with pytest.raises(TimeoutError):
            listener.accept()


def test_word_is_enough_without_the_kernel() -> None:
    """If the kernel does not confine the process, then even the word is refused."""
    with pytest.raises(Exception, match="not even the word"):
        check_query("SELECT * { ?s ?p 'at your service' }", is_confined=False)


def test_writers_of_the_store_are_reported(crawl: QueriedCrawl) -> None:
    """If another process writes the store, then the visitor should try again later."""
    crawl.ask("ASK {}")
    with (crawl.folder / "oxigraph" / "rdfcrawl.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        status, told = crawl.refusal("ASK {}")
    assert status == 503
    assert told.startswith("another process has the store open")


@pytest.mark.in_turn(2)
def test_two_queries_run_at_once(crawl: QueriedCrawl) -> None:
    """If one query is long, then a second one is answered meanwhile."""
    crawl.ask("ASK {}")
    first = threading.Thread(target=crawl.ask, args=(_ENDLESS,))
    first.start()
    assert crawl.ask("ASK {}").json["answer"]["is_true"]
    first.join()


@pytest.mark.in_turn(3)  # two of them compute for six seconds
def test_third_query_waits_for_its_turn(
    crawl: QueriedCrawl, commands: Commands
) -> None:
    """If two queries are running, then a third one is refused, and nothing hangs.

    When one of them has ended, others are run.
    """
    page = serve_page(commands, crawl.folder.parent, PAGE_QUERY_SECS=6)
    url = f"{page}/query"
    asked = {"q": _ENDLESS, "format": "json"}
    get(url, {"q": "ASK {}"})
    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(lambda n: get(url, asked | {"rows": n}), "123"))
    told = sorted((x.status, x.json["refusal"]) for x in answers)
    ended = (400, "PAGE_QUERY_SECS=6: the query took longer")
    busy = (503, "2 queries are running already; try again later")
    assert told == [ended, ended, busy]
    assert get(url, {"q": "ASK {}", "format": "json"}).json["answer"]["is_true"]


def test_memory_of_a_query_is_bounded(crawl: QueriedCrawl, commands: Commands) -> None:
    """If a query needs more memory than it may have, then it ends, and the page not."""
    page = serve_page(commands, crawl.folder.parent, PAGE_QUERY_SECS=90)
    answer = get(f"{page}/query", {"q": _VAST, "format": "json"})
    assert (answer.status, answer.json["answer"]) == (400, None)
    assert answer.json["refusal"].startswith("query: its process has ended: it needed")
    assert get(f"{page}/query", {"q": "ASK {}"}).status == 200


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("DELETE WHERE { ?s ?p ?o }", 400),
        ("LOAD <http://127.0.0.1:1/>", 400),
        ("CLEAR ALL", 400),
        ("ASK {} ; DROP ALL", 400),
        ("SELECT * FROM <file:///etc/passwd> { ?s ?p ?o }", 200),
        (f"ASK {'{' * 3900}{'}' * 3900}", 400),
        (f"SELECT ({'(' * 3900}1{')' * 3900} AS ?x) {{}}", None),
        (f"ASK {{ ?s {'(' * 2600}rdf:type{')*' * 2600} ?o }}", None),
        (f"ASK {{ FILTER({'!' * 7900}true) }}", None),
        (f"SELECT * {{ {_ALL} }}", 200),
        (f"SELECT * {{ {_ALL} }} ORDER BY ?b7", 400),
        (f"CONSTRUCT {{ ?a0 ?b0 ?c1 }} {{ {_ALL} }}", None),
        ("ASK { FILTER(REGEX('a', '((a{1,1000}){1,1000}){1,1000}')) }", None),
        ("SELECT (1/0 AS ?x) ('9'^^<javascript:alert(1)> AS ?y) {}", 200),
        ("SELECT * { ?s ?p '\0' }", None),
        ("ASK { ?s ?p '\\uD800' }", 400),
        ("SELECT * { ?s ?p ?o } LIMIT 99999999999999999999999", 400),
    ],
)
def test_nasty_queries_end(crawl: QueriedCrawl, query: str, status: int | None) -> None:
    """If a query is nested, endless or writes, then it has an answer, or is refused."""
    answer = crawl.ask(query, rows="20")
    assert answer.status in ((status,) if status else (200, 400))
    assert len(answer.text) < 100_000
    refusal = answer.json["refusal"]
    assert bool(refusal) == (answer.status == 400)
    assert "\n" not in refusal
    assert len(refusal) < 1000


def test_vast_queries_are_refused_before_they_are_read(crawl: QueriedCrawl) -> None:
    """If a URL is longer than any query may be, then the answer is short, and 400."""
    answer = crawl.ask("ASK {} #" + "x" * 200_000)
    assert (answer.status, len(answer.text) < 1000) == (400, True)


def test_other_sites_run_no_query(crawl: QueriedCrawl) -> None:
    """If another site has led to a query, then it is shown and not run."""
    url = f"{crawl.url}/query"
    answer = get(url, {"q": "ASK {}"}, {"Sec-Fetch-Site": "cross-site"})
    assert answer.status == 403
    assert "a link of another site" in answer.text
    assert "ASK {}" in answer.text


def test_hostile_literals_are_text(crawl: QueriedCrawl, chromium: Browser) -> None:
    """If literals and IRIs are hostile, then a browser shows them as text."""
    with watched_page(chromium) as page:
        page.goto(f"{crawl.url}/query?q=SELECT ?o {{ <{crawl.document}> ?p ?o }}")
        assert page.title().startswith("Query ")
        cells = page.locator("table.rows td")
        assert any(_HOSTILE in text for text in cells.all_inner_texts())
        hrefs = page.locator("table.rows a").evaluate_all("x => x.map(y => y.href)")
        assert all(href.startswith(f"{crawl.url}/uri?u=") for href in hrefs)


def test_examples_have_answers(crawl: QueriedCrawl, chromium: Browser) -> None:
    """If a visitor takes an example and runs it by the keyboard, it has an answer."""
    with watched_page(chromium) as page:
        page.goto(f"{crawl.url}/query")
        page.locator(
            "ul.examples a", has_text="Things of the class <urn:x:Page>"
        ).click()
        assert page.locator("table.rows tbody tr").count() > 1
        page.locator(".CodeMirror").click()
        page.keyboard.press("Control+End")
        page.keyboard.type(" # more")
        page.keyboard.press("Control+Enter")
        page.wait_for_url("**more**")
        assert page.locator("table.rows tbody tr").count() > 1


def test_examples_are_about_the_data(crawl: QueriedCrawl) -> None:
    """If an example is not about faults, then no term of the provenance is in it."""
    for example in crawl.ask("ASK {}").json["examples"]:
        if "Faults" not in example["title"]:
            rows = crawl.ask(example["query"]).json["answer"]["rows"]
            assert rows
            assert "prov#" not in str(rows)
            assert "urn:rdfcrawl:" not in str(rows)


def test_query_needs_no_script(crawl: QueriedCrawl, chromium: Browser) -> None:
    """If there is no JavaScript, then the form works as well."""
    with watched_page(chromium, java_script_enabled=False) as page:
        page.goto(f"{crawl.url}/query")
        page.locator("textarea").fill("ASK { ?s a <urn:x:Page> }")
        page.locator("form.query button").click()
        assert "yes." in page.locator("main").inner_text()
