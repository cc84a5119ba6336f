"""Harvesters of users: the example of the docs, and errors in a setting."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.sources.harvest.options import harvester_classes
from tests.support.pages import read_page

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

_find_spider = re.compile(
    r"^```python\n(from rdfcrawl import LinkedDataSpider\n.*?)^```$",
    re.DOTALL | re.MULTILINE,
).findall
MEDIA_TYPE = "application/vnd.example.listing+json"
TITLE = "http://purl.org/dc/terms/title"


def test_example_of_the_docs_harvests_listings(
    commands: Commands, loopback: Loopback
) -> None:
    """If a page is of its media type, then a harvester of the user's reads it."""
    server = loopback()

    def listing(name: str, **more: str) -> None:
        thing = {"uri": server.url(f"/id/{name}"), "title": name, "page": ""}
        thing["page"] = server.url(f"/page/{name}")
        body = json.dumps({"things": [thing], **more}).encode()
        server.pages[f"/{name}"] = loopback.response(body, MEDIA_TYPE)
        page = f'<> <urn:x:p> "{name}" .'.encode()
        server.pages[f"/page/{name}"] = loopback.response(page)

    listing("b")
    listing("a", next=server.url("/b"))
    own = {MEDIA_TYPE: "tests.support.listings_example.ListingHarvester"}
    result = commands.crawl([server.url("/a")], HARVESTERS=json.dumps(own))
    for name in "ab":
        about = result.about(server.url(f"/id/{name}"))
        assert {(p, o) for _, p, o in about} == {(TITLE, f'"{name}"')}
        assert server.url(f"/page/{name}") in result.graphs
        assert server.targets.count(f"/{name}") == 1


def test_source_that_a_spider_names_is_harvested(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If the spider of the docs names a source, then its own harvester reads it."""
    server = loopback()
    thing = {"uri": server.url("/id"), "title": "a", "page": server.url("/page")}
    listing = json.dumps({"things": [thing]}).encode()
    server.pages["/listing"] = loopback.response(listing, "application/json")
    server.pages["/page"] = loopback.response(b'<> <urn:x:p> "a" .')
    (spider,) = _find_spider(read_page("own-harvesters.md"))
    where = "https://things.example.org/listing"
    assert where in spider
    file = tmp_path / "things.py"
    file.write_text(spider.replace(where, server.url("/listing")))
    own = {"things": "tests.support.listings_example.ListingHarvester"}
    done = commands.start(
        *("runspider", str(file)), HARVESTERS=json.dumps(own), CRAWL_ID="things"
    ).wait()
    assert done.code == 0, done.stderr
    assert {(p, o) for _, p, o in done.about(server.url("/id"))} == {(TITLE, '"a"')}
    assert server.url("/page") in done.graphs


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("Not A Name", "listings.ListingHarvester"),
        ("listing", "nowhere.to.be.Found"),
        ("listing", "json.JSONDecoder"),
    ],
)
def test_wrong_harvesters_are_reported(name: str, path: str) -> None:
    """If `HARVESTERS` has a wrong name or class, then the setting is named."""
    with pytest.raises(ConfigError, match="HARVESTERS"):
        harvester_classes({name: path})
    assert "nowhere" not in sys.modules
