"""Sitemaps that are pinged while a crawl runs, and afterwards."""

from __future__ import annotations

import http.client
import re
import signal
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from tests.crawl.operation.test_decisions import decisions_of
from tests.crawl.sources.test_revisits import DatedSite, entry, said
from tests.support.sitemap_sites import index, urlset

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands, RunningCrawl
    from tests.support.crawl_webs import Loopback

OPEN: dict[str, Any] = {
    "SCHEDULER_IDLE_BEFORE_CLOSE": 600,
    "FRONTIER_COMMIT_SECS": 0.1,
}


class PingEndpoint:
    """`scrapy ping serve` of the crawls in a folder."""

    def __init__(self, commands: Commands, folder: Path, **settings: Any) -> None:
        words = "ping", "serve", "--port", "0"
        self._running = commands.start(*words, folder=folder, **settings)
        commands.wait_until(lambda: "http://" in self.told or self.has_ended())
        self._at = urlsplit(re.findall(r"http://\S+", self.told)[0])

    @property
    def told(self) -> str:
        """Its output."""
        return self._running.stderr

    def has_ended(self) -> bool:
        """Look whether it has ended."""
        return self._running.has_ended()

    def raw(self, request: bytes) -> tuple[int, bytes]:
        """Send bytes; return the status (0: none) and the response."""
        answer = b""
        place = str(self._at.hostname), self._at.port or 0
        with socket.create_connection(place, timeout=60) as connection:
            connection.sendall(request)
            while chunk := connection.recv(65536):
                answer += chunk
        status = re.match(rb"HTTP/1\.[01] (\d{3})", answer)
        return int(status[1]) if status else 0, answer

    def kill(self) -> None:
        """Kill it."""
        self._running.send(signal.SIGKILL)
        self._running.wait()

    def ask(self, sitemap: str, method: str = "GET") -> tuple[int, str]:
        """Ping; return the status and the value of `Retry-After`."""
        query = f"sitemap={quote(sitemap, safe='')}"
        target, body = f"/ping?{query}", None
        if method == "POST":
            target, body = "/ping", query
        form = {"Content-Type": "application/x-www-form-urlencoded"} if body else {}
        connection = http.client.HTTPConnection(self._at.netloc, timeout=60)
        connection.request(method, target, body, form)
        response = connection.getresponse()
        response.read()
        connection.close()
        return response.status, response.headers.get("Retry-After", "")

    def stop(self) -> str:
        """End it with Ctrl-C; return its output."""
        self._running.send(signal.SIGINT)
        return self._running.wait().stderr


def open_crawl(
    commands: Commands, site: DatedSite, folder: Path, **settings: Any
) -> RunningCrawl:
    """Start a crawl of a site that waits for pings when it is done."""
    return commands.start_crawl(
        arguments={"sites": site.at("/"), "scope": "host"},
        spider="sitemap",
        folder=folder,
        **OPEN,
        **settings,
    )


def test_pings_are_read_by_the_running_crawl(
    commands: Commands, loopback: Loopback
) -> None:
    """If a sitemap is pinged, then a running crawl reads it immediately, and new pages.

    A known one is requested with its validators; pages with later dates are fetched
    once more, others are not. Other hosts are in it only if they confirm that.
    """
    site = DatedSite(loopback, "127.20.31.1")
    other = DatedSite(loopback, "127.20.31.2")
    folder = commands.folder()
    sitemap, fresh = site.at("/sitemap.xml"), site.at("/fresh/index.xml")
    site.robots(sitemap)
    pages = {name: site.page(f"/page/{name}", "first") for name in ("a", "b", "c")}
    rows = [entry(pages[x], "2024-01-01") for x in ("a", "b")]
    site.tagged("/sitemap.xml", urlset(rows), "application/xml")
    running = open_crawl(commands, site, folder)
    commands.wait_until(lambda: {"/page/a", "/page/b"} <= {*site.asked()})
    endpoint = PingEndpoint(commands, folder)

    n_asked = len(site.asked())
    assert endpoint.ask(sitemap) == (202, "")
    commands.wait_until(lambda: len(site.asked()) > n_asked)
    assert site.asked()[n_asked:] == ["/sitemap.xml"]
    assert site.server.requests[-1].headers["if-none-match"]

    site.page("/page/a", "second")
    rows[0] = entry(pages["a"], "2024-02-01")
    rows.append(entry(other.page("/page/foreign")))
    site.tagged("/sitemap.xml", urlset(rows), "application/xml")
    assert endpoint.ask(sitemap, "POST") == (202, "")
    commands.wait_until(lambda: site.asked().count("/page/a") == 2)

    site.put("/fresh/index.xml", index([f"<loc>{site.at('/fresh/1.txt')}</loc>"]))
    site.put("/fresh/1.txt", pages["c"].encode(), "text/plain")
    assert endpoint.ask(fresh) == (202, "")
    commands.wait_until(lambda: "/page/c" in site.asked())
    assert "answered: 3 x 202" in endpoint.stop()
    running.send(signal.SIGINT)
    result = running.wait()

    assert site.asked().count("/page/b") == site.asked().count("/page/c") == 1
    assert said(result) == {
        pages["a"]: "second",
        pages["b"]: "first",
        pages["c"]: "first",
    }
    assert other.asked() == []
    found = "?a sq:crawled <{}> ; rc:foundBy ?x ."
    assert result.ask(found.format(sitemap)) == ["robots", "ping", "ping"]
    assert result.ask(found.format(fresh)) == ["ping"]
    assert result.ask(found.format(site.at("/fresh/1.txt"))) == ["index"]
    assert result.statuses(sitemap) == ["SUCCESSFUL", "UNCHANGED", "SUCCESSFUL"]
    assert result.statistics["ping/taken"] == 3


def request(target: str, method: str = "GET", *lines: str, body: str = "") -> bytes:
    """Return a request of HTTP."""
    length = [f"Content-Length: {len(body)}"] if body else []
    head = [f"{method} {target} HTTP/1.1", "Host: localhost", *length, *lines]
    return "\r\n".join([*head, "", body]).encode()


FORM = "Content-Type: application/x-www-form-urlencoded"
HOSTILE: dict[str, tuple[bytes, int]] = {
    "no sitemap": (request("/ping"), 400),
    "two sitemaps": (request("/ping?sitemap=http://a/&sitemap=http://b/"), 400),
    "no URL": (request("/ping?sitemap=sitemap.xml"), 400),
    "a file": (request("/ping?sitemap=file%3A%2F%2F%2Fetc%2Fpasswd"), 400),
    "another line": (request("/ping?sitemap=http://a/%0d%0aX:%20y"), 400),
    "no UTF-8": (request("/ping?sitemap=%ff%fe"), 400),
    "many fields": (request("/ping?" + "a=b&" * 100 + "sitemap=http://a/"), 400),
    "a long URL": (request(f"/ping?sitemap=http://a/{'x' * 4000}"), 400),
    "a long line": (request(f"/ping?sitemap=http://a/{'x' * 20_000}"), 400),
    "a long header": (request("/ping", "GET", f"X: {'x' * 20_000}"), 400),
    "a large body": (request("/ping", "POST", FORM, body="x" * 20_000), 413),
    "another form": (request("/ping", "POST", "Content-Type: a/b", body="x=y"), 400),
    "another host": (request("/ping?sitemap=http://127.20.32.9/s.xml"), 403),
    "a network": (request("/ping?sitemap=http://10.0.0.1/s.xml"), 403),
    "the metadata": (request("/ping?sitemap=http://169.254.169.254/"), 403),
    "another path": (request("/"), 404),
    "a path that climbs": (request("/ping/../../etc/passwd"), 404),
    "another method": (request("/ping?sitemap=http://a/", "DELETE"), 405),
    "no HTTP": (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400),
}


def test_pings_outlive_everybody_and_strangers_get_nothing(
    commands: Commands, loopback: Loopback
) -> None:
    """If a crawl has ended, then pings wait for its next run, even after kills.

    Of pings by strangers, only sitemaps in its scope are kept, limited per hour; of the
    kept ones, those of hosts denied by then are not read.
    """
    site = DatedSite(loopback, "127.20.32.1")
    folder = commands.folder()
    absent = commands.start("ping", site.at("/x"), folder=folder).wait()
    assert (absent.code, absent.stderr.count("\n")) == (2, 1)
    assert "there is none here" in absent.stderr

    site.tagged("/sitemap.xml", urlset([site.page("/page/a")]), "application/xml")
    more, told = site.at("/more.txt"), site.at("/told.txt")
    site.put("/more.txt", site.page("/page/b").encode(), "text/plain")
    site.put("/told.txt", site.page("/page/c").encode(), "text/plain")
    left = DatedSite(loopback, "127.20.32.2")
    left.put("/later.txt", left.page("/page/d").encode(), "text/plain")
    sites = f"{site.at('/')},{left.at('/')}"
    arguments = {"sites": sites, "scope": "host"}
    first = commands.crawl(arguments=arguments, spider="sitemap", folder=folder)
    assert first.code == 0

    endpoint = PingEndpoint(commands, folder, PING_PER_HOST=2)
    for name, (sent, status) in HOSTILE.items():
        found, answer = endpoint.raw(sent)
        assert (name, found) == (name, status)
        assert b"Traceback" not in answer
    assert endpoint.ask(more) == endpoint.ask(more) == (202, "")
    status, retry_after = endpoint.ask(more)
    assert status == 429
    assert 0 < int(retry_after) <= 3600
    endpoint.kill()

    by_hand = commands.start("ping", told, "http://127.20.32.9/", folder=folder).wait()
    assert by_hand.code == 2
    assert f"{told}: the next run of the crawl reads it" in by_hand.stderr
    assert "crawl sitemap: not in the scope of this crawl" in by_hand.stderr

    later = left.at("/later.txt")
    assert commands.start("ping", later, folder=folder).wait().code == 0
    (folder / "leave").write_text("127.20.32.2\n")
    second = commands.crawl(
        arguments=arguments,
        spider="sitemap",
        folder=folder,
        LEAVE_HOSTS=folder / "leave",
    )
    assert second.code == 0
    refused = {(x.uri, x.reason) for x in decisions_of(second.folder)}
    assert (later, "host_left") in refused
    assert "/later.txt" not in left.asked()
    assert {site.at(f"/page/{name}") for name in "abc"} <= second.graphs
    assert site.asked().count("/more.txt") == site.asked().count("/told.txt") == 1
