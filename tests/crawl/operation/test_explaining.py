"""`scrapy explain`: why a URI was fetched, or was not."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.command_forks import scrapy
from tests.support.operated_crawls import operate

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
SEMANTIC = "http://sw.deri.org/2007/07/sitemapextension/scschema.xsd"
FAR = "http://127.0.27.9:8000/far"
BUSY = b"HTTP/1.1 503 Busy\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n"


def page(*links: str) -> bytes:
    """Return a document with links."""
    return "".join(f"_:s <http://p.example/p> <{x}> .\n" for x in links).encode()


@pytest.fixture(scope="module")
def site(loopback: Loopback) -> RawServer:
    """Return a site with one URI for each answer."""
    server = loopback({}, host="127.0.27.1")
    url = server.url
    server.pages |= {
        "/robots.txt": loopback.response(
            b"User-agent: *\nDisallow: /secret\n", "text/plain"
        ),
        "/": loopback.response(page(url("/a"), url("/secret"), FAR)),
        "/a": loopback.response(
            page(url("/moved"), url("/a?b=1&a=2"), url("/gone"), url("/busy"))
        ),
        "/busy": BUSY,
        "/a?b=1&a=2": loopback.response(page(url("/a?a=2&b=1"))),
        "/moved": loopback.redirect(url("/new")),
        "/new": loopback.response(page(url("/deep"))),
        "/deep": loopback.response(page()),
    }
    return server


@pytest.fixture(scope="module")
def closed(loopback: Loopback) -> RawServer:
    """Return a site whose rules cannot be read."""
    return loopback({"*": BUSY}, host="127.0.27.3")


@pytest.fixture(scope="module")
def crawled(commands: Commands, site: RawServer, closed: RawServer) -> CrawlResult:
    """Return the finished crawl of the sites."""
    result = commands.crawl(
        [site.url("/"), closed.url("/")],
        arguments={"scope": "host", "depth": 2},
        CRAWL_ID="c",
    )
    assert result.code == 0, result.stderr
    return result


def ask(result: CrawlResult, uri: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command on a crawl."""
    folder = result.folder
    return scrapy(
        *("explain", uri, *words, f"-sCRAWL_DIR={folder.parent}"),
        *(f"-sCRAWL_ID={folder.name}", "-sGUARD_ALLOW_NETS=127.0.27.0/30"),
        *("-sGUARD_PORTS=1-65535",),
    )


def told(result: CrawlResult, uri: str, *words: str) -> Any:
    """Return the JSON output of the command."""
    done = ask(result, uri, "--json", *words)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("words", [(), ("--offline",)])
def test_answers_for_each_fate(
    crawled: CrawlResult, site: RawServer, words: tuple[str, ...]
) -> None:
    """If a URI has met some fate, then the answer names that fate."""
    url = site.url
    fetched = told(crawled, url("/a"), *words)
    assert fetched["verdict"] == "fetched"
    (fetch,) = fetched["fetches"]
    assert (fetch["status"], fetch["http_status"]) == ("SUCCESSFUL", 200)
    assert fetched["way"] == [{"uri": url("/"), "depth": 0}]

    gone = told(crawled, url("/gone"), *words)
    assert gone["verdict"] == "fetched"
    assert [x["reason"] for x in gone["fetches"][0]["faults"]] == ["not_found"]
    assert [x["uri"] for x in gone["way"]] == [url("/a"), url("/")]

    secret = told(crawled, url("/secret"), *words)
    assert secret["verdict"] == "refused"
    assert [x["reason"] for x in secret["fetches"][0]["faults"]] == [
        "robots_disallowed"
    ]

    far = told(crawled, FAR, *words)
    assert far["verdict"] == "not queued"
    (decision,) = far["decisions"]
    assert (decision["reason"], decision["parent"]) == ("out_of_scope", url("/"))
    assert far["n_links"] == 1

    spelled = told(crawled, url("/%61?a=2&b=1"), *words)
    assert spelled["verdict"] == "fetched"
    assert url("/a?b=1&a=2") in spelled["spellings"]

    target = told(crawled, url("/new"), *words)
    assert target["verdict"] == "redirected to"
    assert target["fetches"][0]["hops"] == [url("/moved"), url("/new")]

    assert told(crawled, url("/nowhere"), *words)["verdict"] == "never seen"


def test_never_seen_uri_is_judged_by_the_rules_of_the_crawl(
    crawled: CrawlResult, site: RawServer
) -> None:
    """If no crawl has seen a URI, then rules predict the fate of the URI."""
    would = told(crawled, "http://127.0.27.2:8000/x")["rules"]
    assert [(x["spider"], x["refusal"]) for x in would] == [
        ("linkeddata", "out_of_scope")
    ]
    inside = told(crawled, site.url("/x"))["rules"]
    assert [x["refusal"] for x in inside] == [""]
    guarded = told(crawled, "http://10.1.2.3/x", "--offline")["rules"]
    assert [x["refusal"] for x in guarded] == ["guard_blocked"]
    endless = told(crawled, site.url("/a/b" * 5 + "/"), "--offline")["rules"]
    assert [x["refusal"] for x in endless] == ["url_trap"]
    done = ask(crawled, "http://exa mple/")
    assert done.returncode == 1
    assert "cannot be crawled" in done.stdout
    assert "bad_uri" in done.stdout


def test_refusals_of_waiting_uris_are_named(
    crawled: CrawlResult, site: RawServer, closed: RawServer
) -> None:
    """If a URI or its robots.txt was refused, then the answer has the last refusal."""
    busy = told(crawled, site.url("/busy"))
    assert (busy["verdict"], busy["frontier"]["refusal"]) == (
        "waiting",
        "host_busy: status 503",
    )
    said = ask(crawled, closed.url("/")).stdout
    assert "its last try failed: robots_unreachable: status 503" in said


def test_text_names_fault_and_way(crawled: CrawlResult, site: RawServer) -> None:
    """If no JSON is wanted, then lines explain the same for people."""
    done = ask(crawled, site.url("/gone"))
    assert done.returncode == 0, done.stderr
    assert "was fetched" in done.stdout
    assert "FAILED, HTTP 404" in done.stdout
    assert "not_found" in done.stdout
    assert f"    {site.url('/')}  (depth 0)" in done.stdout


def test_logs_answer_when_the_frontier_is_gone(
    crawled: CrawlResult, site: RawServer, tmp_path: Path
) -> None:
    """If only the logs of a crawl are there, then the answer comes from these."""
    logs = tmp_path / "c"
    shutil.copytree(
        crawled.folder, logs, ignore=lambda _, names: {"frontier"} & {*names}
    )
    done = scrapy("explain", site.url("/a"), f"-sCRAWL_DIR={tmp_path}")
    assert "was fetched" in done.stdout, done.stderr
    assert "frontier: not known" in done.stdout


def test_queued_uri_of_a_running_crawl(commands: Commands, loopback: Loopback) -> None:
    """If a URI waits for its turn, then the answer says where in the queue."""
    server = loopback({}, host="127.0.27.4")
    links = [server.url(f"/{n}") for n in range(60)]
    server.pages |= {"/": loopback.response(page(*links))}
    quick = {f"/{n}": loopback.response(page()) for n in range(60)}
    server.pages |= {path: [0.3, answer] for path, answer in quick.items()}
    running = commands.start_crawl(
        [server.url("/")], VISIT_MAX_DOCUMENTS=1, CRAWL_ID="c"
    )
    commands.wait_until(lambda: "/" in server.targets)
    commands.wait_until(lambda: len(server.targets) > 2)
    left = next(
        x for x in reversed(links) if x.rpartition("/")[2] not in str(server.targets)
    )
    operate(running.folder.parent, "pause", "127.0.27.4", CRAWL_ID="c")
    done = scrapy(
        "explain", left, f"-sCRAWL_DIR={running.folder.parent}", "-sCRAWL_ID=c"
    )
    server.pages |= quick
    operate(running.folder.parent, "resume", "127.0.27.4", CRAWL_ID="c")
    assert running.wait().code == 0
    assert "waits in the frontier" in done.stdout, done.stdout + done.stderr
    assert f"    {server.url('/')}  (" in done.stdout  # the way to the seed


def test_dump_of_a_later_run_is_not_given_up(
    commands: Commands, loopback: Loopback
) -> None:
    """If a dump that was given up is fetched in the next run, then it was fetched."""
    server = loopback({}, host="127.0.27.2")
    url, folder = server.url, commands.folder()
    sitemap = (
        f'<urlset xmlns="{SITEMAP}" xmlns:sc="{SEMANTIC}"><sc:dataset>'
        "<sc:datasetLabel>d</sc:datasetLabel>"
        f"<sc:dataDumpLocation>{url('/d.nt')}</sc:dataDumpLocation>"
        "</sc:dataset></urlset>"
    )
    server.pages |= {
        "/robots.txt": loopback.response(f"Sitemap: {url('/s')}\n".encode()),
        "/s": loopback.response(sitemap.encode(), "application/xml"),
        "/d.nt": loopback.response(b"busy", status="503 Service Unavailable"),
    }
    verdicts = []
    for _ in range(2):
        result = commands.crawl(
            arguments={"sites": url("/")},
            spider="sitemap",
            folder=folder,
            CRAWL_ID="c",
            RETRY_TIMES=0,
            HOST_PATIENCE_SECS=0.1,
        )
        assert result.code == 0, result.stderr
        verdicts.append(told(result, url("/d.nt"))["verdict"])
        server.pages["/d.nt"] = loopback.response(page(url("/a")))
    assert verdicts == ["given up", "fetched"]


def test_operator_errors_are_one_line(commands: Commands) -> None:
    """If there is no crawl, or no URI, then one line says so and the code is 2."""
    folder = commands.folder()
    none = scrapy("explain", "http://e.example/", f"-sCRAWL_DIR={folder}")
    assert (none.returncode, len(none.stderr.splitlines())) == (2, 1)
    assert "CRAWL_DIR" in none.stderr
    without = scrapy("explain", f"-sCRAWL_DIR={folder}")
    assert (without.returncode, len(without.stderr.splitlines())) == (2, 1)
