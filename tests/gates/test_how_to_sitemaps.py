"""The guide that judges the sitemaps of a site does so, on a site on loopback."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from tests.support.pages import blocks, commands_in, read_page

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

SITE = "https://example.org"


def judged_site(loopback: Loopback, host: str) -> RawServer:
    """Serve a site whose sitemap lists a page in vain, one twice, and misses two."""
    server = loopback(host=host)
    for name, text in {"/": "a", "/a": "a", "/b": "b", "/c": "c", "/d": "d"}.items():
        links = "".join(f"<a href='{x}'>{x}</a>" for x in ("/c", "/d") if name == "/")
        body = f"<title>{name}</title><p>{text * 40}</p>{links}".encode()
        server.pages[name] = loopback.response(body, "text/html")
    server.pages["/b?print=1"] = server.pages["/b"]
    listed = "".join(
        f"<url><loc>{server.url(x)}</loc><lastmod>2024-01-01</lastmod></url>"
        for x in ("/", "/a", "/b", "/b?print=1", "/gone")
    )
    urlset = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}'
    body = f"{urlset}</urlset>".encode()
    server.pages["/sitemap.xml"] = loopback.response(body, "application/xml")
    return server


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


def test_sitemaps_of_a_site_are_judged(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If a site is crawled as the guide says, then its tables show the errors."""
    page = read_page("judge-sitemaps.md")
    typed = commands_in(page)
    site = judged_site(loopback, "127.81.12.1")
    host = SITE, site.url("").rstrip("/")
    (tmp_path / "crawl").mkdir()
    again = [words[1] for words in typed].index("refresh")
    for words in typed[:again]:
        type_for_site(commands, words, host, tmp_path)
    table = tables_of(tmp_path)
    for name in re.findall(r"^\| ([A-Z][^|]+) \| ", page, re.MULTILINE):
        assert name in table, name
    missed = table["What sitemaps miss"][0]
    assert missed["missed content"] == 2
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
        site.url("/c"),
        site.url("/d"),
    ]
    site.pages["/a"] = loopback.response(b"<p>changed</p>", "text/html")
    time.sleep(1)  # until the next epoch
    for words in typed[again:]:
        type_for_site(commands, words, host, tmp_path)
    accuracy = tables_of(tmp_path)["Accuracy of lastmod"][0]
    assert (accuracy["claimed"], accuracy["changed"]) == (0, 1)
