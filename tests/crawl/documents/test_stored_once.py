"""Crawls whose stores have the statements of equal documents once."""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox
import pytest

from tests.crawl.operation.test_followers import followers_of
from tests.crawl.sources.test_revisits import DatedSite, entry
from tests.support.command_forks import scrapy
from tests.support.sitemap_sites import urlset

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

SAID = "<urn:x:s> <urn:x:p> 1 . <urn:x:s> <urn:x:q> [ <urn:x:r> '%s' ] ."
LINK, TEXT = ox.NamedNode("urn:rdfcrawl:vocab#storedAs"), ox.NamedNode("urn:x:r")


def links(path: Path) -> dict[str, str]:
    """Return by duplicate which document has its statements."""
    quads = _quads(path, LINK)
    return {str(x.subject).strip("<>"): str(x.object).strip("<>") for x in quads}


def texts(path: Path) -> dict[str, str]:
    """Return by graph the text in the statements about a blank node."""
    quads = _quads(path, TEXT)
    return {str(x.graph_name).strip("<>"): str(x.object).strip('"') for x in quads}


def _quads(path: Path, predicate: ox.NamedNode) -> list[ox.Quad]:
    store = ox.Store.read_only(str(path))
    return list(store.quads_for_pattern(None, predicate, None))


def once(path: Path, **settings: Any) -> dict[str, Any]:
    """Return the settings of a store that has statements once."""
    stores = json.dumps({f"oxigraph:{path}": {}})
    return {"STORES": stores, "SAME_STATEMENTS_ONCE": True, **settings}


def test_duplicates_come_back_when_their_representative_changes(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If a page with an extra parameter says the same, it is stored as the other one.

    The provenance names that, too. In later runs the page answers 304, has no body any
    more to be stored, and yet its statements are there as soon as those of the other
    one have changed; and so it is if the page that has them then is gone.
    """
    site, folder = DatedSite(loopback, "127.20.11.42"), commands.folder()
    paths = ("/p", "/p?utm=1", "/p?utm=22")
    one, two, three = map(site.at, paths)

    def crawl(date: str) -> CrawlResult:
        rows = [entry(site.at(each), date) for each in paths]
        site.put("/sitemap.xml", urlset(rows))
        result = site.crawl(commands, folder=folder, **once(tmp_path))
        assert result.code == 0, result.stderr
        return result

    for path in paths:
        site.tagged(path, (SAID % "old").encode())
    result = crawl("2024-01-01")
    assert set(links(tmp_path)) == {one, two, three} - set(texts(tmp_path))
    assert list(texts(tmp_path).values()) == ["old"]
    asked = "?a sq:crawled ?u ; rc:sameContentAs ?x ."
    assert len(set(result.ask(asked))) == 1
    (first,) = texts(tmp_path)
    site.tagged(first.removeprefix(site.at("")), (SAID % "new").encode())
    result = crawl("2024-02-01")
    others = {one, two, three} - {first}
    assert {url: result.statuses(url)[-1] for url in others} == dict.fromkeys(
        others, "UNCHANGED"
    )
    second = min(others, key=len)
    assert texts(tmp_path) == {first: "new", second: "old"}
    assert links(tmp_path) == dict.fromkeys(others - {second}, second)
    site.fails(second.removeprefix(site.at("")), "410 Gone")
    crawl("2024-03-01")
    (third,) = others - {second}
    assert texts(tmp_path) == {first: "new", third: "old"}
    assert links(tmp_path) == {}


def check_same_content(folder: str, urls: list[str], *, n_stored: int) -> None:
    """Check the database and the report for pages with the same content."""
    assert scrapy("urldb", folder, "build").returncode == 0
    shown = [
        json.loads(scrapy("urldb", folder, "show", url).stdout)["latest"]
        for url in urls
    ]
    first = [latest.get("sameContentAs") for latest in shown]
    assert first in ([None, urls[0]], [urls[1], None])
    report = Path(folder.partition("=")[2]) / "report"
    assert scrapy("report", folder, "--to", str(report)).returncode == 0
    tables = {
        item["key"]: item
        for section in json.loads((report / "report.json").read_text())["sections"]
        for item in section["items"]
    }
    assert tables["same-content"]["rows"][1][1:] == [30, 90]
    assert len(tables["same-content-examples"]["rows"]) == 10
    rows = tables["stored-once"]["rows"] if n_stored else []
    assert [row[1:3] for row in rows] == ([[30, 90]] if n_stored else [])


@pytest.mark.in_turn(2, rooms=("stores",))
@pytest.mark.parametrize("is_once", [True, False])
def test_mirrors_are_stored_once_despite_kills(
    commands: Commands, loopback: Loopback, tmp_path: Path, *, is_once: bool
) -> None:
    """If two workers crawl two mirrors in parallel, equal documents are stored once.

    The follower is killed meanwhile. Queries and exports are as the store is. Without
    the setting all is stored, also where statements were stored once before.
    """
    pages = [f"/{n}" for n in range(30)]
    servers = [loopback(host=f"127.73.9.{n}") for n in (1, 2)]
    for server in servers:
        server.pages |= {
            path: [0.02, loopback.response((SAID % path).encode())] for path in pages
        }
    folder, store = commands.folder(), tmp_path / "store"

    def n_asked() -> int:
        return sum(len(server.requests) for server in servers)

    seeds = folder / "seeds.txt"
    seeds.write_text("\n".join(x.url(path) for path in pages for x in servers))
    settings = once(store, SAME_STATEMENTS_ONCE=is_once, FRONTIER_COMMIT_SECS=0.1)
    running = commands.start(
        *("workers", "-n2", "linkeddata", f"-aseeds=@{seeds}"),
        folder=folder,
        **settings,
    )
    for n_least in (5, 25, 40):
        commands.wait_until(lambda n=n_least: n_asked() > n)  # type: ignore[misc]
        for pid in followers_of(running.process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    result = running.wait()
    assert result.code == 0, result.stderr
    every = {x.url(path) for path in pages for x in servers}
    assert set(texts(store)) | set(links(store)) == every
    assert sorted(texts(store).values()) == sorted(pages * (1 if is_once else 2))
    assert set(links(store).values()) == (set(texts(store)) if is_once else set())
    words = f"-sCRAWL_DIR={folder}", f"-sSAME_STATEMENTS_ONCE={is_once}"
    done = scrapy("store", *words, "verify", f"oxigraph:{store}")
    assert done.returncode == 0, done.stdout
    target = tmp_path / "all.nq"
    assert scrapy("export", *words, "--to", str(target)).returncode == 0
    exported = ox.Store()
    exported.bulk_load(path=str(target))
    n_texts = len(texts(store))
    assert len(list(exported.quads_for_pattern(None, TEXT, None))) == n_texts
    asked = "SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s <urn:x:r> ?o } }"
    done = scrapy("query", *words, "--format=csv", asked)
    assert done.stdout.split() == ["n", str(n_texts)]
    check_same_content(
        words[0], [x.url("/1") for x in servers], n_stored=len(links(store))
    )
    for setting in (True, False):
        other = f"-sSAME_STATEMENTS_ONCE={setting}"
        done = scrapy("store", words[0], other, "load", f"oxigraph:{store}")
        assert done.returncode == 0, done.stderr
    assert sorted(texts(store).values()) == sorted(pages * 2)
    assert links(store) == {}
