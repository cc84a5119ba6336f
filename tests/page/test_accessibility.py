"""The views of the page by the rules of axe-core, in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.support.page_browser import serve_page, watched_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

VIEWS = ("/", "/faults", "/faults?reason=not_found")


@pytest.fixture(scope="module")
def url(commands: Commands, loopback: Loopback) -> str:
    """Return the URL of the page of a crawl with a fault."""
    server = loopback({"/a": loopback.response(b"<> <urn:x:p> <b> .")})
    result = commands.crawl([server.url("/a")])
    assert result.code == 0, result.stderr
    return serve_page(commands, result.folder.parent)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1600])
def test_views_break_no_rule_of_axe(
    url: str, chromium: Browser, scheme: Literal["light", "dark"], width: int
) -> None:
    """If a view is shown in any width or scheme, then axe-core finds no violation.

    Nor is it wider than the window.
    """
    size = {"width": width, "height": 900}
    with watched_page(chromium, color_scheme=scheme, viewport=size) as page:
        for path in VIEWS:
            page.goto(f"{url}{path}")
            page.wait_for_load_state("load")
            found = Axe().run(page)
            assert found.violations_count == 0, f"{path}: {found.generate_report()}"
            assert page.evaluate("document.documentElement.scrollWidth") <= width
