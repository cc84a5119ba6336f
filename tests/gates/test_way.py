"""The ways of seeds, documents, links and sitemap entries are short, and stay so."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rdfcrawl
from rdfcrawl.stores.followers.following import LogFollowing
from rdfcrawl.stores.followers.oxigraph import OxigraphFollower
from rdfcrawl.stores.log.crawl_log import CrawlLog
from tests.support.written_logs import Written, write_log

if TYPE_CHECKING:
    from types import FrameType

    import pytest

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

# Upper limits of functions and files: a change that shortens a way lowers them.
SEED, ENTRY = "RdfSpider.start", "VisitProcessor._process_harvested"
STOPS = {
    SEED: (73, 22),
    "StoreTee.__anext__": (114, 24),
    "DiscoverPipeline.process_item": (12, 9),
    "LinkSender.send": (19, 6),
    ENTRY: (119, 36),
}
FOLLOWED = 54, 13


def test_ways_are_short(
    commands: Commands,
    loopback: Loopback,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """If a seed, a page, its links and a sitemap are crawled, their ways are short."""
    title = b"<> <http://purl.org/dc/terms/title> 'x' . "
    page = b"".join(b"<> <urn:x:p> <e%d> . " % n for n in range(5))
    server = loopback({"/": loopback.response(b"<> <urn:x:p> <page> .")})
    server.pages["/page"] = loopback.response(title + page)
    for n in range(6):
        server.pages[f"/e{n}"] = loopback.response(title)
    entry = f"<url><loc>{server.url('/e5')}</loc></url>"
    schema = "http://www.sitemaps.org/schemas/sitemap/0.9"
    sitemap = f'<urlset xmlns="{schema}">{entry}</urlset>'.encode()
    server.pages["/sitemap.xml"] = loopback.response(sitemap, "application/xml")
    robots = f"Sitemap: {server.url('/sitemap.xml')}\n".encode()
    server.pages["/robots.txt"] = loopback.response(robots, "text/plain")
    given = {
        "linkeddata": {"seeds": server.url("/")},
        "sitemap": {"sites": server.url("/")},
    }
    stops: dict[str, list[tuple[str, str]]] = {}
    for spider, arguments in given.items():
        notes = tmp_path / f"{spider}.json"
        monkeypatch.setenv("WAY_PROBE", str(notes))
        probe = json.dumps({"tests.support.way_probe.WayProbe": 650})
        result = commands.crawl(
            arguments=arguments, spider=spider, ITEM_PIPELINES=probe
        )
        assert result.code == 0, result.stderr
        stops = json.loads(notes.read_text(encoding="utf-8")) | stops
    assert {"/e4", "/e5"} <= set(server.targets)
    assert stops.keys() == STOPS.keys()
    for stage, found in stops.items():
        _assert_short(stage, found, STOPS[stage])


def test_way_of_a_followed_document_is_short(tmp_path: Path) -> None:
    """If a follower takes a document, it passes few functions to its store."""
    write_log(tmp_path, [Written("http://e/a", 1, [("http://e/a", "x")])])
    store = OxigraphFollower(tmp_path / "store")
    following = LogFollowing(CrawlLog(tmp_path), store)
    following.open()
    stops: list[tuple[str, str]] = []
    root = str(Path(rdfcrawl.__file__).parent)

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        stop = code.co_filename.removeprefix(root), code.co_qualname
        is_ours = code.co_filename.startswith(root) and "<" not in code.co_name
        if event == "call" and is_ours and stop not in stops:
            stops.append(stop)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        following.catch_up()
    finally:
        sys.setprofile(before)
        following.close()
    _assert_short("LogFollowing.catch_up", stops, FOLLOWED)


def _assert_short(
    stage: str, stops: list[tuple[str, str]], most: tuple[int, int]
) -> None:
    names = "\n".join(f"{file}: {function}" for file, function in stops)
    files = {file for file, _ in stops}
    assert len(stops) <= most[0], f"{stage}:\n{names}"
    assert len(files) <= most[1], f"{stage}:\n{names}"
