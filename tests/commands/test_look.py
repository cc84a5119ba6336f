"""`scrapy look`: what a site publishes, and the command that crawls it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import LOOPBACK_NETS
from tests.support.command_forks import scrapy
from tests.support.planted_sites import (
    PlantedDumps,
    PlantedIndex,
    PlantedLinks,
    PlantedPages,
    PlantedResources,
)

if TYPE_CHECKING:
    from tests.support.crawl_webs import Loopback
    from tests.support.planted_sites import PlantedSite

_SETTINGS = {"DOWNLOAD_DELAY": 0, "GUARD_ALLOW_NETS": LOOPBACK_NETS}
_SITES = {
    PlantedPages: "crawl sitemap -a sites=",
    PlantedIndex: "crawl sitemap -a sites=",
    PlantedDumps: "crawl sitemap -a sites=",
    PlantedResources: "crawl resourcesync -a sources=",
    PlantedLinks: "crawl linkeddata -a seeds=",
}


def look(url: str, *options: str) -> tuple[int, str]:
    """Return the exit code and the output."""
    given = [f"-s{name}={value}" for name, value in _SETTINGS.items()]
    done = scrapy("look", url, *options, *given)
    assert not done.stderr
    return done.returncode, done.stdout


@pytest.mark.parametrize("kind", _SITES, ids=lambda kind: kind.__name__)
def test_the_least_intrusive_door_is_named(
    kind: type[PlantedSite], loopback: Loopback
) -> None:
    """If a site offers a source, then it is the first door, found by few requests."""
    site = kind(loopback, "127.20.76.1")
    code, output = look(site.seeds()[0][0], "--json")
    found: dict[str, Any] = json.loads(output)
    assert code == 0
    door = found["doors"][0]
    assert door["kind"] == site.kind, found
    assert door["command"].startswith(_SITES[kind])
    assert found["requests"] <= 10
    is_sampled = kind in (PlantedPages, PlantedIndex, PlantedLinks)
    assert bool(found["properties"].get("urn:x:says", 0)) == is_sampled


def test_a_site_without_data_says_so(loopback: Loopback) -> None:
    """If a site has no statements, then the last line says so, and the exit code."""
    page = loopback.response(b"<html><title>A</title></html>", "text/html")
    site = loopback({"/": page})
    code, output = look(site.url("/"))
    assert code == 1
    assert "(200): 0 statements" in output
    assert output.splitlines()[-1].startswith("no data was found")
