"""The view of settings, and what the page knows of those of a crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.page_answers import get
from tests.support.page_browser import check_view, serve_page, watched_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback


@pytest.fixture(scope="module")
def url(commands: Commands, loopback: Loopback) -> str:
    """Return the URL of the page of a crawl."""
    server = loopback({"/a": loopback.response(b"<> <urn:x:p> <b.xyz> .")})
    folder = commands.folder()
    result = commands.crawl(
        [server.url("/a")],
        folder=folder,
        arguments={"depth": 3},
        CRAWL_ID="first",
        IGNORED_EXTENSIONS="xyz",
        MAIL_PASS="s3cret",
        SPLASH_URL="http://me:s3cret@h.example/<script>",
    )
    assert result.code == 0, result.stderr
    return serve_page(commands, folder, CRAWL_ID="first")


def view(url: str) -> Any:
    """Return the view as JSON."""
    return get(f"{url}/settings", {"format": "json"}).json


def test_arguments_and_settings_are_shown_without_secrets(url: str) -> None:
    """If a crawl was started with arguments and settings, then the page has them."""
    found = view(url)
    assert {"name": "depth", "value": "3", "source": "linkeddata"} in found["arguments"]
    settings = {x["name"]: x["value"] for x in found["settings"]}
    assert settings["IGNORED_EXTENSIONS"] == "xyz"
    assert settings["MAIL_PASS"] == "***"
    assert settings["SPLASH_URL"] == "http://***@h.example/<script>"
    assert "s3cret" not in str(found)


def test_explanations_know_the_settings_of_the_crawl(url: str) -> None:
    """If a crawl was started with other settings, then a URI is explained by these."""
    asked = {"u": "http://a.example/b.xyz", "format": "json"}
    explanation = get(f"{url}/uri", asked).json["explanation"]
    assert "ignored_extension" in str(explanation)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("width", [320, 1440])
def test_view_is_accessible(url: str, chromium: Browser, width: int) -> None:
    """If the settings are shown, then no rule of axe-core is broken."""
    with watched_page(chromium, viewport={"width": width, "height": 900}) as page:
        check_view(page, f"{url}/settings", width)
        assert page.locator("main script").count() == 0
