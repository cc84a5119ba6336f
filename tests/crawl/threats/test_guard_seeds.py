"""Seeds that the guard refuses, and the messages for the operator."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import Reason
from tests.support.command_forks import shared_forks
from tests.support.crawl_names import scripted_names

if TYPE_CHECKING:
    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

QUAD = b"<> <urn:x:p> <urn:x:o> ."
PUBLIC = "127.0.82.0/24"
PRIVATE = "127.0.83.1"
NAMES = {"intranet.example": [[PRIVATE]], "web.example": [["127.0.82.1"]]}


@pytest.fixture
def private(loopback: Loopback) -> RawServer:
    """Return a server that no crawl may reach."""
    page = loopback.response(b"<title>a</title>", "text/html")
    return loopback({"*": page}, host=PRIVATE)


def told(stderr: str) -> list[str]:
    """Return the lines that name the setting, outside of the table of seeds."""
    lines = [line for line in stderr.splitlines() if "GUARD_ALLOW_NETS" in line]
    return [line for line in lines if not re.match(r"\S+ +failed ", line)]


@pytest.mark.parametrize(
    ("spider", "argument", "url"),
    [
        ("linkeddata", "seeds", "http://127.0.83.1:{}/"),
        ("linkeddata", "seeds", "http://127.0.21313:{}/"),
        ("linkeddata", "seeds", "http://localhost:{}/"),
        ("linkeddata", "seeds", "ftp://127.0.83.1:{}/"),
        ("linkeddata", "seeds", "http://intranet.example:{}/"),
        ("sitemap", "sites", "http://intranet.example:{}/"),
        ("resourcesync", "sources", "http://[::1]:{}/"),
        ("ckan", "portals", "http://127.0.83.1:{}/"),
        ("sparql", "endpoints", "http://intranet.example:{}/sparql"),
    ],
)
def test_crawl_does_not_begin(
    commands: Commands, private: RawServer, spider: str, argument: str, url: str
) -> None:
    """If a URL on the command line is private, then one line says how to allow it."""
    folder = commands.folder()
    with scripted_names(folder, NAMES):
        result = commands.crawl(
            spider=spider,
            folder=folder,
            arguments={argument: f"{url.format(private.port)}"},
            GUARD_ALLOW_NETS=PUBLIC,
        )
    assert result.code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"scrapy: argument {argument}: ")
    assert "; GUARD_ALLOW_NETS=" in line
    assert private.n_connections == 0
    assert not result.folder.exists()


def test_workers_do_not_begin(commands: Commands, private: RawServer) -> None:
    """If a seed of several workers is private, then none of them begins."""
    words = ("workers", "-n2", "linkeddata", f"-aseeds={private.url('/a')}")
    result = commands.start(*words, GUARD_ALLOW_NETS=PUBLIC).wait()
    assert result.code == 2
    assert len(result.stderr.splitlines()) == len(told(result.stderr)) == 1
    assert private.n_connections == 0


@pytest.mark.parametrize("port", [22, 8080])
def test_ports_are_judged_before_the_crawl(commands: Commands, port: int) -> None:
    """If a seed has a port that is not allowed, then the line names that setting."""
    arguments = {"seeds": f"http://127.0.82.1:{port}/"}
    result = commands.crawl(
        arguments=arguments, GUARD_ALLOW_NETS=PUBLIC, GUARD_PORTS="80,443"
    )
    assert result.code == 2
    (line,) = result.stderr.splitlines()
    assert f"port {port} of 127.0.82.1 is not among GUARD_PORTS" in line


@pytest.mark.parametrize("host", [PRIVATE, "intranet.example"])
def test_other_seeds_of_a_file_are_crawled(
    commands: Commands, loopback: Loopback, private: RawServer, host: str
) -> None:
    """If one seed of a file is private, then a line names it; the exit code is 3."""
    web = loopback({"/a": loopback.response(QUAD)}, host="127.0.82.1")
    seeds = [f"http://{host}:{private.port}/b", f"http://web.example:{web.port}/a"]
    folder = commands.folder()
    with scripted_names(folder, NAMES):
        result = commands.crawl(seeds, folder=folder, GUARD_ALLOW_NETS=PUBLIC)
    assert result.code == 3
    (line,) = told(result.stderr)
    assert f"seed {seeds[0]}: " in line
    reason = Reason.GUARD_BLOCKED if host == PRIVATE else Reason.DNS_BLOCKED
    assert result.faults(seeds[0]) == [reason]
    assert result.statistics["guard/seeds"] == 1
    assert result.graphs == {seeds[1]}
    assert private.n_connections == 0


def test_refused_seed_is_crawled_once_it_is_allowed(
    commands: Commands, loopback: Loopback
) -> None:
    """If the setting that the line names is given, then the same command crawls it."""
    server = loopback({"/a": loopback.response(QUAD)}, host=PRIVATE)
    folder = commands.folder()
    refused = commands.crawl([server.url("/a")], folder=folder, GUARD_ALLOW_NETS=PUBLIC)
    assert refused.code == 3
    allowed = told(refused.stderr)[0].partition("GUARD_ALLOW_NETS=")[2].split()[0]
    result = commands.crawl([server.url("/a")], folder=folder, GUARD_ALLOW_NETS=allowed)
    assert result.code == 0
    assert result.graphs == {server.url("/a")}


def test_workers_report_a_refused_seed(
    commands: Commands, loopback: Loopback, private: RawServer
) -> None:
    """If workers come upon a private seed, then the rest is crawled, and it is said."""
    web = loopback({"/a": loopback.response(QUAD)}, host="127.0.82.2")
    folder = commands.folder()
    (folder / "seeds.txt").write_text(f"{private.url('/b')}\n{web.url('/a')}\n")
    words = ("workers", "-n2", "linkeddata", f"-aseeds=@{folder / 'seeds.txt'}")
    result = commands.start(*words, folder=folder, GUARD_ALLOW_NETS=PUBLIC).wait()
    assert result.code == 3
    assert re.search("^outcome +finished; 1 of 2 seeds", result.stderr, re.MULTILINE)
    assert len(told(result.stderr)) == 1
    assert result.graphs == {web.url("/a")}


@pytest.mark.parametrize("host", [PRIVATE, "intranet.example"])
def test_document_looked_up_is_refused(
    commands: Commands, private: RawServer, host: str
) -> None:
    """If `scrapy rdf` is given a private URL, then one line says how to allow it."""
    folder, url = commands.folder(), f"http://{host}:{private.port}/a"
    with scripted_names(folder, NAMES):
        result = commands.start("rdf", url, GUARD_ALLOW_NETS=PUBLIC).wait()
    assert result.code == 2
    (line,) = result.stderr.splitlines()
    assert f"scrapy: {url}: " in line
    assert "; GUARD_ALLOW_NETS=127.0.83.1/32 would allow it" in line
    assert private.n_connections == 0


def test_redirect_of_a_document_looked_up_is_a_fault(
    commands: Commands, loopback: Loopback, private: RawServer
) -> None:
    """If a URL given to `scrapy rdf` leads inside, then that is a fault of it."""
    pages = {"/a": loopback.redirect(private.url("/a"))}
    web = loopback(pages, host="127.0.82.1")
    result = commands.start("rdf", web.url("/a"), GUARD_ALLOW_NETS=PUBLIC).wait()
    assert result.code == 1
    assert "fault       guard_blocked: 127.0.83.1" in result.stderr
    assert private.n_connections == 0


@pytest.mark.parametrize(
    ("words", "host"),
    [
        ("fetch", PRIVATE),
        ("fetch", "0x7f.0x53.1"),
        ("fetch", "intranet.example"),
        ("fetch --spider linkeddata", "0x7f.0x53.1"),
        ("parse --spider linkeddata", "intranet.example"),
        ("shell -c None", PRIVATE),
    ],
)
def test_page_is_not_fetched_by_hand(
    commands: Commands, private: RawServer, words: str, host: str
) -> None:
    """If a command of Scrapy is given a private URL, then no request is sent."""
    folder, url = commands.folder(), f"http://{host}:{private.port}/a"
    command, *options = words.split()
    with scripted_names(folder, NAMES):
        result = commands.start(
            command, url, *options, GUARD_ALLOW_NETS=PUBLIC, LOG_LEVEL="ERROR"
        ).wait()
    (line,) = told(result.stderr)
    assert f"{url}: " in line
    assert "<title>" not in result.stderr
    assert private.n_connections == 0


def test_handler_that_the_guard_does_not_see_is_not_used() -> None:
    """If Scrapy's own handler is another one, then no request goes around the guard."""
    other = "scrapy.core.downloader.handlers.file.FileDownloadHandler"
    code = f"""
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from rdfcrawl.downloader.http.scrapy_handler import ScrapyHttpHandler
settings = {{"DOWNLOAD_HANDLERS_BASE": {{"http": {other!r}}}, "GUARD_MAX_PORTS": 1}}
try:
    ScrapyHttpHandler.from_crawler(Crawler(Spider, settings))
except NotConfigured as error:
    print(error)
"""
    done = shared_forks().run("-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{other} would connect without the guard\n"


def test_proxy_is_the_operators(
    commands: Commands,
    loopback: Loopback,
    private: RawServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If there is a proxy, then it may be private; spelled addresses are judged."""
    target = "http://web.example/a"
    proxy = loopback({target: loopback.response(QUAD)}, host="127.0.83.2")
    monkeypatch.setenv("http_proxy", proxy.url("/"))
    seeds = [target, private.url("/a"), "http://web.example:25/"]
    result = commands.crawl(
        seeds,
        FETCH_WITH_SCRAPY=True,
        GUARD_ALLOW_NETS=PUBLIC,
        GUARD_PORTS="80,443,1024-65535",
    )
    assert result.graphs == {target}
    assert set(proxy.targets) == {"http://web.example/robots.txt", target}
    said = "http_proxy: the guard cannot check addresses"
    assert result.stderr.count(said) == 1
    for refused in seeds[1:]:
        assert result.faults(refused) == [Reason.GUARD_BLOCKED]
    assert private.n_connections == 0
