"""The views of the page by the rules of axe-core, in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rdfcrawl.stores.crawl_folder import ensure_identity
from tests.support.page_browser import check_view, serve_page, watched_page

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

VIEWS = ("/", "/faults", "/faults?reason=not_found", "/export")

EMPTY = (
    *("/hosts", "/uri", "/datasets", "/datasets/graph", "/classes", "/query"),
    *("/report", "/settings"),
)


@pytest.fixture(scope="module")
def url(commands: Commands, loopback: Loopback) -> str:
    """Return the URL of the page of a crawl with a fault."""
    server = loopback({"/a": loopback.response(b"<> <urn:x:p> <b> .")})
    result = commands.crawl([server.url("/a")])
    assert result.code == 0, result.stderr
    return serve_page(commands, result.folder.parent)


@pytest.fixture(scope="module")
def empty_url(commands: Commands) -> str:
    """Return the URL of the page of a crawl that has stored nothing."""
    folder = commands.folder()
    ensure_identity_in(folder / "linkeddata" / "quads")
    return serve_page(commands, folder)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("width", [320, 1600])
@pytest.mark.parametrize("path", VIEWS)
def test_views_break_no_rule_of_axe(
    url: str, chromium: Browser, width: int, path: str
) -> None:
    """If a view is shown in any width or scheme, then axe-core finds no violation.

    Nor is it wider than the window.
    """
    size = {"width": width, "height": 900}
    with watched_page(chromium, viewport=size) as page:
        check_view(page, f"{url}{path}", width)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("path", [*VIEWS[:2], *EMPTY, "/export"])
def test_views_of_an_empty_crawl_are_shown(
    empty_url: str, chromium: Browser, path: str
) -> None:
    """If a crawl has stored nothing, and has no frontier, then all views say so."""
    with watched_page(chromium, viewport={"width": 360, "height": 900}) as page:
        check_view(page, f"{empty_url}{path}", 360)


def ensure_identity_in(segments: Path) -> None:
    """Make the folder of an empty log."""
    segments.mkdir(parents=True)
    ensure_identity(segments)
