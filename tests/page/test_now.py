"""The view of the moment, in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.page_browser import serve_page, watched_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback


@pytest.fixture(scope="module")
def url(commands: Commands, loopback: Loopback) -> str:
    """Return the URL of the page of a finished crawl."""
    server = loopback()
    server.pages["*"] = loopback.response(b"<> <urn:x:p> <b> .")
    result = commands.crawl([server.url("/a")])
    assert result.code == 0, result.stderr
    return serve_page(commands, result.folder.parent)


def test_counts_of_a_finished_crawl_are_shown(url: str, chromium: Browser) -> None:
    """If a crawl has finished, then the page says how many URIs are done."""
    with watched_page(chromium) as page:
        page.goto(f"{url}/")
        assert page.title() == "Now \u00b7 linkeddata \u00b7 rdfcrawl"
        tiles = page.locator("dl.tiles > div")
        assert "2" in tiles.filter(has_text="done").inner_text()
