"""The guide that judges the sitemaps of a site does so, on a site on loopback."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.pages import blocks, commands_in, read_page

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

SITE = "https://example.org"


class JudgedSite:
    """A site of ten dated pages, of which two say the same, and two more without links.

    Its sitemap misses two of them, and lists in vain: a page that is not found, one
    that `robots.txt` forbids, and one that is redirected.
    """

    def __init__(self, loopback: Loopback, host: str) -> None:
        self._loopback = loopback
        self.server = loopback(host=host)
        self.at = self.server.url
        self.days = dict.fromkeys(["/", *(f"/p{n}" for n in range(8))], 1)
        self.says("/missed", "one that the sitemap misses")
        self.says("/unlisted", "another one, which it misses, too")
        moved = loopback.response(status="301 Moved Permanently", Location="/target")
        self.server.pages["/moved"] = moved
        self.says("/target", "a page that only a redirect leads to")
        rules = f"User-agent: *\nDisallow: /private\nSitemap: {self.at('/map.xml')}\n"
        self._put("/robots.txt", rules, "text/plain")
        for name in self.days:
            self.changes(name, 1)
        self.says("/p7?print=1", "day 1 of /p7")

    def _put(self, path: str, body: str, media_type: str = "text/html") -> None:
        self.server.pages[path] = self._loopback.response(body.encode(), media_type)

    def says(self, path: str, text: str) -> None:
        """Serve a page with a text; the front page has links to some others."""
        links = "".join(
            f"<a href='{each}'>more</a>"
            for each in ("/missed", "/unlisted", "/p0", "/none")
            if path == "/"
        )
        words = " ".join(f"{word} {path}" for word in (text * 9).split())
        self._put(path, f"<title>{path}</title><p>{words}</p>{links}")

    def changes(self, path: str, day: int, *, is_dated: bool = True) -> None:
        """Change a page on a day; its sitemap has the date unless it conceals that."""
        if is_dated:
            self.days[path] = day
        self.says(path, f"day {day} of {path}")
        listed = "".join(
            f"<url><loc>{self.at(name)}</loc><lastmod>2024-01-{day:02}</lastmod></url>"
            for name, day in {
                **self.days,
                "/p7?print=1": 1,
                "/gone": 1,
                "/private": 1,
                "/moved": 1,
            }.items()
        )
        urlset = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}'
        self._put("/map.xml", f"{urlset}</urlset>", "application/xml")


def type_for_site(
    commands: Commands, words: list[str], host: tuple[str, str], folder: Path
) -> None:
    """Run a command about the crawl `sitemap`, with another origin than the page's."""
    names = {"urls.parquet": str(folder / "urls.parquet")}
    typed = [names.get(word, word).replace(*host) for word in words[1:]]
    given = {"CRAWL_ID": "sitemap", "REFRESH_EPOCH_SECS": 1}
    result = commands.start(*typed, folder=folder / "crawl", **given).wait()
    assert result.code == 0, result.stderr


def tables_of(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the tables of a report by their titles, with rows by columns."""
    path = folder / "crawl" / "sitemap" / "report" / "report.json"
    items = [x for y in json.loads(path.read_text())["sections"] for x in y["items"]]
    return {
        each["title"]: [
            dict(zip(each["columns"], x, strict=True)) for x in each["rows"]
        ]
        for each in items
        if each["type"] == "table"
    }


def value_of(cell: Any) -> Any:
    """Return the value of a cell, of a ratio its share."""
    return cell["value"] if isinstance(cell, dict) else cell


def check_listed(tables: dict[str, list[dict[str, Any]]], site: JudgedSite) -> None:
    """Check the tables about the sitemap, against the pages of the site."""
    (row,) = tables["Listed URLs by outcome"]
    shown = {name: value_of(row[name]) for name in row}
    expected = {"read": 10, "redirected": 1, "not found": 1, "refused": 1, "failed": 0}
    assert expected.items() <= shown.items()
    assert (shown["listed"], shown["pages read"]) == (13, 13)
    assert shown["of these listed"] == pytest.approx(10 / 13)
    vain = {each["URL"]: each for each in tables["Listed in vain"]}
    reasons = {
        "/gone": "404",
        "/private": "robots_disallowed",
        "/moved": site.at("/target"),
    }
    assert {url: each["detail"] for url, each in vain.items()} == {
        site.at(name): detail for name, detail in reasons.items()
    }
    assert {each["sitemap"] for each in vain.values()} == {site.at("/map.xml")}
    # Requested: the 13 pages, /moved, /gone and /none.
    coverage = tables["Coverage"][-1]
    assert value_of(coverage["coverage (1)"]) == pytest.approx(12 / 16)
    assert tables["What sitemaps miss"][-1]["missed content"] == 3  # with /none


def check_names(page: str, tables: dict[str, list[dict[str, Any]]]) -> None:
    """Check that the report has the tables, columns and rows that the guide names."""
    named = re.findall(r"^\| ([A-Z][^|]+) \| ([^|]+) \|", page, re.MULTILINE)
    assert len(named) >= 12
    for title, names in named:
        rows = tables[title]
        shown = " ".join([*rows[0], *(str(next(iter(x.values()))) for x in rows)])
        for name in names.partition(", of ")[0].split(", "):
            assert name in shown, (title, name)


def test_sitemaps_of_a_site_are_judged(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If a site is crawled as the guide says, then its tables show the errors.

    Its dates are judged by the changes that they claim, and by those they conceal; and
    no page is requested twice.
    """
    page = read_page("judge-sitemaps.md")
    typed = commands_in(page)
    site = JudgedSite(loopback, "127.81.12.1")
    host = SITE, site.at("").rstrip("/")
    (tmp_path / "crawl").mkdir()
    again = next(n for n, words in enumerate(typed) if "REVISITS=refresh" in words)
    for words in typed[:again]:
        type_for_site(commands, words, host, tmp_path)
    tables = tables_of(tmp_path)
    check_listed(tables, site)
    (example,) = blocks(page, "python")
    told = subprocess.run(
        [sys.executable, "-W", "error", "-c", example],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert [line.split(" is linked by ")[0] for line in told.stdout.splitlines()] == [
        site.at("/missed"),
        site.at("/unlisted"),
    ]
    for name in ("/p0", "/p1", "/p2"):
        site.changes(name, 20)
    site.changes("/p3", 20, is_dated=False)
    n_requests = len(site.server.targets)
    time.sleep(1)  # until the next epoch
    for words in typed[again:]:
        type_for_site(commands, words, host, tmp_path)
    requested = Counter(site.server.targets[n_requests:])
    assert requested["/map.xml"] == 1
    assert {name: requested[name] for name in site.days} == dict.fromkeys(site.days, 1)
    tables = tables_of(tmp_path)
    check_names(page, tables)
    accuracy = tables["Accuracy of lastmod"][0]
    counted = [accuracy[name] for name in ("claimed", "content changed", "both")]
    assert counted == [3, 4, 3]
    assert value_of(accuracy["precision"]) == 1
    assert value_of(accuracy["recall of dated pages"]) == 3 / 4
