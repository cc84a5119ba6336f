"""Crawls of hosts that are silent, endless or slow: none of them stops a worker."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

from rdfcrawl.stores.reading import iter_quads

if TYPE_CHECKING:
    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands, RunningCrawl
    from tests.support.crawl_webs import Loopback

SILENT: list[Any] = [600.0]
N_GOOD = 60
STOP_SECS = 30.0  # a safety net: it takes about three


def _endless(piece: bytes) -> list[Any]:
    """Return the script of a server that sends a piece again and again."""
    return [step for _ in range(20_000) for step in (piece, 0.01)]


def test_silent_hosts_do_not_hold_the_places_of_others(
    commands: Commands, loopback: Loopback
) -> None:
    """If more hosts are silent than are visited in parallel, then others go on."""
    silent = [loopback({"*": SILENT}, host=f"127.0.71.{n}") for n in range(1, 33)]
    body = loopback.response(b"<> <urn:x:p> <#o> .")
    good = loopback({"*": body}, host="127.0.72.1")
    seeds = [server.url("/a") for server in silent]
    seeds += [good.url(f"/{n}") for n in range(N_GOOD)]
    running = commands.start_crawl(
        seeds, SLOW_VISITS=20, TRANSFER_FIRST_BYTE_SECS=600, DOWNLOAD_TIMEOUT=600
    )
    commands.wait_until(lambda: len(good.targets) > N_GOOD)
    assert sum(len(server.targets) for server in silent) > 0
    running.send(signal.SIGTERM)
    result = running.wait(STOP_SECS)
    assert "Traceback" not in result.stderr, result.stderr
    counts = result.counts()
    assert (counts.done, counts.queued) == (N_GOOD, 32)
    assert (counts.leased, counts.dead) == (0, 0)


def test_hosts_without_response_give_way_immediately(
    commands: Commands, loopback: Loopback
) -> None:
    """If hosts are silent, endless and good, then the good one waits for none of them.

    None of the others is slow yet by the setting, and they are more than the hosts
    visited in parallel.
    """
    silent = [loopback({"*": SILENT}, host=f"127.0.78.{n}") for n in range(1, 41)]
    no_rules = loopback.response(b"", status="404 No")
    pages = {"*": [HEAD, b"\r\n", *_endless(b"# x\n")], "/robots.txt": no_rules}
    endless = [loopback(pages, host=f"127.0.79.{n}") for n in range(1, 41)]
    body = loopback.response(b"<> <urn:x:p> <#o> .")
    good = loopback({"*": body}, host="127.0.78.100")
    seeds = [server.url("/a") for server in (*silent, *endless)]
    seeds += [good.url(f"/{n}") for n in range(N_GOOD)]
    running = commands.start_crawl(
        seeds,
        VISIT_MAX_DOCUMENTS=5,
        VISIT_SLOW_SECS=600,
        TRANSFER_FIRST_BYTE_SECS=600,
        TRANSFER_MIN_RATE_SECS=600,
        DOWNLOAD_TIMEOUT=600,
    )
    commands.wait_until(lambda: len(good.targets) > N_GOOD)
    # Each got a request, and none was put off for another.
    commands.wait_until(lambda: all(each.targets for each in (*silent, *endless)))
    assert not any(len(each.targets) > 2 for each in (*silent, *endless))
    running.send(signal.SIGTERM)
    counts = running.wait(STOP_SECS).counts()
    assert (counts.done, counts.queued) == (N_GOOD, 80)


def test_floods_starve_no_host(commands: Commands, loopback: Loopback) -> None:
    """If more hosts than have places send chunks without end, then others go on."""
    chunked = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    floods = {
        "bytes": [chunked, *_endless(b"1\r\n#\r\n" * 2000)],
        "nines": [chunked, *_endless(b"9\r\n#########\r\n" * 2000)],
        "lines": [chunked, *_endless(b"32\r\n%s\r\n" % (b"#" * 50) * 500)],
        "interim": _endless(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 500),
    }
    no_rules = loopback.response(b"", status="404 No")
    hostile = [
        loopback({"*": script, "/robots.txt": no_rules}, host=f"127.0.77.{10 * n + m}")
        for n, script in enumerate(floods.values())
        for m in range(1, 6)
    ]
    body = loopback.response(b"<> <urn:x:p> <#o> .")
    good = loopback({"*": body}, host="127.0.77.100")
    seeds = [server.url("/a") for server in hostile]
    seeds += [good.url(f"/{n}") for n in range(N_GOOD)]
    running = commands.start_crawl(
        seeds, VISIT_MAX_DOCUMENTS=5, CONCURRENT_REQUESTS=8, VISIT_SLOW_SECS=0.5
    )
    commands.wait_until(lambda: len(good.targets) > N_GOOD)
    commands.wait_until(lambda: all(each.targets for each in hostile))
    running.send(signal.SIGTERM)
    result = running.wait(STOP_SECS)
    for server in hostile[:5]:  # those of a byte have ended, and for good
        assert server.targets.count("/a") <= 1
    assert "Traceback" not in result.stderr, result.stderr
    assert result.counts().done >= N_GOOD


def test_long_dumps_keep_their_places(commands: Commands, loopback: Loopback) -> None:
    """If more hosts are silent than there are places, then long dumps are not cut."""
    line = b"<urn:x:s> <urn:x:p> <urn:x:o> .\n" * 2000
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/n-triples\r\n\r\n"
    script: list[Any] = [head, *[line, 0.1] * 30, None]
    dumps = [loopback({"/d.nt": script}, host=f"127.0.82.{n}") for n in (1, 2)]
    silent = [loopback({"*": SILENT}, host=f"127.0.83.{n}") for n in range(1, 13)]
    seeds = [server.url("/d.nt") for server in dumps]
    seeds += [server.url("/a") for server in silent]
    running = commands.start_crawl(seeds, SLOW_VISITS=4, VISIT_SLOW_SECS=0.5)
    commands.wait_until(lambda: _has_all(running, dumps))
    running.send(signal.SIGTERM)
    result = running.wait(STOP_SECS)
    assert [server.targets.count("/d.nt") for server in dumps] == [1, 1]
    assert result.counts().done == len(dumps)
    assert result.statistics["frontier/put_off"] > 0


def _has_all(running: RunningCrawl, dumps: list[RawServer]) -> bool:
    folder = running.folder / "quads"
    quads = b"".join(iter_quads(folder)) if folder.exists() else b""
    return all(server.url("/d.nt").encode() in quads for server in dumps)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/turtle\r\n"
SCRIPTS: dict[str, list[Any]] = {
    "silent": SILENT,
    "interim": _endless(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "flood": _endless(b"HTTP/1.1 100 Continue\r\n\r\n" * 20_000),
    "headers": [HEAD, *_endless(b"X: y\r\n")],
    "nothing": [HEAD, b"\r\n", 600.0],
    "body": [HEAD, b"\r\n", *_endless(b"# x\n")],
    "chunks": [HEAD, b"Transfer-Encoding: chunked\r\n\r\n", *_endless(b"1\r\n#\r\n")],
    "many": [
        *(HEAD, b"Transfer-Encoding: chunked\r\n\r\n"),
        *_endless(b"1\r\n#\r\n" * 20_000),
    ],
}


def test_endless_responses_are_given_up(commands: Commands, loopback: Loopback) -> None:
    """If an answer does not begin or end, then it is a fault, and the crawl ends."""
    urls = []
    for n, script in enumerate(SCRIPTS.values(), start=1):
        for m, target in enumerate(("/a", "/a.nt.gz", "/robots.txt"), start=1):
            server = loopback({target: script}, host=f"127.0.73.{10 * n + m}")
            urls.append(server.url("/a" if m == 3 else target))
    result = commands.crawl(
        urls,
        TRANSFER_FIRST_BYTE_SECS=1.0,
        TRANSFER_MIN_RATE_SECS=1.0,
        RETRY_TIMES=1,
    )
    assert result.code == 0
    for url in urls:
        faults = set(result.faults(url))
        if "robots_unreachable" not in faults:
            assert faults & {"timeout", "bad_http"}, url
    assert result.counts().done == len(urls)


def test_only_endpoints_that_have_answered_may_think(
    commands: Commands, loopback: Loopback
) -> None:
    """If an endpoint has never answered, then each query has the time of a page."""
    rules = {"/robots.txt": loopback.response(b"", "text/plain")}
    head = b'{"head":{"vars":["b","k"]},"results":{"bindings":[]}}'
    table = loopback.response(head, "application/sparql-results+json")
    busy = loopback.response(b"no query", "text/plain", status="400 Bad Request")
    silent = loopback(rules | {"*": SILENT}, host="127.0.85.1")
    slow = loopback(rules | {"/q": busy, "*": [1.5, table]}, host="127.0.85.2")
    result = commands.crawl(
        arguments={"endpoints": f"{silent.url('/q')},{slow.url('/q')}"},
        spider="sparql",
        TRANSFER_FIRST_BYTE_SECS=0.5,
        ENDPOINT_FIRST_BYTE_SECS=600,
        RETRY_TIMES=1,
        HOST_BACKOFF_SECS=0.2,
    )
    assert "timeout" in result.faults(silent.url("/q"))
    assert sum(target.startswith("/q") for target in silent.targets) <= 6
    assert sum("query=" in target for target in slow.targets) > 2


def test_scrapys_downloader_gives_up_missing_responses(
    commands: Commands, loopback: Loopback
) -> None:
    """If Scrapy's downloader makes the requests, then they have the same limits."""
    names = ("silent", "nothing", "body")
    urls = [
        loopback({"/a": SCRIPTS[name]}, host=f"127.0.84.{n}").url("/a")
        for n, name in enumerate(names, start=1)
    ]
    result = commands.crawl(
        urls,
        FETCH_WITH_SCRAPY=True,
        TRANSFER_FIRST_BYTE_SECS=1.0,
        TRANSFER_MIN_RATE_SECS=1.0,
        DOWNLOAD_TIMEOUT=600,
        RETRY_TIMES=0,
    )
    assert result.code == 0, result.stderr
    for url in urls:
        assert "timeout" in result.faults(url), url


def test_a_dump_that_is_being_read_goes_back_on_sigterm(
    commands: Commands, loopback: Loopback
) -> None:
    """If SIGTERM comes in a long dump, then the worker ends; the dump is not lost."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/n-triples\r\n\r\n"
    line = b"<urn:x:s> <urn:x:p> <urn:x:o> .\n" * 1000
    body = loopback.response(line, "application/n-triples")
    script: list[Any] = [head, *[line, 0.1] * 2000]
    server = loopback({"/dump.nt": script})
    running = commands.start_crawl([server.url("/dump.nt")])
    commands.wait_until(lambda: "/dump.nt" in server.targets)
    running.send(signal.SIGTERM)
    first = running.wait(STOP_SECS)
    assert first.counts().queued == 1
    server.pages["/dump.nt"] = body
    second = commands.crawl([], folder=first.folder.parent)
    assert second.code == 0
    assert second.about(server.url("/dump.nt"))
    assert second.counts().dead == 0
