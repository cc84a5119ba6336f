"""The examples of how-to guides work as described, on servers on loopback."""

from __future__ import annotations

import csv
import json
import re
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from configparser import ConfigParser
from hashlib import sha256
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.nodes.portal import PortalOptions
from rdfcrawl.dataweb.nodes.resourcesync import ResourceSyncOptions
from rdfcrawl.frontier.queue.host_rules import parse_hosts, read_file
from tests.support.crawl_webs import TreeWeb
from tests.support.pages import blocks, commands_in, read_page
from tests.support.web_archives import HOST, Archive

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult, RunningCrawl
    from tests.support.crawl_webs import Loopback
    from tests.support.redis_fixtures import RedisServer

SITE, PORTAL = "https://example.org", "https://data.example.org"


@pytest.fixture
def web() -> Iterator[LocalWeb]:
    """Yield a server of sources."""
    with LocalWeb(first_address="127.81.9.1", n_hosts=1) as web:
        yield web


def type_command(
    commands: Commands, words: list[str], host: tuple[str, str], folder: Path
) -> CrawlResult:
    """Run a command of a page in a folder, with another origin."""
    typed = [word.replace(*host) for word in words[1:]]
    crawl = folder / "crawl"
    files = {"RESOURCESYNC_FILES": folder / "files"}
    given = files if any("RESOURCESYNC_FILES" in word for word in words) else {}
    spider = words[2]
    result = commands.start(*typed, folder=crawl, CRAWL_ID=spider, **given).wait()
    assert result.code == 0, result.stderr
    return result


def export_as(page: str, folder: Path, commands: Commands, **settings: str) -> Path:
    """Run the export of a page for the crawl of a folder; return the file."""
    (words,) = (each for each in commands_in(page) if each[1] == "export")
    path = folder / words[-1]
    typed = [*words[1:-1], str(path)]
    result = commands.start(*typed, folder=folder / "crawl", **settings).wait()
    assert result.code == 0, result.stderr
    return path


def run_python(example: str, folder: Path) -> str:
    """Run an example in a folder, and return its output."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", example],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# -- keep a copy of a site -----------------------------------------------------------


def put_sitemap(server: RawServer, loopback: Loopback, pages: dict[str, int]) -> None:
    """List pages by the year of their last change, and serve them."""
    for name, year in pages.items():
        body = f'<> <urn:x:year> "{year}" .'.encode()
        server.pages[name] = loopback.response(body)
    put_dates(server, loopback, pages)


def put_dates(server: RawServer, loopback: Loopback, pages: dict[str, int]) -> None:
    """List pages by the year of their last change."""
    entries = "".join(
        f"<url><loc>{server.url(name)}</loc><lastmod>{year}</lastmod></url>"
        for name, year in pages.items()
    )
    urlset = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}'
    body = f"{urlset}</urlset>".encode()
    server.pages["/sitemap.xml"] = loopback.response(body, "application/xml")


def test_copy_of_a_site_with_a_sitemap(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If the command is given again, then only changed pages are fetched."""
    page = read_page("copy-a-site.md")
    words = next(words for words in commands_in(page) if words[2] == "sitemap")
    server = loopback()
    host = SITE, server.url("").rstrip("/")
    (tmp_path / "crawl").mkdir()
    put_sitemap(server, loopback, {"/a": 2001, "/b": 2001})
    type_command(commands, words, host, tmp_path)
    put_sitemap(server, loopback, {"/a": 2001, "/b": 2101, "/c": 2101})
    type_command(commands, words, host, tmp_path)
    assert Counter(server.targets) & Counter({"/a": 9, "/b": 9, "/c": 9}) == Counter(
        {"/a": 1, "/b": 2, "/c": 1}
    )
    copy = export_as(page, tmp_path, commands, CRAWL_ID="sitemap").read_text()
    years = re.findall(r'"(\d+)" <\S+(/\w)> \.$', copy, re.MULTILINE)
    assert sorted(years, key=lambda x: x[1]) == [
        ("2001", "/a"),
        ("2101", "/b"),
        ("2101", "/c"),
    ]


def test_copy_of_a_site_with_resourcesync(
    commands: Commands, web: LocalWeb, tmp_path: Path
) -> None:
    """If a source changes, then the next command makes the files equal to it again."""
    source = web.start(ResourceSyncOptions(n_resources=12))
    commanded = commands_in(read_page("copy-a-site.md"))
    words = next(words for words in commanded if words[2] == "resourcesync")
    (tmp_path / "crawl").mkdir()
    for changes in (0, 9):
        source.evolve(changes, seed=1)
        type_command(commands, words, (SITE, source.origin), tmp_path)
        kept = (tmp_path / "files").glob("[!.]*/*")
        digests = [sha256(path.read_bytes()).hexdigest() for path in kept]
        assert sorted(digests) == sorted(source.digests().values())


def test_web_archives(commands: Commands, loopback: Loopback, tmp_path: Path) -> None:
    """If archives are on this machine or on a server, their captures are read."""
    archive = Archive()
    archive.add_statement("captured")
    folder = tmp_path / "archive"
    folder.mkdir()
    (folder / "a.warc.gz").write_bytes(archive.content())
    body = archive.content()
    served = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    server = loopback({"/2025/pages.warc.gz": [served]})
    typed = commands_in(read_page("web-archives.md"))
    crawls = [words for words in typed if words[1:3] == ["crawl", "warc"]]
    for words, given, real in (
        (crawls[0], "archive/", f"{folder}/"),
        (crawls[1], "https://archive.example.org", server.url("").rstrip("/")),
    ):
        crawl = tmp_path / given.strip("/").rpartition("/")[2]
        (crawl / "crawl").mkdir(parents=True, exist_ok=True)
        result = type_command(commands, words, (given, real), crawl)
        assert result.graphs == {f"{HOST}/captured"}


def test_own_web_archive(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If a crawl keeps an archive, then the next command reads it."""
    server = loopback({"/me": loopback.response(b'<> <urn:x:p> "me" .')})
    typed = commands_in(read_page("web-archives.md"))
    first = next(words for words in typed if "WARC=True" in words)
    (tmp_path / "crawl").mkdir()
    host = SITE, server.url("").rstrip("/")
    assert type_command(commands, first, host, tmp_path).graphs == {server.url("/me")}
    server.pages.clear()
    here = "files=crawl", f"files={tmp_path}/crawl"
    again = type_command(commands, typed[typed.index(first) + 1], here, tmp_path)
    assert again.graphs == {server.url("/me")}


def test_copy_of_a_site_with_neither(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If pages only link to each other, then the copy follows their hyperlinks."""
    commanded = commands_in(read_page("copy-a-site.md"))
    words = next(words for words in commanded if words[2] == "linkeddata")
    front = b'<a href="/data">data</a> <a href="http://127.0.0.2:1/">other</a>'
    server = loopback(
        {
            "/": loopback.response(front, "text/html"),
            "/data": loopback.response(b'<> <urn:x:p> "o" .'),
        }
    )
    host = SITE, server.url("").rstrip("/")
    (tmp_path / "crawl").mkdir()
    result = type_command(commands, words, host, tmp_path)
    assert result.graphs == {server.url("/data")}
    result = type_command(commands, [*words, "-a", "fresh=1"], host, tmp_path)
    assert server.targets.count("/data") == 2
    assert len(list(result.folder.glob("before-*"))) == 1


# -- harvest a portal every night ----------------------------------------------------


def nightly() -> list[str]:
    """Return the command of the service of systemd, as words."""
    service = ConfigParser(interpolation=None)
    service.optionxform = str  # type: ignore[assignment,method-assign]
    service.read_string(blocks(read_page("nightly-portal.md"), "ini")[0])
    assert service["Service"]["Type"] == "oneshot"
    return shlex.split(service["Service"]["ExecStart"])


def test_second_night_fetches_changed_pages(
    commands: Commands, web: LocalWeb, tmp_path: Path
) -> None:
    """If the service runs again, then it fetches the datasets that have changed."""
    portal = web.start(PortalOptions(n_datasets=25, rdf_every=0))
    feed = commands_in(read_page("nightly-portal.md"))[-1]
    assert feed[:-2] == ["rdfcrawl", *nightly()[1:-2]]
    changes = tmp_path / "changes.jl"
    host = PORTAL, portal.origin
    (tmp_path / "crawl").mkdir()
    type_command(commands, nightly(), host, tmp_path)
    revision = portal.revise(changed=3, deleted=1, created=2)
    result = type_command(commands, [*feed[:-1], str(changes)], host, tmp_path)
    assert "1 deleted" in result.stderr
    rows = [json.loads(line) for line in changes.read_text().splitlines()]
    became = {row["url"].rpartition("/")[2]: row["status"] for row in rows}
    new = revision.changed | revision.created
    assert {name for name, status in became.items() if name in new} == new
    assert {became[name] for name in new} == {"successful"}
    assert {became[name] for name in revision.deleted} == {"deleted"}


def test_nightly_commands_are_one_command() -> None:
    """If the page shows systemd, cron and scrapyd, then they run the same command."""
    page = read_page("nightly-portal.md")
    by_hand = commands_in(page)[0]
    assert by_hand[1:] == nightly()[1:]
    cron, scrapyd = blocks(page, "")
    words = shlex.split(cron)
    assert words[:5] == ["30", "2", "*", "*", "*"]
    assert words[words.index("&&") + 1 : words.index("--logfile")] == by_hand
    fields = re.findall(r"-d ([^=]+)=(\S+)", scrapyd)
    assert ("spider", by_hand[2]) in fields
    assert ("portals", PORTAL) in fields


# -- several machines ----------------------------------------------------------------


@pytest.mark.service
def has_joined(log: Path) -> bool:
    """Return whether a worker is at work, by its log."""
    return log.exists() and "frontier in" in log.read_text()


def test_two_machines_share_a_crawl(
    commands: Commands, loopback: Loopback, lasting_server: RedisServer, tmp_path: Path
) -> None:
    """If two machines run the command, then each document is stored on one of them."""
    web = TreeWeb(loopback, "127.0.96", n_hosts=6, n_docs=16, secs=0)
    may_go_on = web.hold_after(6)
    page = read_page("several-machines.md")
    (words,) = (words for words in commands_in(page) if "workers" in words)
    seeds = tmp_path / "seeds.txt"
    seeds.write_text(f"{web.seed}\n")
    typed = [word.replace("@seeds.txt", f"@{seeds}") for word in words[1:]]
    typed[typed.index("-n") + 1] = "1"
    folders = [tmp_path / "host1", tmp_path / "host2"]
    machines = []
    for folder in folders:
        folder.mkdir()
        machines.append(
            commands.start(
                *typed,
                folder=folder,
                REDIS_URL=lasting_server.url,
                CRAWL_ID="lod-2026",
                DOWNLOAD_DELAY=0.3,
                VISIT_WINDOW_SECS=0.6,
            )
        )
    logs = [folder / "lod-2026/logs/worker-0.log" for folder in folders]
    commands.wait_until(lambda: all(map(has_joined, logs)))
    may_go_on.set()
    results = [machine.wait() for machine in machines]
    assert [result.code for result in results] == [0, 0], results[0].stderr
    assert all(result.graphs for result in results)
    assert not results[0].graphs & results[1].graphs
    assert results[0].graphs | results[1].graphs == web.documents
    assert set(web.asked().values()) == {1}
    names = [path.name for each in folders for path in each.glob("*/quads/*.nq.gz")]
    assert len(names) == len(set(names)) >= 2


# -- read the result -----------------------------------------------------------------


@pytest.fixture(scope="module")
def crawled(
    commands: Commands, loopback: Loopback, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return a folder with a crawl whose terms are hard to take apart."""
    folder = tmp_path_factory.mktemp("result")
    (folder / "crawl").mkdir()
    hard = r"""<> <urn:x:p> "a \"b\" \\x01 . c\t\u0001"@en , "<urn:x> <urn:y> ." , [] ;
        <urn:x:knows> </b> ."""
    server = loopback(
        {
            "/a": loopback.response(hard.encode()),
            "/b": loopback.response(b"<> <urn:x:n> 1 ."),
        }
    )
    feed = ("-O", str(folder / "documents.jl"))
    result = commands.start(
        *("crawl", "linkeddata", f"-aseeds={server.url('/a')}", *feed),
        folder=folder / "crawl",
    ).wait()
    assert result.code == 0, result.stderr
    return folder


def numbers_after(url: str, printed: str) -> list[int]:
    """Return the number that a table has for each URL that ends so."""
    return [int(n) for n in re.findall(rf"{url}\W+([0-9]+)\b", printed)]


@pytest.mark.service
@pytest.mark.skipif(not find_spec("duckdb"), reason="duckdb is not installed")
@pytest.mark.skipif(not find_spec("pandas"), reason="pandas is not installed")
def test_result_is_read_by_each_tool(crawled: Path, commands: Commands) -> None:
    """If the result is read with Oxigraph, pandas or DuckDB, then all is there."""
    page = read_page("read-the-result.md")
    latest = export_as(page, crawled, commands)
    examples = blocks(page, "python")
    ask = "for row in db.sql('FROM quads').fetchall(): print(*row, '.')"
    printed = run_python("\n".join([*examples, ask]), crawled)
    assert numbers_after("/a", printed) == [4, 4, 4], printed
    assert numbers_after("/b", printed) == [1, 1, 1], printed
    assert re.search(r"successful +2 +5\b", printed)
    lines = latest.read_text().splitlines()
    assert len(lines) == 5
    assert set(lines) <= set(printed.splitlines())  # DuckDB's terms, joined again


@pytest.mark.service
@pytest.mark.skipif(not find_spec("duckdb"), reason="duckdb is not installed")
def test_dataset_of_parquet_is_queried(crawled: Path, commands: Commands) -> None:
    """If a crawl is loaded into Parquet, then DuckDB runs the queries of the page."""
    page = read_page("parquet.md")
    (words,) = [each for each in commands_in(page) if each[1] == "store"]
    typed = [each.replace("people", f"{crawled}/people") for each in words[1:]]
    loaded = commands.start(*typed, folder=crawled / "crawl").wait()
    assert loaded.code == 0, loaded.stderr
    printed = run_python("\n".join(blocks(page, "python")), crawled)
    assert numbers_after("/a", printed)[0] == 4, printed
    assert numbers_after("/b", printed)[0] == 1, printed
    assert re.search(r"/b +│ +1 ", printed)  # the number that it states
    assert re.search(r"127\.0\.0\.1 +│ 20..-..-.. .+│ +2 ", printed)
    assert re.search(r"/a +│ +http://[^ ]+/b ", printed)


def test_crawl_is_described_and_published(crawled: Path, commands: Commands) -> None:
    """If the commands of the page are typed, its queries and publications work."""
    page = read_page("describe-the-crawl.md")
    for words in commands_in(page):
        typed = [each.replace("public/", f"{crawled}/public/") for each in words[1:]]
        done = commands.start(*typed, folder=crawled / "crawl").wait()
        assert done.code == 0, done.stderr
    printed = run_python("\n".join(blocks(page, "python")), crawled)
    host, *properties = printed.splitlines()
    assert re.fullmatch(r"127\.0\.0\.1:\d+ 2 5 2", host)
    assert properties == ["urn:x:p 3", "urn:x:knows 1", "urn:x:n 1"]
    about = (crawled / "public" / "about.ttl").read_text()
    (name,) = re.findall("dcat:downloadURL <(.+?)>", about)
    assert (crawled / "public" / name).is_file()
    assert 'foaf:name "The Library"' in about


# -- leave a host alone --------------------------------------------------------------


def test_list_of_hosts_to_leave(tmp_path: Path) -> None:
    """If the file of the page is read, then it names a host, a domain, an address."""
    path = tmp_path / "leave.txt"
    path.write_text(blocks(read_page("leave-a-host.md"), "")[0])
    hosts = parse_hosts(read_file(path))
    covered = ("www.example.org", "example.net", "a.b.example.net", "192.0.2.7")
    assert all(hosts.covers(f"https://{name}/") for name in covered)
    assert not any(hosts.covers(f"https://{name}/") for name in ("example.org", "net"))


# -- keep a mirror of a portal, watch a site -----------------------------------------


def test_mirror_is_kept_by_due_pages(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If pages change, come and vanish, then the commands of a night take that over."""
    first, *night, dry_run, verify = commands_in(read_page("keep-a-mirror.md"))
    assert first == night[0]
    server = loopback()
    host = SITE, server.url("").rstrip("/")
    crawl = tmp_path / "crawl"
    crawl.mkdir()

    def typed(words: list[str]) -> CrawlResult:
        given = [word.replace(*host) for word in words[1:]]
        result = commands.start(
            *given, folder=crawl, CRAWL_ID="mirror", REFRESH_EPOCH_SECS=1
        ).wait()
        assert result.code == 0, result.stderr
        return result

    put_sitemap(server, loopback, {"/a": 2001, "/b": 2001, "/c": 2001})
    typed(first)
    put_sitemap(server, loopback, {"/a": 2001, "/b": 2002, "/d": 2002})
    server.pages["/c"] = loopback.response(status="410 Gone")
    time.sleep(1)  # until the next epoch
    typed(dry_run)
    for words in night:
        result = typed(words)
    typed(verify)
    said = {(s, o) for s, p, o, _ in result.latest_quads if p == "urn:x:year"}
    years = {"/a": 2001, "/b": 2002, "/d": 2002}
    assert said == {(server.url(page), f'"{year}"') for page, year in years.items()}


def test_watched_site_is_requested_repeatedly(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If pages of HTML change, then the refresher has a running worker fetch them.

    A sitemap that is read meanwhile is judged by the changes.
    """
    crawling, refreshing, reading, reporting = commands_in(read_page("watch-a-site.md"))
    server = loopback()
    for path, links in {"/front": ("/page", "/last"), "/last": ()}.items():
        body = "".join(f"<a href='{each}'>{each}</a>" for each in links)
        html = f"<title>{path}</title><p>{body}</p>".encode()
        server.pages[path] = loopback.response(html, "text/html")
    server.pages["/page"] = loopback.response(b"<> <urn:x:says> 'one' .")
    put_dates(server, loopback, {"/page": 2001, "/last": 2001, "/gone": 2001})
    soon = {"REFRESH_EPOCH_SECS": 1, "REFRESH_INTERVAL_SECS": 1}
    paths = "/page", "/front", "/last"

    def start(words: list[str], **settings: Any) -> RunningCrawl:
        at = server.url("").rstrip("/")
        sites = (f"{SITE}/", server.url("/front")), (SITE, at)
        for site in (*sites, ("report", str(tmp_path / "report"))):
            words = [words[0], words[1], *(word.replace(*site) for word in words[2:])]
        quick = {"CRAWL_ID": "watch", "FRONTIER_COMMIT_SECS": 0.1}
        return commands.start(*words[1:], folder=tmp_path, **quick, **settings)

    def refresh(n_times: int) -> None:
        """Run the refresher until pages were requested so often."""
        n_asked = len(server.targets)
        refresher = start(refreshing, **soon)
        commands.wait_until(
            lambda: min(map(server.targets[n_asked:].count, paths)) >= n_times
        )
        refresher.send(signal.SIGTERM)
        assert refresher.wait().code == 0
        commands.wait_until(is_quiet)

    def is_quiet() -> bool:
        n_asked = len(server.targets)
        time.sleep(1)
        return n_asked == len(server.targets)

    worker = start(crawling)
    log = tmp_path / "watch" / "provenance"
    commands.wait_until(lambda: {"/page", "/last"} <= set(server.targets))
    commands.wait_until(lambda: any(x.stat().st_size for x in log.glob("*.jsonl*")))
    assert start(reading).wait().code == 0
    refresh(2)
    server.pages["/page"] = loopback.response(b"<> <urn:x:says> 'two' .")
    put_dates(server, loopback, {"/page": 2001, "/last": 2002, "/gone": 2001})
    assert start(reading).wait().code == 0
    refresh(1)
    worker.send(signal.SIGTERM)
    said = {o for _, p, o, _ in worker.wait().latest_quads if p == "urn:x:says"}
    assert said == {'"two"'}
    assert start(reporting).wait().code == 0
    for key, path in (
        *(("unclaimed-changes", "/page"), ("claimed-unchanged", "/last")),
        ("not-found", "/gone"),
    ):
        with (tmp_path / "report" / f"{key}.csv").open(newline="") as file:
            assert [row["URL"] for row in csv.DictReader(file)] == [server.url(path)]
