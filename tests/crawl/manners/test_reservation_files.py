"""Rights that sites reserve in files of their own, through the crawl."""

from __future__ import annotations

import json
import signal
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from tests.crawl.manners.test_reservations import page, triple

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import RawRequest, RawServer, Reply
    from tests.support.crawl_fixtures import Commands, CrawlResult, RunningCrawl
    from tests.support.crawl_webs import Loopback

FILE = [
    {"location": "/shut/first", "tdm-reservation": 0},
    {"location": "/shut/", "tdm-reservation": 1, "tdm-policy": "https://a.example/p"},
    {"location": "/*.jpg$", "tdm-reservation": 1},
    {"location": "/odd", "tdm-reservation": 2},
    {"location": "/word", "tdm-reservation": "1"},
    {"location": 7, "tdm-reservation": 1},
    "no rule",
    {"location": "/%7Etilde/", "tdm-reservation": 1},
]
TDM_FILE = "/.well-known/tdmrep.json"
# Path -> whether it is stored.
FILED = {
    "/shut/first": True,
    "/shut/": False,
    "/shut/header": True,  # its header goes before the file, as the page does
    "/shut/meta": True,
    "/a.jpg": False,
    "/a.jpg?b": True,
    "/odd": True,
    "/word": False,
    "/~tilde/a": False,
    "/else": True,
}


@dataclass(frozen=True)
class Filed:
    """A crawl of hosts with files of reservations."""

    result: CrawlResult
    servers: dict[str, RawServer]


@pytest.fixture(scope="module", params=["respect", "record", "ignore"])
def filed(
    request: pytest.FixtureRequest, commands: Commands, loopback: Loopback
) -> Filed:
    """Return a crawl of hosts with files of reservations."""
    servers = {
        name: loopback(host=f"127.0.57.{n}")
        for n, name in enumerate(("plain", "elsewhere", "robots", "broken"), start=1)
    }
    # Another port of the first host, that only a redirect leads to.
    servers["other"] = loopback(host="127.0.57.1")
    for server in servers.values():
        server.pages["*"] = loopback.response(triple(server, "x"))
        server.pages["/robots.txt"] = loopback.response(b"", "text/plain")
    plain, file = servers["plain"], json.dumps(FILE).encode()
    plain.pages |= {
        TDM_FILE: loopback.response(file, "application/json"),
        "/shut/header": loopback.response(triple(plain, "header"), TDM_Reservation="0"),
        "/shut/meta": loopback.response(
            page(plain, "meta", "<meta name=tdm-reservation content=0>"), "text/html"
        ),
        "/moved": loopback.redirect(servers["other"].url("/shut/there")),
    }
    servers["other"].pages[TDM_FILE] = loopback.response(file, "application/json")
    servers["elsewhere"].pages[TDM_FILE] = loopback.redirect(plain.url("/file.json"))
    plain.pages["/file.json"] = loopback.response(file, "application/json")
    servers["robots"].pages["/robots.txt"] = loopback.response(
        b"User-agent: *\nDisallow: /.well-known/", "text/plain"
    )
    servers["broken"].pages[TDM_FILE] = loopback.response(b"[" * 99_999, "text/plain")
    seeds = [plain.url(path) for path in (*FILED, "/moved")]
    seeds += [servers["elsewhere"].url(path) for path in ("/shut/a", "/b")]
    seeds += [servers[name].url("/shut/a") for name in ("robots", "broken")]
    result = commands.crawl(
        seeds,
        arguments={"depth": 0},
        TDM_POLICY=request.param,
        DOWNLOAD_DELAY=0.1,
        VISIT_WINDOW_SECS=600,
    )
    assert result.code == 0, result.stderr
    return Filed(result, servers)


def test_file_of_a_site_is_obeyed(filed: Filed, request: pytest.FixtureRequest) -> None:
    """If a site reserves mining in its file, then `TDM_POLICY` decides."""
    servers, result = filed.servers, filed.result
    plain = servers["plain"].url
    policy = request.node.callspec.params["filed"]
    reserved = {plain(path) for path, is_stored in FILED.items() if not is_stored}
    reserved |= {
        servers["elsewhere"].url("/shut/a"),
        servers["other"].url("/shut/there"),
    }
    free = {plain(path) for path, is_stored in FILED.items() if is_stored}
    free |= {servers["elsewhere"].url("/b")}
    free |= {servers[name].url("/shut/a") for name in ("robots", "broken")}
    stored = free if policy == "respect" else free | reserved
    assert {graph for graph in result.graphs if "127.0.57" in graph} == stored
    n_recorded = 0 if policy == "ignore" else len(reserved)
    assert len(result.ask("?y rc:tdmReservation 1 ; sq:crawled ?x .")) == n_recorded
    assert result.statistics["tdm/reserved"] == n_recorded
    if policy == "respect":
        assert result.faults(plain("/shut/")) == ["tdm_reserved"]
    if policy != "ignore":
        said = result.ask(f"?y sq:crawled <{plain('/shut/')}> ; rc:tdmPolicy ?x .")
        assert said == ["https://a.example/p"]


def test_file_of_a_site_is_requested_once_and_in_its_turn(
    filed: Filed, request: pytest.FixtureRequest
) -> None:
    """If the file is read, then once, after a document and with the delay."""
    is_read = request.node.callspec.params["filed"] != "ignore"
    for name, server in filed.servers.items():
        n_asked = server.targets.count(TDM_FILE)
        assert n_asked == (is_read and name != "robots"), name
        assert server.targets[0] == "/robots.txt"
        if n_asked:
            assert server.targets.index(TDM_FILE) > 1
        times = sorted(request.at for request in server.requests)
        gaps = [b - a for a, b in pairwise(times)]
        assert name in ("plain", "other") or min(gaps) > 0.07
    assert filed.result.statistics["tdm/bad_file"] == is_read
    assert filed.result.statistics["tdm/file"] == 3 * is_read


RESERVED = json.dumps([{"location": "/", "tdm-reservation": 1}]).encode()
# A child process reads it, and the page goes before the file.
OVERRIDING = b"<meta name=tdm-reservation content=0><p vocab=urn:v: property=p>text</p>"
# Name -> content of the host at /a, and robots.txt; the file reserves everything.
UNASKED: dict[str, Callable[[RawServer, Loopback], Reply]] = {
    "nothing": lambda _, answer: answer.response(b"<p>none</p>", "text/html"),
    "hyperlink": lambda _, answer: answer.response(b"<a href=/b>b</a>", "text/html"),
    "missing": lambda _, answer: answer.response(b"", status="404 Not Found"),
    "picture": lambda _, answer: answer.response(b"\x89PNG", "image/png"),
    "header": lambda host, answer: answer.response(
        triple(host, "x"), TDM_Reservation="0"
    ),
    "meta": lambda host, answer: answer.response(
        page(host, "x", "<meta name=tdm-reservation content=0>"), "text/html"
    ),
    "overriding": lambda _, answer: answer.response(OVERRIDING, "text/html"),
}
# The same, where the file has to be requested.
ASKED: dict[str, Callable[[RawServer, Loopback], Reply]] = {
    "triple": lambda host, answer: answer.response(triple(host, "x")),
    "page": lambda host, answer: answer.response(page(host, "x", ""), "text/html"),
    "rdfa": lambda host, answer: answer.response(
        f"<p vocab=urn:v: property=p><a rel=q href={host.url('/to/x')}>".encode(),
        "text/html",
    ),
    "large": lambda host, answer: answer.response(triple(host, "x") * 20_000),
    "alternate": lambda host, answer: answer.response(
        b"<p>none</p>",
        "text/html",
        Link=f"<{host.url('/to/x')}>; rel=alternate; type=text/turtle",
    ),
}
# Name -> outcome of the request for the file.
FAILING: dict[str, Reply] = {
    "busy": b"HTTP/1.1 503 Busy\r\nRetry-After: 9999\r\nContent-Length: 0\r\n\r\n",
    "limited": b"HTTP/1.1 429 Slow\r\nContent-Length: 0\r\n\r\n",
    "failed": b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n",
    "silent": [60.0],
    "reset": ["reset"],
    "cut": [b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n[", None],
    "loop": b"HTTP/1.1 301 Moved\r\nLocation: ?\r\nContent-Length: 0\r\n\r\n",
    "garbage": b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\0\0\0\0",
}


@dataclass(frozen=True)
class LateCrawl:
    """A crawl of hosts whose files of reservations are found out late."""

    result: CrawlResult
    again: CrawlResult  # of more of them, later
    servers: dict[str, RawServer]


@pytest.fixture(scope="module")
def late(commands: Commands, loopback: Loopback) -> LateCrawl:
    """Return a crawl of hosts with files of reservations, and a later run."""
    servers = {}
    for n, name in enumerate((*UNASKED, *ASKED, *FAILING), start=1):
        server = servers[name] = loopback(host=f"127.75.4.{n}")
        made = UNASKED.get(name) or ASKED.get(name) or ASKED["triple"]
        server.pages |= {
            "/a": made(server, loopback),
            "/b": loopback.response(triple(server, "y")),
            TDM_FILE: FAILING.get(name, loopback.response(RESERVED)),
        }
    servers["triple"].pages["/c"] = loopback.response(OVERRIDING, "text/html")
    folder = commands.folder()
    common: dict[str, Any] = {
        "folder": folder,
        "TDM_POLICY": "respect",
        "TRANSFER_FIRST_BYTE_SECS": 1,
        "CRAWL_ID": "late",
    }
    seeds = [server.url("/a") for server in servers.values()]
    seeds += [servers[name].url("/b") for name in FAILING]
    result = commands.crawl(seeds, **common)
    assert result.code == 0, result.stderr[-3000:]
    again = commands.crawl([servers["triple"].url(x) for x in ("/b", "/c")], **common)
    return LateCrawl(result, again, servers)


def test_file_is_requested_before_anything_is_taken(late: LateCrawl) -> None:
    """If a document has nothing to take, or says so itself, no file is requested."""
    for name, server in late.servers.items():
        n_asked = server.targets.count(TDM_FILE)
        assert (n_asked > 0) is (name not in UNASKED), name
        assert n_asked == 0 or server.targets.index(TDM_FILE) > 1, name
    for name in ("header", "meta", "overriding"):
        assert late.servers[name].url("/a") in late.result.graphs


def test_nothing_is_taken_before_the_file_is_known(late: LateCrawl) -> None:
    """If a file reserves a document that was fetched before, nothing is taken."""
    for name in ASKED:
        server = late.servers[name]
        url = server.url("/a")
        assert url not in late.result.graphs, name
        assert "/to/x" not in server.targets, name
        assert late.result.faults(url) == ["tdm_reserved"], name
        assert server.targets.count("/a") == 1, name


def test_file_that_fails_costs_no_document(late: LateCrawl) -> None:
    """If the file is unavailable, then the documents of its host are stored."""
    for name in FAILING:
        server = late.servers[name]
        assert {server.url("/a"), server.url("/b")} <= late.result.graphs, name
        assert not late.result.faults(server.url("/a")), name
        assert server.targets.count("/a") == 1, name


def test_later_run_knows_the_file(late: LateCrawl) -> None:
    """If an earlier run has read the file, then it is not requested again."""
    server = late.servers["triple"]
    assert "/b" in server.targets
    assert server.targets.count(TDM_FILE) == 1
    assert server.url("/b") not in late.again.graphs
    assert server.url("/c") in late.again.graphs


def test_document_is_held_back_by_a_stop(
    commands: Commands, loopback: Loopback
) -> None:
    """If a worker stops before it knows the file, then the next run takes the page."""
    server = loopback(host="127.75.4.60")
    running: list[RunningCrawl] = []

    def stop(_: RawRequest) -> bytes:
        if server.targets.count("/a") == 1:
            running[0].send(signal.SIGTERM)
        return loopback.response(triple(server, "x"))

    server.pages["/a"] = stop
    server.pages[TDM_FILE] = loopback.response(b"[]", "application/json")
    folder, seeds = commands.folder(), [server.url("/a")]
    common: dict[str, Any] = {"folder": folder, "TDM_POLICY": "respect"}
    running.append(commands.start_crawl(seeds, DOWNLOAD_DELAY=0.8, **common))
    stopped = running[0].wait()
    assert TDM_FILE not in server.targets
    assert not stopped.graphs
    assert "Traceback" not in stopped.stderr
    result = commands.crawl(**common)
    assert result.code == 0, result.stderr[-3000:]
    assert result.graphs == set(seeds)
    assert not result.faults(seeds[0])
