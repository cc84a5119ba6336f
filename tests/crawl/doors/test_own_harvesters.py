"""Harvesters of users: the example of the docs, and what is wrong with a setting."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from scrapy.settings import Settings

from rdfcrawl.errors import ConfigError
from rdfcrawl.harvest.options import _harvesters

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

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


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("Not A Name", "listings.ListingHarvester"),
        ("listing", "nowhere.to.be.Found"),
        ("listing", "json.JSONDecoder"),
    ],
)
def test_wrong_harvesters_are_told(name: str, path: str) -> None:
    """If `HARVESTERS` has a wrong name or class, then the setting is named."""
    with pytest.raises(ConfigError, match="HARVESTERS"):
        _harvesters(Settings({"HARVESTERS": {name: path}}))
    assert "nowhere" not in sys.modules
