"""Stores of `STORES` follow a crawl in processes of their own, and end with it."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox
import pytest

from rdfcrawl.stores.followers.oxigraph import OxigraphFollower
from rdfcrawl.stores.log.crawl_log import CrawlLog, iter_latest
from tests.support.crawl_webs import TreeWeb
from tests.support.sitemap_sites import Site, urlset

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

PROVENANCE = ox.NamedNode("urn:rdfcrawl:provenance")


def stores(path: Path) -> str:
    """Return the setting `STORES` with one store of Oxigraph."""
    return json.dumps({f"oxigraph:{path}": {}})


def stored(path: Path) -> set[str]:
    """Return the quads of a store of Oxigraph, without the provenance."""
    store = ox.Store.read_only(str(path))
    return {f"{quad} .\n" for quad in store if quad.graph_name != PROVENANCE}


def latest(result: CrawlResult) -> set[str]:
    """Return the quads of the latest version of each document in the log."""
    quads = b"".join(each.quads for each in iter_latest(result.folder / "quads"))
    return set(quads.decode().splitlines(keepends=True))


def followers_of(pid: int) -> list[int]:
    """Return the processes that a command has started to follow its crawl."""
    found: list[int] = []
    with suppress(FileNotFoundError):  # it ends meanwhile
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in path.read_text().split():
                line = Path(f"/proc/{child}/cmdline").read_bytes()
                if b"rdfcrawl.stores.followers.process" in line:
                    found.append(int(child))
    return found


@pytest.mark.parametrize("words", [(), ("-n", "2")], ids=["crawl", "workers"])
def test_store_equals_the_log_when_the_crawl_has_ended(
    commands: Commands, loopback: Loopback, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """If a crawl has ended, then its store has all, and no process is left."""
    prefix = f"127.91.{1 + len(words)}"
    web = TreeWeb(loopback, prefix, n_hosts=2, n_docs=20, secs=0.0)
    settings: dict[str, Any] = {"STORES": stores(tmp_path), "PROGRESS": "off"}
    if words:
        running = commands.start(
            "workers", *words, "linkeddata", f"-aseeds={web.seed}", **settings
        )
    else:
        running = commands.start_crawl([web.seed], **settings)
    result = running.wait()
    assert result.code == 0, result.stderr
    assert stored(tmp_path) == latest(result)
    assert {q.rpartition("<")[2] for q in stored(tmp_path)} == {
        f"{url}> .\n" for url in web.documents
    }
    assert f"store         oxigraph:{tmp_path}, up to date\n" in result.stderr
    (path,) = (result.folder / "followers").glob("*.json")
    assert json.loads(path.read_text())["state"] == "ended"
    assert followers_of(running.process.pid) == []


def test_follower_that_is_killed_while_crawling_is_started_again(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If a follower is killed again and again, the crawl goes on, and all is stored."""
    web = TreeWeb(loopback, "127.91.5", n_hosts=3, n_docs=80, secs=0.15)
    running = commands.start_crawl(
        [web.seed], STORES=stores(tmp_path), FRONTIER_COMMIT_SECS=0.1
    )
    chance, n_killed = random.Random(3), 0
    while not running.has_ended() and n_killed < 4:
        for pid in followers_of(running.process.pid):
            time.sleep(chance.uniform(0.3, 1.2))
            with suppress(ProcessLookupError):  # the crawl has just ended
                os.kill(pid, signal.SIGKILL)
                n_killed += 1
        time.sleep(0.02)
    result = running.wait()
    assert result.code == 0, result.stderr
    assert n_killed >= 2
    assert stored(tmp_path) == latest(result)
    assert len(stored(tmp_path)) > 240


def test_store_that_is_away_does_not_stop_a_crawl(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If a store cannot be used for a while, then the crawl goes on meanwhile."""
    web = TreeWeb(loopback, "127.91.6", n_hosts=2, n_docs=20, secs=0.0)
    folder = commands.folder()
    first = commands.crawl([web.seed], folder=folder)
    other = OxigraphFollower(tmp_path)
    other.open(CrawlLog(first.folder).identity)
    running = commands.start_crawl(
        [web.seed], folder=folder, STORES=stores(tmp_path), arguments={"fresh": 1}
    )
    commands.wait_until(lambda: "outcome       finished" in running.stderr)
    assert not running.has_ended()
    other.close()
    result = running.wait()
    assert result.code == 0, result.stderr
    assert stored(tmp_path) == latest(result)


def test_store_loses_pages_gone_from_the_web(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If pages change, go and come, then a later run leaves the store as the web is."""
    site = Site(loopback, "127.91.7.1")
    folder = commands.folder()

    def crawl(lastmod: str, pages: list[str], **arguments: object) -> CrawlResult:
        site.robots(site.at("/sitemap.xml"))
        site.put(
            "/sitemap.xml",
            urlset(
                f"<loc>{site.at(p)}</loc><lastmod>{lastmod}</lastmod>" for p in pages
            ),
        )
        return commands.crawl(
            folder=folder,
            spider="sitemap",
            arguments={"sites": site.at("/"), **arguments},
            STORES=stores(tmp_path),
        )

    def said() -> dict[str, str]:
        quads = ox.parse("".join(stored(tmp_path)), format=ox.RdfFormat.N_QUADS)
        return {
            quad.graph_name.value.rpartition("/")[2]: quad.object.value
            for quad in quads
            if quad.predicate.value == "urn:x:says"
        }

    for name in "abc":
        site.page(f"/{name}", "1")
    crawl("2020-01-01T00:00:00Z", ["/a", "/b", "/c"])
    assert said() == {"a": "1", "b": "1", "c": "1"}
    site.page("/a", "2")
    site.page("/d", "2")
    del site.server.pages["/b"]
    crawl("2021-01-01T00:00:00Z", ["/a", "/b", "/c", "/d"])
    assert said() == {"a": "2", "c": "1", "d": "2"}
    result = crawl("2022-01-01T00:00:00Z", ["/a", "/d"], fresh=1)
    assert result.code == 0, result.stderr
    assert said() == {"a": "2", "d": "2"}


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"STORES": '{"nowhere:x": {}}'}, "STORES=nowhere:x: STORE_CLASSES has no"),
        ({"STORES": "nonsense"}, "STORES: must be a dictionary"),
        ({"STORES": '{"oxigraph:": {}}'}, "oxigraph:: must be oxigraph:PATH"),
        ({"STORES": '{"oxigraph:x": {"a": 1}}'}, "oxigraph:x: has no option 'a'"),
        ({"STORES": '{"segments:x": {}}'}, "does not follow a crawl: it is for STORE"),
        ({"STORE": "oxigraph:x"}, "follows a crawl: name its URI in STORES"),
    ],
)  # fmt: skip
def test_wrong_store_is_reported_in_one_line(
    commands: Commands, settings: dict[str, Any], told: str
) -> None:
    """If `STORES` is wrong, then the command ends with one line before it crawls."""
    result = commands.crawl(["http://127.0.0.1/"], **settings)
    assert result.code == 2
    (line,) = result.stderr.splitlines()
    assert told in line
