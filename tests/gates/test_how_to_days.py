"""The guides "Keep a site" and "Harvest a portal every night", over several days."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.stores.log.crawl_log import iter_latest
from tests.crawl.sources.test_later_runs import DatasetSite
from tests.crawl.sources.test_revisits import SAYS, entry
from tests.support.ckan_sites import CkanSite
from tests.support.later_commands import DAY_SECS, run_later
from tests.support.pages import commands_in, read_page
from tests.support.sitemap_sites import urlset

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_webs import Loopback

_find = re.compile(rb'<%b> "([^"]*)"' % SAYS.encode()).findall


class GuideNights:
    """The nights of a guide: a command, a day apart, and the copy after each.

    Args:
        words: of the command.
        site: that it keeps.
        folder: `CRAWL_DIR`.
        crawl_id: folder of the crawl in that.
    """

    def __init__(
        self,
        words: list[str],
        site: DatasetSite | CkanSite,
        folder: Path,
        crawl_id: str,
    ) -> None:
        self._words, self._site = words, site
        self._folder, self._crawl_id = folder, crawl_id
        self._written: list[float] = []

    def spend(self, day: int) -> tuple[dict[str, str], list[str]]:
        """Run the command; return the copy by path, and the requests.

        The versions that it writes are later than those of the nights before.
        """
        server = self._site.server
        n_asked = len(server.targets)
        done = run_later(day * DAY_SECS, *self._words, folder=self._folder)
        assert done.returncode == 0, done.stderr
        copy: dict[str, str] = {}
        times = []
        for piece in iter_latest(self._folder / self._crawl_id / "quads"):
            path = piece.graph.removeprefix(self._site.at(""))
            for text in _find(piece.quads):
                copy[path] = text.decode()
            times.append(piece.version_ms / 1000 / DAY_SECS)
        if self._written:  # by the recorded clocks
            new = [x for x in times if x > max(self._written)]
            assert not new or min(new) - max(self._written) > 0.5
        self._written = times
        guessed = ("/.well-known/void", "/d/data", "/data/")
        asked = (x for x in server.targets[n_asked:] if x not in guessed)
        return copy, sorted(asked)


class DailySite(DatasetSite):
    """A site with a front page, a sitemap and a dataset.

    Attributes:
        truth: statements by path.
        dates: of the pages in the sitemap.
    """

    def __init__(self, loopback: Loopback, host: str) -> None:
        super().__init__(loopback, host)
        self.truth: dict[str, str] = {}
        self.dates: dict[str, str] = {}

    def write(self, path: str, text: str, date: str = "") -> None:
        """Serve a page or dump; list it if it has a date."""
        if path.endswith(".nt"):
            self.dump(path[1:-3], text)
        else:
            self.tagged(path, f'<> <{SAYS}> "{text}" .'.encode())
        self.truth[path] = text
        if date:
            self.dates[path] = date

    def leave(self, path: str) -> None:
        """Delete a listed page."""
        self.fails(path, "410 Gone")
        del self.truth[path], self.dates[path]

    def publish(self, *links: str) -> None:
        """Serve the front page and the sitemap."""
        linked = "".join(f'<a href="{each}">{each}</a>' for each in links)
        self.tagged("/", f"<html>{linked}</html>".encode(), "text/html")
        rows = [entry(self.at(path), date) for path, date in self.dates.items()]
        body = urlset(rows, self.dataset("data", "data"))
        self.tagged("/sitemap.xml", body, "application/xml")
        self.robots(self.at("/sitemap.xml"))


@pytest.mark.in_turn(2, rooms=("how-to", "sources", "analysis"))
def test_site_is_equal_after_each_night(loopback: Loopback, tmp_path: Path) -> None:
    """If a site changes each day, then the nightly command makes the copy equal.

    It requests what the guide says: per night `robots.txt`, the sitemap, the front page
    and the dump, and the pages that these name as new, changed or gone. A page that
    only links lead to is requested after a week.
    """
    page = read_page("keep-a-site.md")
    (typed,) = commands_in(page)
    site = DailySite(loopback, "127.20.33.1")
    words = [word.replace("https://example.org/", site.at("/")) for word in typed[1:]]
    crawl_id = site.at("").partition("://")[2].strip("/").replace(":", "_")
    nights = GuideNights(words, site, tmp_path, crawl_id)
    usual = ["/", "/data.nt", "/robots.txt", "/sitemap.xml"]
    assert f"{len(usual)} requests" in page
    for path in ("/linked", "/other", "/data.nt"):
        site.write(path, "first")
    for path in ("/old", "/changes", "/leaves"):
        site.write(path, "first", "2024-01-01")
    site.publish("/linked", "/other")
    copy, _ = nights.spend(0)
    assert copy == site.truth

    site.write("/changes", "second", "2024-02-01")
    site.write("/listed", "new", "2024-02-01")
    site.write("/new", "new")
    site.write("/data.nt", "second")
    site.leave("/leaves")
    site.publish("/linked", "/other", "/new")
    copy, asked = nights.spend(1)
    assert copy == site.truth
    assert asked == sorted([*usual, "/changes", "/leaves", "/listed", "/new"])

    site.fails("/changes", "503 Busy")
    site.dates["/changes"] = "2024-03-01"
    site.write("/old", "third", "2024-03-01")
    site.publish("/linked", "/new")
    copy, asked = nights.spend(2)
    assert copy == site.truth  # the last good copy of a page that fails

    site.write("/changes", "third")
    copy, asked = nights.spend(3)
    assert copy == site.truth
    assert asked == sorted([*usual, "/changes"])

    site.write("/linked", "ninth")
    copy, asked = nights.spend(9)
    assert copy == site.truth


@pytest.mark.in_turn(2, rooms=("how-to", "sources", "analysis"))
def test_portal_is_equal_after_each_night(loopback: Loopback, tmp_path: Path) -> None:
    """If a portal changes each day, then the nightly command makes the copy equal.

    A night without changes takes as few requests as the guide says. A file about which
    the portal says nothing is requested each night, until it has not changed for long.
    """
    page = read_page("nightly-portal.md")
    (number,) = re.findall(r"at most (\d+) requests", page)
    typed = commands_in(page)[0]
    site = CkanSite(loopback, "127.20.33.2")
    words = [
        word.replace("https://data.example.org", site.at("")) for word in typed[1:]
    ]
    nights = GuideNights(words, site, tmp_path, "ckan")
    truth: dict[str, str] = {}

    def put(name: str, text: str, **signals: object) -> None:
        url = site.file(f"/f/{name}", text)
        site.dataset(name, {"url": url, **signals})
        truth[f"/f/{name}"] = text

    for name in ("hashed", "dated", "gone", "private", *map(str, range(20))):
        put(name, "first", hash="0a", last_modified="2024-01-01T00:00:00")
    put("plain", "first")
    copy, _ = nights.spend(0)
    assert copy == truth

    put("hashed", "second", hash="0b", last_modified="2024-01-01T00:00:00")
    put("new", "second", hash="0a")
    site.packages["gone"]["state"] = "deleted"
    del truth["/f/gone"]
    copy, asked = nights.spend(1)
    assert copy == truth
    assert [x for x in asked if x.startswith("/f/")] == [
        *("/f/hashed", "/f/new", "/f/plain")
    ]

    put("dated", "third", hash="0a", last_modified="2024-03-01T00:00:00")
    site.packages["private"]["private"] = True
    del truth["/f/private"]
    site.dataset("new")  # without its file
    del truth["/f/new"]
    copy, asked = nights.spend(2)
    assert copy == truth
    assert [x for x in asked if x.startswith("/f/")] == ["/f/dated", "/f/plain"]

    copy, asked = nights.spend(3)
    assert copy == truth
    assert len(asked) <= int(number), asked
    asked_of = [nights.spend(day)[1] for day in (30, 31)]
    assert ["/f/plain" in asked for asked in asked_of] == [True, False]
