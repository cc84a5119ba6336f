"""The page of a crawl in a real browser: Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
import socket
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Page

    from tests.support.crawl_fixtures import Commands, RunningCrawl

# As root, and without requests to anything except the page.
CHROMIUM_FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--disable-dev-shm-usage"),
)
_RULES_OF_COLOURS = ("color-contrast", "link-in-text-block")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Return a browser for the tests of a module, none of which may be asynchronous.

    Playwright keeps an event loop running in the thread of the tests meanwhile.
    """
    program = needs_chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=CHROMIUM_FLAGS
        )
        yield browser
        browser.close()


def needs_chromium() -> str:
    """Return the path of Chromium; skip the test without it, but never in CI."""
    program = find_chromium()
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("chromium is not installed")
        pytest.skip("needs chromium")
    return program


def find_chromium() -> str | None:
    """Return the path of Chromium, by choice of one that cannot have windows.

    Two modules of tests took 20 s of CPU with it, and 31 s with one that hides them.
    """
    return shutil.which("chromium-headless-shell") or shutil.which("chromium")


@contextmanager
def watched_page(
    browser: Browser, *, allowed: tuple[str, ...] = (), **options: Any
) -> Iterator[Page]:
    """Return an empty page, and fail if it has logged an error when it is left.

    Args:
        browser: that has it.
        allowed: parts of messages that are no errors here.
        options: of its context: `color_scheme`, `viewport` and so on.
    """
    context: BrowserContext = browser.new_context(**options)
    errors: list[str] = []
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on(
        "console",
        lambda said: errors.append(said.text) if said.type == "error" else None,
    )
    try:
        yield page
    finally:
        context.close()
    assert not [x for x in errors if not any(part in x for part in allowed)]


def check_view(page: Page, url: str, width: int) -> None:
    """See that a view fits, and breaks no rule of axe-core in light or dark colours.

    Args:
        page: of a browser, as wide as this.
        url: of the view.
        width: in pixels.
    """
    page.goto(url)
    page.wait_for_load_state("load")
    check_shown(page, url, width)


def check_shown(page: Page, place: str, width: int) -> None:
    """See the same of what a page shows already.

    Of the rules, only those of colours have other results in dark ones.
    """
    from axe_playwright_python.sync_playwright import Axe

    assert page.evaluate("document.documentElement.scrollWidth") <= width, place
    _show_in(page, "light")
    found = Axe().run(page)
    assert found.violations_count == 0, f"{place}: {found.generate_report()}"
    _show_in(page, "dark")
    dark = page.evaluate(f"axe.run({{runOnly: {list(_RULES_OF_COLOURS)}}})")
    assert dark["violations"] == [], place


def _show_in(page: Page, scheme: Literal["light", "dark"]) -> None:
    page.emulate_media(color_scheme=scheme)
    is_dark = "matchMedia('(prefers-color-scheme: dark)').matches"
    assert page.evaluate(is_dark) == (scheme == "dark")


def serve_page(commands: Commands, folder: Path, *words: str, **settings: Any) -> str:
    """Start `scrapy page` for the crawl of a folder; return its URL, without `/`.

    It ends with the commands of the test.
    """
    port = free_port()
    start_page(commands, folder, port, *words, **settings)
    return f"http://127.0.0.1:{port}"


def start_page(
    commands: Commands, folder: Path, port: int, *words: str, **settings: Any
) -> RunningCrawl:
    """Start `scrapy page` at a port; return the process once it answers."""
    running = commands.start(
        "page", "--port", str(port), *words, folder=folder, **settings
    )

    def answers() -> bool:
        assert not running.has_ended(), running.stderr
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True
        return False

    commands.wait_until(answers)
    return running


def free_port() -> int:
    """Return a port of this machine without a listener."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
