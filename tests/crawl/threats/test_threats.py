"""Attacks of the threat table that have no other place: logs, records, payloads."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import re
import signal
from typing import TYPE_CHECKING, Any

import pytest
from redis import Redis

from rdfcrawl.frontier.redis.embedded import find_server
from rdfcrawl.rdf.extraction.confinement import kernel_layers
from rdfcrawl.stores.reading import iter_quads
from tests.support.redis_fixtures import RedisServer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RawRequest, RawServer, Reply, Step
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

GOOD = b"<http://a.example/s> <http://a.example/p> <http://a.example/o> .\n"

# -- logs ------------------------------------------------------------------------------

# A line that is not ours, an escape sequence in 7 and in 8 bits, a backspace, text that
# runs backwards, a line separator.
EVIL = "a\r\nFORGED: all is well\x1b[2J\x1b]0;title\x07\x9b2J\x08\u202egnp\u2066\u2028b"
_RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]")


def evil_pages(loopback: Loopback, server: RawServer) -> dict[str, Reply]:
    """Return answers that have it wherever text can be."""
    one_line = EVIL.replace("\r\n", " ").encode()
    quoted = json.dumps(EVIL)
    percent = "%0d%0aFORGED%1b[2J%E2%80%AEx"
    error = f"<p>{EVIL}</p>".encode()
    odd_header = b"HTTP/1.1 200 " + one_line + b"\r\nContent-Type: text/" + one_line
    iri = EVIL.replace("\r\n", "\\u000A")
    return {
        "/type": odd_header + b"\r\nContent-Length: 3\r\n\r\nabc",
        "/name": b"HTTP/1.1 200 OK\r\n" + one_line + b": x\r\n\r\n",
        "/version": b"HTTP/" + one_line + b"\r\n\r\n",
        "/status": b"HTTP/1.1 5xx" + one_line + b"\r\n\r\n",
        "/moved": b"HTTP/1.1 302 Found\r\nLocation: http://" + one_line + b"/\r\n\r\n",
        "/moved2": b"HTTP/1.1 302 Found\r\nLocation: /" + one_line + b"\r\n"
        b"Content-Length: 0\r\n\r\n",
        "/etag": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nETag: "
        + one_line
        + b"\r\nLink: <"
        + one_line
        + b">; rel="
        + one_line
        + b"\r\n\r\n",
        "/encoding": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Encoding: "
        + one_line
        + b"\r\n\r\nx",
        "/chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        + one_line
        + b"\r\n",
        "/error": loopback.response(error, "text/html", status="500 No"),
        "/bad.ttl": loopback.response(f"<a> <b> <{iri}> . {EVIL}".encode()),
        "/bad.nt": loopback.response(f"{EVIL}\n".encode(), "application/n-triples"),
        "/bad.rdf": loopback.response(f"<{EVIL}".encode(), "application/rdf+xml"),
        "/bad.trix": loopback.response(f"<{EVIL}".encode(), "application/trix"),
        "/bad.n3": loopback.response(f"@prefix {EVIL}".encode(), "text/n3"),
        "/bad.jsonld": loopback.response(
            f'{{"@context": {quoted}, {quoted}: 1}}'.encode(), "application/ld+json"
        ),
        "/far.jsonld": loopback.response(
            f'{{"@context": "{server.url("/" + percent)}"}}'.encode(),
            "application/ld+json",
        ),
        "/page": loopback.response(
            f'<title>{EVIL}</title><a href="{EVIL}">x</a><a href="/{percent}">y</a>'
            f'<script type="application/ld+json">{{{quoted}</script>'
            f"<meta name=robots content='{EVIL}'>".encode(),
            "text/html",
        ),
        "/good.nt": loopback.response(
            f"<urn:x:s> <urn:x:p> {json.dumps(EVIL)} .".encode(),
            "application/n-triples",
        ),
    }


def check_output(result: CrawlResult) -> None:
    """Check that none of it reaches a terminal unescaped."""
    text = (result.stderr).replace("\r\n", "\n")
    found = _RAW.findall(text)
    assert not found, (found[:5], [x for x in text.splitlines() if _RAW.search(x)][:5])
    assert not [line for line in text.split("\n") if line.startswith("FORGED")]
    kept = b"".join(iter_quads(result.folder / "provenance")).decode()
    assert not _RAW.findall(kept)


@pytest.mark.parametrize("level", ["INFO", "DEBUG"])
def test_nothing_of_the_web_reaches_the_log_raw(
    commands: Commands, loopback: Loopback, level: str
) -> None:
    """If servers send control characters, then logs and provenance have none."""
    server = loopback(host="127.0.83.1")
    server.pages |= evil_pages(loopback, server)
    odd = loopback({"*": b"HTTP/1.1 200 OK\r\n" + EVIL.encode()}, host="127.0.83.2")
    seeds = [server.url(path) for path in server.pages] + [odd.url("/x")]
    result = commands.crawl(
        seeds,
        arguments={"follow": "all,hyperlink"},
        LOG_LEVEL=level,
        RETRY_TIMES=0,
        DOWNLOAD_TIMEOUT=2,
        PROGRESS="log",
    )
    assert result.code == 0
    assert "Traceback" not in result.stderr
    check_output(result)


def test_nothing_of_a_source_reaches_the_log_raw(
    commands: Commands, loopback: Loopback
) -> None:
    """If sources send control characters, then logs and provenance have none."""
    quoted = json.dumps(EVIL)
    answer = f'{{"success": false, "error": {{"message": {quoted}}}, {quoted}: 1}}'
    server = loopback(
        {"*": loopback.response(answer.encode(), "application/json")},
        host="127.0.84.1",
    )
    check_output(commands.crawl(spider="ckan", arguments={"portals": server.url("/")}))
    failed = loopback(
        {"*": loopback.response(EVIL.encode(), "text/plain", status="500 No")},
        host="127.0.84.2",
    )
    endpoint = failed.url("/sparql")
    check_output(commands.crawl(spider="sparql", arguments={"endpoints": endpoint}))
    sitemap = f"<urlset><url><loc>{EVIL}</loc></url><url><loc>http://{EVIL}/</loc>"
    sites = loopback(
        {"*": loopback.response(sitemap.encode(), "application/xml")},
        host="127.0.84.3",
    )
    check_output(
        commands.crawl(spider="sitemap", arguments={"sites": sites.url("/s.xml")})
    )


def test_exception_with_text_of_the_web_is_shown_safely(
    commands: Commands, loopback: Loopback
) -> None:
    """If an error quotes a document, then its traceback is still that of one error."""
    server = loopback({"/a": loopback.response(EVIL.encode())}, host="127.0.85.1")
    pipelines = '{"tests.support.talking.Talking": 1}'
    result = commands.crawl([server.url("/a")], ITEM_PIPELINES=pipelines)
    assert "ValueError: a" in result.stderr
    check_output(result)


# -- Redis -----------------------------------------------------------------------------


class _Touch:
    """Runs code when a pickle of it is loaded."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (f"touch {self._path}",)


def test_records_in_redis_run_nothing_and_read_no_file(
    commands: Commands, loopback: Loopback, server_directory: Path, tmp_path: Path
) -> None:
    """If an attacker writes into the queue, then no code runs and no file is read."""
    touched = tmp_path / "touched"
    host = loopback({"/0": [60.0], "*": loopback.response(GOOD)}, host="127.0.86.1")
    head = b"\x00\x00"
    forged = [
        pickle.dumps(_Touch(touched)),
        head + b"file:///etc/passwd",
        head + b"data:text/turtle,<a:b><c:d><e:f>.",
        head + host.url("/a\r\nX-Forged: 1\r\n").encode(),
        head + b"/b HTTP/1.1\r\nX-Forged: 1\r\n",
        head + b"visit://127.0.86.1/",
        head + b"/\xff\x00\x00\x00",
        b"",
        b"\x00",
        json.dumps({"url": host.url("/json"), "callback": "os.system"}).encode(),
    ]
    urls = [host.url(f"/{n}") for n in range(20)]
    server = RedisServer(find_server(), server_directory)
    server.start()
    given: dict[str, Any] = {
        "folder": commands.folder(),
        "REDIS_URL": server.url,
        "FRONTIER_LEASE_SECS": 1,
    }
    try:
        first = commands.start_crawl(urls, VISIT_MAX_DOCUMENTS=2, **given)
        commands.wait_until(lambda: "/0" in host.targets)
        first.send(signal.SIGKILL)
        first.wait()
        host.pages["/0"] = loopback.response(GOOD)
        with Redis(unix_socket_path=str(server.socket)) as redis:
            (queue,) = redis.keys("rc:{linkeddata/*}:q:127.0.86.1:*")
            for n, record in enumerate(forged):
                redis.lset(queue, n, record)
            redis.rpush("linkeddata:start_urls", pickle.dumps(_Touch(touched)))
            redis.rpush("linkeddata:start_urls", "file:///etc/passwd")
        result = commands.crawl(**given)
    finally:
        server.end()
    assert result.code == 0, result.stderr
    assert "Traceback" not in result.stderr
    assert not touched.exists()
    assert len(result.graphs) == len(urls) - len(forged)
    assert not [x for x in host.requests if "x-forged" in x.headers]
    assert b"root:" not in b"".join(iter_quads(result.folder / "quads"))
    check_output(result)


# -- content negotiation ---------------------------------------------------------------


def test_requests_of_one_poison_no_other(
    commands: Commands, loopback: Loopback
) -> None:
    """If one URL is a page, a context and a sitemap by `Accept`, each gets its own."""
    server = loopback(host="127.0.87.1")

    def negotiated(request: RawRequest) -> bytes:
        accept = request.headers["accept"]
        if "profile=" in accept or "text/turtle" not in accept:
            text = '{"@context": {"name": "urn:x:name"}}'
            if "ld+json" not in accept:
                loc = f"<loc>{server.url('/listed')}</loc>"
                text = f"<urlset><url>{loc}</url></urlset>"
                return loopback.response(
                    text.encode(), "application/xml", Vary="Accept"
                )
            return loopback.response(
                text.encode(), "application/ld+json", Vary="Accept", ETag='"c"'
            )
        return loopback.response(
            b"<> <urn:x:is> <urn:x:page> .", Vary="Accept", ETag='"p"'
        )

    both = server.url("/both")
    document = f'{{"@context": "{both}", "@id": "urn:x:s", "name": "n"}}'.encode()
    server.pages |= {
        "/both": negotiated,
        "/1": loopback.response(document, "application/ld+json"),
        "/2": loopback.response(document, "application/ld+json"),
        "/listed": loopback.response(GOOD),
    }
    seeds = [f"{url}," for url in (server.url("/1"), both, server.url("/2"))]
    result = commands.crawl(["uri,type", *seeds, f"{both},sitemap"])
    assert (both, "urn:x:is", "urn:x:page") in result.about(both)
    for name in ("/1", "/2"):
        assert result.about(server.url(name)) == {("urn:x:s", "urn:x:name", '"n"')}
    assert "/listed" in server.targets
    types = result.ask(f"?a sq:crawled <{both}> ; prov:used/rc:mediaType ?x .")
    assert sorted(types) == ["application/xml", "text/turtle"]


# -- slow bodies -----------------------------------------------------------------------


def test_slow_bodies_end(commands: Commands, loopback: Loopback) -> None:
    """If bodies never end, then they are faults in time, and others are crawled."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/n-triples\r\n"
    drip: list[Step] = [head + b"Content-Length: 100000\r\n\r\n" + GOOD]
    chunks: list[Step] = [head + b"Transfer-Encoding: chunked\r\n\r\n"]
    for _ in range(600):
        drip += (0.1, b"#")
        chunks += (0.1, b"1\r\n#\r\n")
    slow = loopback({"/drip": drip, "/chunks": chunks}, host="127.0.88.1")
    good = loopback({"*": loopback.response(GOOD)}, host="127.0.88.2")
    seeds = [*(slow.url(target) for target in slow.pages), good.url("/a")]
    result = commands.crawl(seeds, DOWNLOAD_TIMEOUT=1, RETRY_TIMES=0)
    assert result.code == 0
    assert good.url("/a") in result.graphs
    for target in ("/drip", "/chunks"):
        assert result.faults(slow.url(target))[0] == "timeout"


# -- the child that reads documents ----------------------------------------------------


@pytest.mark.parametrize("wanted", ["auto", "process"])
def test_children_are_confined_as_the_crawl_says(
    commands: Commands, loopback: Loopback, wanted: str
) -> None:
    """If the kernel confines children, or is not used, then the crawl says so."""
    packed = gzip.compress(GOOD)
    pages: dict[str, Reply] = {"/a.nt.gz": loopback.response(packed, "")}
    server = loopback(pages, host="127.0.89.1")
    url = server.url("/a.nt.gz")
    result = commands.crawl([url], EXTRACT_SANDBOX=wanted)
    assert len(result.about(url)) == 1
    layers = "+".join(kernel_layers()) if wanted == "auto" else "process"
    assert result.statistics[f"extract/children/{layers or 'process'}"] == 1
    assert f"children confined by: {layers or 'process'}" in result.stderr


# -- international names ---------------------------------------------------------------

LOOKALIKES = ("\u0430\u0440\u0440\u04cf\u0435", "p\u0430ypal")
HONEST = ("m\u00fcller", "\u65e5\u672c\u8a9e", "\u043f\u0440\u0438\u043c\u0435\u0440")
IMPOSSIBLE = ("a\u2028b", "a\u202eb", "a\u200bb%00", "xn--a\u2066")


def test_names_that_look_like_others_are_marked(
    commands: Commands, loopback: Loopback
) -> None:
    """If a host has an international name, it is requested as ASCII, and marked."""
    server = loopback({"*": loopback.response(GOOD)})
    names = (*LOOKALIKES, *HONEST, *IMPOSSIBLE)
    links = [f"http://{name}.localhost:{server.port}/x" for name in names]
    body = "".join(f"<> <urn:x:p> <{link}> .\n" for link in links)
    server.pages["/a"] = loopback.response(body.encode())
    result = commands.crawl([server.url("/a")])
    assert result.code == 0
    hosts = {request.headers["host"] for request in server.requests}
    assert all(host.isascii() for host in hosts)
    marked = result.ask('?a sq:crawled ?x ; rc:hostMark "lookalike" .')
    expected = [f"http://xn--80ak6aa92e.localhost:{server.port}/x"]
    expected.append(f"http://xn--pypal-4ve.localhost:{server.port}/x")
    assert sorted(marked) == sorted(expected)
    assert result.statistics["document/lookalike"] == len(LOOKALIKES)
    asked = [x for x in result.ask("?a sq:crawled ?x .") if "localhost" in x]
    assert len(asked) == len(LOOKALIKES) + len(HONEST)
    check_output(result)
