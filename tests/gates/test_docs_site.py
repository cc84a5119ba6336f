"""The documentation as a site: complete, searchable, and served by one host."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import pytest

import rdfcrawl
from tests.support.pages import PAGES, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

pytestmark = pytest.mark.in_turn(
    3, rooms=("explanation", "how-to", "reference", "tutorial"), together=True
)

_DOCS = [page for page in PAGES if page.parent != ROOT and "docs" in page.parts]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site; bad links and anchors, and pages without a place, are errors."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    done = subprocess.run(
        [*command, "--site-dir", folder],
        cwd=ROOT,
        env={"NO_MKDOCS_2_WARNING": "1", "PATH": "", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_each_page_says_for_whom_it_is() -> None:
    """If a page is opened, then its first line names its readers."""
    for page in _DOCS:
        if page.name != "README.md":
            lines = page.read_text(encoding="utf-8").split("\n")
            assert re.fullmatch(r"\*For [^*]+\.\*", lines[2]), page


def test_each_public_name_has_its_docstring(site: Path) -> None:
    """If a name is public, then the page of the package describes it."""
    page = (site / "reference/package/index.html").read_text(encoding="utf-8")
    names = [each for each in rdfcrawl.__all__ if not each.startswith("__")]
    assert [each for each in names if f'id="rdfcrawl.{each}"' not in page] == []


def test_pages_are_found_by_search(site: Path) -> None:
    """If a page is in the site, then the search has it."""
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    found = {each["location"].partition("#")[0] for each in index["docs"]}
    for page in _DOCS:
        path = page.relative_to(ROOT / "docs").with_suffix("")
        assert f"{path}/".replace("README/", "") in found


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    """Serve the site; yield its URL."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_a_browser_shows_the_site(address: str, chromium: Browser) -> None:
    """If a page is opened, then no other host is asked, and the search finds pages."""
    with chromium.new_context() as context:
        page = context.new_page()
        requested, problems = list[str](), list[str]()
        page.on("request", lambda each: requested.append(each.url))
        page.on("pageerror", lambda each: problems.append(str(each)))
        page.goto(address)
        page.locator("input.md-search__input").fill("robots.txt")
        page.locator(".md-search-result__item").first.wait_for()
        assert page.locator("[data-md-color-scheme]").count() > 0
        assert not problems
        own = (address, "data:", "blob:")
        assert [each for each in requested if not each.startswith(own)] == []
