"""Scrapy's own commands with spiders of ours: parse, check, feeds, mistakes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.spiders.linkeddata import LinkedDataSpider
from tests.conftest import LOOPBACK_NETS
from tests.support.pages import ROOT
from tests.support.plain_spider import GOOD, SPIDER

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.http import Response

    from rdfcrawl import ParsedDocument
    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback


@pytest.fixture(scope="module")
def site(loopback: Loopback) -> RawServer:
    """Return the server of one page."""
    page = loopback.response(b"<title>a</title>", "text/html")
    return loopback({"/a": page})


class CheckedSpider(LinkedDataSpider):
    """Has a callback with a contract; its URL is known when the test runs."""

    name = "checked"

    def parse_page(self, response: Response) -> Any:
        """Return the title."""
        return {"title": response.css("title::text").get()}

    def parse_document(self, document: ParsedDocument) -> Any:
        """Return the objects."""
        return {"objects": sorted(str(quad.object) for quad in document.quads())}

    parse_page.__doc__ = f"""
        @url {os.environ.get("CHECKED_URL", "http://127.0.0.1:9/")}
        @returns items 1 1
        @scrapes title
    """


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("parse", "-adepth=x"), "argument depth=x: must be an integer"),
        (("fetch", "-sRDF_PARSE_SECS=-1"), "RDF_PARSE_SECS=-1: must be 0.1"),
        (
            ("shell", "-c1", "-sVISIT_MAX_SECS=x"),
            "VISIT_MAX_SECS='x': must be a number",
        ),
        (("check", "-adepth=x"), "argument depth=x: must be an integer"),
    ],
    ids=["parse", "fetch", "shell", "check"],
)
def test_scrapys_commands_report_mistakes_in_one_line(
    commands: Commands, site: RawServer, words: tuple[str, ...], told: str
) -> None:
    """If Scrapy's own command runs a spider of ours, one line says why it cannot."""
    name = "checked" if words[0] == "check" else "--spider=checked"
    where = [name] if words[0] == "check" else [name, site.url("/a")]
    result = commands.start(*words, *where, SPIDER_MODULES=__name__).wait()
    assert result.code == 2, result.stderr
    assert f"scrapy: {told}" in result.stderr
    assert "Traceback" not in result.stderr


def test_feeds_are_writable_before_the_first_request(
    commands: Commands, site: RawServer, tmp_path: Path
) -> None:
    """If the file of a feed cannot be written, one line says so, and nothing begins."""
    (tmp_path / "file").touch()
    words = ("crawl", "linkeddata", f"-aseeds={site.url('/a')}")
    for option, path, why in (
        ("-O", tmp_path / "file" / "x.jl", "File exists"),
        ("-o", f"file://{tmp_path}:nq", "Is a directory"),
    ):
        result = commands.start(*words, option, str(path)).wait()
        assert result.code == 2, result.stderr
        (line,) = result.stderr.splitlines()
        assert line.startswith(f"scrapy: feed {str(path).removesuffix(':nq')}: {why}")
        assert not result.folder.exists() or not list(result.folder.iterdir())


def test_a_crawl_ends_with_the_reader_of_its_feed(
    loopback: Loopback, commands: Commands
) -> None:
    """If the reader of a feed ends, the crawl stops, and its documents stay queued."""
    links = b"<> <urn:x:p> <1>, <2>, <3> ."
    site = loopback({"*": loopback.response(links)})
    folder = commands.folder()
    words = ("crawl", "linkeddata", f"-aseeds={site.url('/a')}", "-ascope=host")
    given = (
        *(f"-sCRAWL_DIR={folder}", "-sDOWNLOAD_DELAY=0", "-sFRONTIER_LEASE_SECS=2"),
        f"-sGUARD_ALLOW_NETS={LOOPBACK_NETS}",
    )
    for unbuffered in ("", "1"):
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(
            [sys.executable, "-m", "scrapy", *words, *given, "-o", "-:jl"],
            cwd=ROOT,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        os.close(writing)
        assert done.returncode == 1, done.stderr
        assert "stdout:: [Errno 32] Broken pipe" in done.stderr
        assert "Spider closed (store_fault)" in done.stderr
    last = commands.crawl([], folder=folder, FRONTIER_LEASE_SECS=2)
    assert last.counts().done == 4


def test_parse_shows_the_result_of_a_crawl_for_a_page(
    commands: Commands, loopback: Loopback
) -> None:
    """If a page is parsed by hand, its row, own items and links are shown."""
    server = loopback({"/a": loopback.response(GOOD)})
    folder = commands.folder()
    words = ("parse", "--spider", "checked", "--nocolour", server.url("/a"))
    result = commands.start(*words, folder=folder, SPIDER_MODULES=__name__).wait()
    assert result.code == 0, result.stderr
    assert "Traceback" not in result.stderr, result.stderr
    told = result.stderr
    assert "'quads': 2" in told
    assert "'status': 'successful'" in told
    assert re.search(rf"'objects': \['<{server.url('/other')}>', '_:\w+'\]", told)
    assert f"[<GET {server.url('/other')}>]" in told
    assert server.targets == ["/robots.txt", "/a"]
    assert not result.folder.exists()


def test_parse_obeys_reservations_of_publishers(
    commands: Commands, loopback: Loopback
) -> None:
    """If a crawl would store nothing of a page, then `scrapy parse` shows nothing."""
    page = loopback.response(GOOD, X_Robots_Tag="none")
    server = loopback({"/a": page})
    words = ("parse", "--spider", "checked", "--nocolour", server.url("/a"))
    result = commands.start(*words, SPIDER_MODULES=__name__).wait()
    assert result.code == 0, result.stderr
    told = result.stderr
    assert "'reason': 'noindex'" in told
    assert "'quads': 0" in told
    assert "objects" not in told
    assert "<GET" not in told


@pytest.mark.parametrize("command", ["list", "crawl", "genspider", "runspider"])
def test_a_wrong_path_of_an_add_on_is_reported_in_one_line(
    commands: Commands, command: str, tmp_path: Path
) -> None:
    """If there is no such add-on, then one line says which path is wrong."""
    (tmp_path / "one.py").write_text(SPIDER)
    words = {
        "crawl": ["linkeddata"],
        "genspider": ["-l"],
        "runspider": [str(tmp_path / "one.py")],
    }.get(command, [])
    addons = '{"rdfcrawl.Adon": 500}'
    result = commands.start(command, *words, f"-sADDONS={addons}").wait()
    assert result.code == 2, result.stderr
    assert "ADDONS: 'rdfcrawl.Adon': " in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "project", ["rdfcrawl.settings", "tests.support.addon_project"]
)
def test_contracts_of_a_spider_of_ours_are_checked(
    commands: Commands, site: RawServer, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a callback has a contract, `scrapy check` checks it, and begins no crawl."""
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", project)
    monkeypatch.setenv("CHECKED_URL", site.url("/a"))
    folder = commands.folder()
    running = commands.start(
        "check", "checked", folder=folder, SPIDER_MODULES=__name__, CRAWL_ID="checked"
    )
    result = running.wait()
    assert result.code == 0, result.stderr
    assert "Ran 2 contracts" in result.stderr
    assert "Traceback" not in result.stderr
    assert not result.folder.exists()
