"""The way of a document's links to the frontier is short, and stays so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

# Functions and files; who shortens the way lowers them, nobody raises them.
STOPS = {"DiscoverPipeline.process_item": (12, 9), "LinkSender.send": (19, 8)}


def test_way_of_links_is_short(
    commands: Commands,
    loopback: Loopback,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """If a page has links, then they pass so many functions until they are in Redis."""
    title = b"<> <http://purl.org/dc/terms/title> 'x' . "
    page = b"".join(b"<> <urn:x:p> <e%d> . " % n for n in range(5))
    server = loopback({"/": loopback.response(b"<> <urn:x:p> <page> .")})
    server.pages["/page"] = loopback.response(title + page)
    for n in range(5):
        server.pages[f"/e{n}"] = loopback.response(title)
    notes = tmp_path / "stops.json"
    monkeypatch.setenv("WAY_PROBE", str(notes))
    probe = json.dumps({"tests.support.way_probe.WayProbe": 650})
    result = commands.crawl([server.url("/")], ITEM_PIPELINES=probe)
    assert result.code == 0, result.stderr
    assert "/e4" in server.targets
    for stage, stops in json.loads(notes.read_text(encoding="utf-8")).items():
        names = "\n".join(f"{file}: {function}" for file, function in stops)
        files = {file for file, _ in stops}
        assert (len(stops), len(files)) == STOPS[stage], f"{stage}:\n{names}"
