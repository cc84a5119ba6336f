"""Runs of a crawl on a machine whose clock was set back between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.crawl.sources.test_refresh import AgingSite, refresh
from tests.crawl.sources.test_revisits import entry, said
from tests.support.later_commands import DAY_SECS, run_later
from tests.support.sitemap_sites import urlset

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback


def dated(site: AgingSite, what: str, lastmod: str) -> str:
    """Let a page say something, and its sitemap that it has changed; return its URL."""
    page = site.says("/page", what)
    site.put("/sitemap.xml", urlset([entry(page, lastmod)]), "application/xml")
    return page


def crawl_later(site: AgingSite, folder: Path, secs: int) -> None:
    """Crawl a site with a clock that is ahead by some seconds."""
    words = ["crawl", "sitemap", f"-asites={site.at('/')}"]
    done = run_later(secs, *words, folder=folder)
    assert done.returncode == 0, done.stderr


def test_copies_fetched_after_a_clock_was_set_back_count(
    commands: Commands, loopback: Loopback
) -> None:
    """If the clock is set back, then later runs and refreshes go on from before.

    So new copies replace the stored ones, though they seem to be older.
    """
    site = AgingSite(loopback, "127.96.9.1")
    page = dated(site, "first", "2024-01-01")
    folder = commands.folder()
    crawl_later(site, folder, 3600)
    dated(site, "second", "2024-02-01")
    result = site.crawl(commands, folder=folder)
    assert said(result) == {page: "second"}
    assert "the clock was set back by 3" in result.stderr
    kept = result.folder / "clock.txt"  # else the next epoch would be the same one
    kept.write_text(str(int(kept.read_text()) + 2000))
    site.says("/page", "third")
    told = refresh(commands, folder, CRAWL_ID="sitemap")
    assert told.code == 0, told.stderr
    result = commands.crawl(spider="sitemap", folder=folder)
    assert said(result) == {page: "third"}


def test_time_that_was_far_ahead_is_not_followed(
    commands: Commands, loopback: Loopback
) -> None:
    """If the clock was days ahead, then a message explains the consequence."""
    site = AgingSite(loopback, "127.96.9.2")
    dated(site, "first", "2024-01-01")
    folder = commands.folder()
    crawl_later(site, folder, 3 * DAY_SECS)
    result = site.crawl(commands, folder=folder)
    assert result.code == 0
    assert (
        "the clock is 3.0 days behind the last document of this crawl" in result.stderr
    )
