"""A crawl remembers its arguments; each record is dealt with by those of its spider."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

N = 6


def chain(loopback: Loopback, host: str, other: str) -> RawServer:
    """Start a host whose documents link to the next one, and to another host."""
    server = loopback(host=host)
    for i in range(N):
        body = f"<> <urn:x:next> <{i + 1}>, <{other}/{i}> ."
        server.pages[f"/{i}"] = [0.1, loopback.response(body.encode())]
    return server


@pytest.fixture(scope="module")
def far(loopback: Loopback) -> RawServer:
    """Return a host that is out of scope."""
    return loopback({"*": loopback.response(b"<> <urn:x:p> 1 .")}, host="127.95.9.1")


@pytest.fixture(scope="module")
def place(commands: Commands) -> Path:
    """Return the folder of the crawl."""
    return commands.folder()


@pytest.fixture(scope="module")
def server(loopback: Loopback, far: RawServer) -> RawServer:
    """Return the host of the seed."""
    return chain(loopback, "127.95.1.1", far.url(""))


@pytest.fixture(scope="module")
def interrupted(commands: Commands, server: RawServer, place: Path) -> CrawlResult:
    """Return the result of the interrupted crawl."""
    allow = place / "allow.txt"
    allow.write_text("127[.]95\n")
    return commands.crawl(
        [server.url("/0")],
        folder=place,
        arguments={"scope": "host", "allow": allow},
        CLOSESPIDER_ITEMCOUNT=2,
    )


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("-ascope=any",), ("scope=any", "scope=host", "reset=scope")),
        (("-adepth=3",), ("depth=3", "without depth", "reset=depth")),
        (("-aallow=other.txt",), ("allow=", "127[.]95", "reset=allow")),
        (("-areset=seeds",), ("reset=seeds", "must be")),
        (("-areset=colour",), ("reset=colour", "no argument colour")),
        (("-ascope=prefix", "-areset=scope"), ("reset=scope", "seeds")),
        (("-sPOLITENESS_KEY=domain",), ("POLITENESS_KEY=domain", "=host")),
        (("-sSESSION_PARAMETERS=a",), ("SESSION_PARAMETERS=a", "fresh=1")),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_contradiction_is_reported_in_one_line(
    commands: Commands,
    interrupted: CrawlResult,
    place: Path,
    words: tuple[str, ...],
    parts: tuple[str, ...],
) -> None:
    """If an argument contradicts those of the crawl, then one line says so."""
    assert interrupted.code == 1
    other = place / "other.txt"
    other.write_text("example\n")
    words = tuple(word.replace("other.txt", str(other)) for word in words)
    command = "workers" if "depth" in words[0] else "crawl"
    many = ("-n1",) if command == "workers" else ()
    result = commands.start(command, *many, "linkeddata", *words, folder=place).wait()
    (line,) = [x for x in result.stderr.splitlines() if x.startswith("scrapy: ")]
    assert all(part in line for part in parts), line
    assert result.code == 2
    assert "Traceback" not in result.stderr


def test_arguments_hold_when_it_is_continued(
    commands: Commands,
    interrupted: CrawlResult,
    server: RawServer,
    far: RawServer,
    place: Path,
) -> None:
    """If a crawl goes on without its arguments, then it keeps to them."""
    assert interrupted.code == 1
    result = commands.crawl(folder=place, POLITENESS_KEY="host")
    assert result.code == 0, result.stderr
    assert "scope=host" in result.stderr
    assert {server.url(f"/{i}") for i in range(N)} <= result.graphs
    assert far.targets == []


def test_reset_changes_them(
    commands: Commands, server: RawServer, far: RawServer, place: Path
) -> None:
    """If an argument is reset, then its new value holds from then on."""
    for name in ("new", "newer"):
        body = f"<> <urn:x:p> <{far.url('/')}{name}> .".encode()
        server.pages[f"/{name}"] = [0.1, server_response(body)]
    arguments = {"scope": "any", "reset": "scope"}
    seeds = [server.url("/new")]
    result = commands.crawl(seeds, folder=place, arguments=arguments)
    assert result.code == 0, result.stderr
    result = commands.crawl([server.url("/newer")], folder=place)
    assert {far.url("/new"), far.url("/newer")} <= result.graphs


def server_response(body: bytes) -> bytes:
    """Return a response in Turtle."""
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Content-Type: text/turtle\r\n\r\n".encode() + body


def test_record_is_dealt_with_by_the_arguments_of_its_spider(
    commands: Commands, loopback: Loopback, far: RawServer
) -> None:
    """If another spider goes on with a queue, then the first one's arguments hold."""
    server = chain(loopback, "127.95.2.1", far.url(""))
    site = loopback(host="127.95.2.2")
    row = f"<url><loc>{site.url('/page')}</loc></url>"
    body = f"<urlset>{row}</urlset>".encode()
    site.pages["/sitemap.xml"] = loopback.response(body, "application/xml")
    links = f"<> <urn:x:p> <{site.url('/no')}>, <{far.url('/no')}> .".encode()
    site.pages["/page"] = loopback.response(links)
    folder = commands.folder()
    asked_far = len(far.targets)
    first = commands.crawl(
        [server.url("/0")],
        folder=folder,
        arguments={"scope": "host", "follow": "object"},
        CRAWL_ID="both",
        CLOSESPIDER_ITEMCOUNT=2,
    )
    assert first.code == 1, first.stderr
    second = commands.crawl(
        folder=folder,
        spider="sitemap",
        arguments={"sites": site.url("/sitemap.xml")},
        CRAWL_ID="both",
    )
    assert second.code == 0, second.stderr
    # The sitemap spider follows nothing; the records of the other one still are.
    assert {server.url(f"/{i}") for i in range(N)} <= second.graphs
    assert site.url("/page") in second.graphs
    assert "/no" not in site.targets
    assert len(far.targets) == asked_far


def test_raised_budget_takes_up_refused_urls(
    commands: Commands, loopback: Loopback
) -> None:
    """If `max_per_host` is raised, then the URLs over it are crawled; it is listed."""
    server = loopback(host="127.95.3.1")
    links = ", ".join(f"<{i}>" for i in range(9))
    server.pages["/all"] = loopback.response(f"<> <urn:x:p> {links} .".encode())
    for i in range(9):
        server.pages[f"/{i}"] = loopback.response(b"<> <urn:x:p> <0>, <8> .")
    folder = commands.folder()
    first = commands.crawl(
        [server.url("/all")], folder=folder, arguments={"max_per_host": 3}
    )
    assert first.code == 0, first.stderr
    assert len(first.graphs) == 3
    assert "host_budget 7" in first.stderr
    again = commands.crawl(folder=folder)
    assert len(again.graphs) == 3
    more = commands.crawl(folder=folder, arguments={"max_per_host": 6})
    assert len(more.graphs) == 6
    everything = commands.crawl(folder=folder, arguments={"max_per_host": 0})
    assert len(everything.graphs) == 10
    assert everything.counts().leased == 0


def test_table_of_seeds_is_crawled_by_its_types(
    commands: Commands, loopback: Loopback
) -> None:
    """If seeds have types, then each has its kind, with any spider."""
    server = loopback(host="127.95.4.1")
    row = f"<url><loc>{server.url('/page')}</loc></url>"
    sitemap = f"<urlset>{row}</urlset>".encode()
    server.pages["/map"] = loopback.response(sitemap, "application/xml")
    server.pages["/page"] = loopback.response(b"<> <urn:x:p> 1 .")
    many = b"".join(b"<> <urn:x:p> %d .\n" % n for n in range(50))
    for name in ("plain", "dump"):  # only a dump may be so large
        server.pages[f"/{name}"] = loopback.response(many)
    folder = commands.folder()
    table = folder / "seeds.csv"
    types = {"map": "sitemap", "plain": "dereferenceable", "dump": "dump", "x": "odd"}
    rows = [f"{server.url('/')}{name},{kind}" for name, kind in types.items()]
    table.write_text("\n".join(["uri,type", *rows]))
    arguments = {"seeds": f"@{table}", "harvest": "none", "follow": "none"}
    result = commands.crawl(
        folder=folder, arguments=arguments, DOWNLOAD_MAXSIZE=500, DUMP_MAXSIZE=5000
    )
    assert result.code == 0, result.stderr
    assert {server.url(f"/{name}") for name in ("page", "plain")} <= result.graphs
    assert result.faults(server.url("/dump")) == []
    assert "too_large" in result.faults(server.url("/plain"))
    assert server.targets.count("/map") == 1
    assert "/x" not in server.targets
    assert result.statistics["fault/bad_uri"] == 1


def test_deny_holds_for_queued_urls(commands: Commands, loopback: Loopback) -> None:
    """If `deny` is reset, then queued URLs that match are not requested."""
    server = loopback({"*": loopback.response(b"<> <urn:x:p> 1 .")}, host="127.95.9.61")
    links = b"<> <urn:x:p> <a>, <b> ."
    server.pages["/"] = loopback.response(links)
    folder = commands.folder()
    commands.crawl([server.url()], folder=folder, CLOSESPIDER_ITEMCOUNT=1)
    assert not {"/a", "/b"} & set(server.targets)
    deny = folder / "deny.txt"
    deny.write_text("/a$\n")
    result = commands.crawl(folder=folder, arguments={"deny": deny, "reset": "deny"})
    assert result.code == 0, result.stderr
    assert "/b" in server.targets
    assert "/a" not in server.targets
    assert result.faults(server.url("/a")) == ["not_wanted"]
