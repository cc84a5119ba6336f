"""The guide that judges the sitemaps of a site does so, on a site on loopback."""

from __future__ import annotations

import csv
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
IN_VAIN = "/gone", "/private", "/moved", "/hidden", "/closed", "/lost"
NOINDEX = "<meta name=robots content=none>"
MAP = "/map.xml"
# Path, value and sitemap of each row after the first run; paths become URLs.
LISTS = {
    "missed": [
        ("/missed", "missing content", ""),
        ("/target", "missing content", ""),
        ("/unlisted", "missing content", ""),
    ],
    "not-found": [("/gone", "404", MAP), ("/none", "404", "")],
    "redirected": [("/moved", "/target", MAP)],
    "blocked": [("/private", "robots_disallowed", MAP)],
    "noindex": [("/closed", "200", MAP), ("/hidden", "200", MAP)],
    "error-pages": [("/lost", "200", MAP)],
    "failed": [],
    "refused": [],
    "not-requested": [],
    "duplicates": [("/p7?print=1", "/p7", MAP)],
    "unclaimed-changes": [],
    "claimed-unchanged": [],
}


class JudgedSite:
    """A site of ten dated pages, of which two say the same, and two more without links.

    Its sitemap misses two of them, and lists in vain: a page that is not found, one
    that `robots.txt` forbids, one that is redirected, two with `noindex`, and one that
    says that there is no such page.
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
        self.says("/hidden", "not for search engines", NOINDEX)
        body, kind = b"<p>not for them, either", "text/html"
        closed = loopback.response(body, kind, X_Robots_Tag="noindex")
        self.server.pages["/closed"] = closed
        self.says("/lost", "", "<h1>Not found</h1>")
        rules = f"User-agent: *\nDisallow: /private\nSitemap: {self.at('/map.xml')}\n"
        self._put("/robots.txt", rules, "text/plain")
        for name in self.days:
            self.changes(name, 1)
        self.server.pages["/p7?print=1"] = self.server.pages["/p7"]

    def _put(self, path: str, body: str, media_type: str = "text/html") -> None:
        self.server.pages[path] = self._loopback.response(body.encode(), media_type)

    def says(self, path: str, text: str, head: str = "") -> None:
        """Serve a page with a text; the front page has links to some others."""
        links = "".join(
            f"<a href='{each}'>more</a>"
            for each in ("/missed", "/unlisted", "/p0", "/none")
            if path == "/"
        )
        words = " ".join(f"{word} {path}" for word in (text * 9).split())
        self._put(path, f"<title>{path}</title>{head}<p>{words}</p>{links}")

    def changes(self, path: str, day: int, *, is_dated: bool = True) -> None:
        """Change a page on a day; its sitemap has the date unless it conceals that."""
        if is_dated:
            self.days[path] = day
        self.says(path, f"day {day} of {path}")
        listed = "".join(
            f"<url><loc>{self.at(name)}</loc><lastmod>2024-01-{day:02}</lastmod></url>"
            for name, day in {
                **self.days,
                **dict.fromkeys(IN_VAIN, 1),
                "/p7?print=1": 1,
            }.items()
        )
        urlset = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}'
        self._put("/map.xml", f"{urlset}</urlset>", "application/xml")


def type_for_site(
    commands: Commands, words: list[str], host: tuple[str, str], folder: Path
) -> None:
    """Run a command about the crawl `sitemap`, with another origin than the page's."""
    names = {"report": str(folder / "report")}
    typed = [names.get(word, word).replace(*host) for word in words[2:]]
    given = {"CRAWL_ID": "sitemap", "REFRESH_EPOCH_SECS": 1}
    result = commands.start(words[1], *typed, folder=folder / "crawl", **given).wait()
    assert result.code == 0, result.stderr


def tables_of(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the tables of a report by their titles, with rows by columns."""
    path = folder / "report" / "report.json"
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


def check_listed(tables: dict[str, list[dict[str, Any]]]) -> None:
    """Check the tables about the sitemap, against the pages of the site."""
    (row,) = tables["Listed URLs by outcome"]
    shown = {name: value_of(row[name]) for name in row}
    expected = {"read": 10, "redirected": 1, "not found": 1, "noindex": 2, "failed": 0}
    assert expected.items() <= shown.items()
    assert (shown["blocked"], shown["refused"], shown["error page"]) == (1, 0, 1)
    assert (shown["listed"], shown["pages read"]) == (16, 13)
    assert shown["of these listed"] == pytest.approx(10 / 13)
    # Requested: these 13 pages, those in vain except /private, and /none.
    coverage = tables["Coverage"][-1]
    assert value_of(coverage["coverage (1)"]) == pytest.approx(15 / 19)


def check_lists(folder: Path, site: JudgedSite, lists: dict[str, Any]) -> None:
    """Check the files of lists, and that each has as many rows as the report says."""

    def full(text: str) -> str:
        return site.at(text) if text.startswith("/") else text

    found = {
        row["file"]: (int(row["URLs"]), int(row["in sitemaps"]))
        for row in rows_of(folder, "url-lists")
    }
    assert found == {
        f"{key}.csv": (len(rows), sum(row[-1] == MAP for row in rows))
        for key, rows in lists.items()
    }
    for key, expected in lists.items():
        rows = [[*row.values()] for row in rows_of(folder, key)]
        assert [(row[0], row[1], row[-1]) for row in rows] == [
            tuple(map(full, row)) for row in expected
        ]


def rows_of(folder: Path, key: str) -> list[dict[str, str]]:
    """Return the rows of a file of a report."""
    with (folder / "report" / f"{key}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def check_names(page: str, tables: dict[str, list[dict[str, Any]]]) -> None:
    """Check that the report has the tables, columns and rows that the guide names."""
    named = re.findall(r"^\| ([A-Z][^|]+) \| ([^|]+) \|", page, re.MULTILINE)
    assert len(named) >= 18
    files = {row["list"]: f"`{row['file']}`" for row in tables["All lists"]}
    for title, names in named:
        if title in files:
            assert names == files[title]
            continue
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
    check_listed(tables)
    (example,) = blocks(page, "python")
    told = subprocess.run(
        [sys.executable, "-W", "error", "-c", example],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )
    named = "missed", "not-found", "redirected", "blocked", "noindex"
    assert [line.split(" ")[:2] for line in told.stdout.splitlines()] == [
        [key, site.at(row[0])]
        for key in named
        for row in LISTS[key]
        if row[-1] or key == "missed"
    ]
    check_lists(tmp_path, site, LISTS)
    for name in ("/p0", "/p1", "/p2"):
        site.changes(name, 20)
    site.changes("/p3", 20, is_dated=False)
    site.days["/p4"] = 20  # nothing changed
    site.changes("/p4", 1, is_dated=False)
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
    assert counted == [4, 4, 3]
    assert value_of(accuracy["precision"]) == 3 / 4
    assert value_of(accuracy["recall of dated pages"]) == 3 / 4
    for key, path, day in (
        ("unclaimed-changes", "/p3", "2024-01-01"),
        ("claimed-unchanged", "/p4", "2024-01-20"),
    ):
        (row,) = rows_of(tmp_path, key)
        wanted = {"URL": site.at(path), "lastmod": day, "sitemap": site.at(MAP)}
        assert wanted.items() <= row.items()
        assert row["fetched"] < row["fetched again"]
