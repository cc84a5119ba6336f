"""`scrapy refresh`: pages that are due are fetched again, by the next worker."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tests.crawl.sources.test_revisits import DatedSite

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

EAGER = {
    "REFRESH_POLICY": "fixed",
    "REFRESH_INTERVAL_SECS": 0,
    "REFRESH_EPOCH_SECS": 1,
}


def refresh(commands: Commands, folder: Path, **settings: object) -> CrawlResult:
    """Run `scrapy refresh` in the next epoch, by default of all pages."""
    time.sleep(1 - time.time() % 1)
    return commands.start("refresh", folder=folder, **{**EAGER, **settings}).wait()


def test_due_page_is_asked_for_with_its_validators(
    commands: Commands, loopback: Loopback
) -> None:
    """If a page is due, then it is queued again, and a 304 changes nothing."""
    site = DatedSite(loopback, "127.96.1.1")
    page = site.tagged("/page", b"<> <urn:x:says> 'first' .")
    folder = commands.folder()
    commands.crawl([page], folder=folder)
    result = refresh(commands, folder)
    assert result.code == 0, result.stderr
    again = commands.crawl(folder=folder)
    assert site.asked().count("/page") == 2
    assert again.statuses(page) == ["SUCCESSFUL", "UNCHANGED"]
    assert again.writes()[page] == 1
