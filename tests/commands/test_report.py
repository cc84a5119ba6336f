"""`scrapy report`: from the logs of a crawl to the page."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.namespaces import DCTERMS, RC
from tests.support.command_forks import scrapy
from tests.support.url_events import (
    T0,
    DocumentStored,
    LinksFound,
    ListedUrl,
    SitemapRead,
    UrlEvent,
    UrlFetched,
    write_events,
)

if TYPE_CHECKING:
    from pathlib import Path

DAY_MS = 86_400_000
SITE, OTHER = "http://a.example", "http://b.example"


def events() -> list[UrlEvent]:
    """Return the events of three pages of one site, and of one of another.

    The sitemap lists 1 and 2, which have the same text; 2 is linked a day later; 3 is
    only linked, and fails.
    """
    pages = [f"{SITE}/{n}" for n in (1, 2, 3)]
    sitemap = f"{SITE}/sitemap.xml"
    named = (("foundBy", "robots"), ("sitemapFormat", "xml"), ("task", "sitemap()"))
    listed = ("parent", sitemap), ("source", "sitemap")
    text = (("textHash", "0" * 32), *listed)
    front = ("parent", f"{OTHER}/sitemap.xml"), listed[1]
    return [
        UrlFetched(sitemap, T0, facts=named),
        SitemapRead(sitemap, T0, (ListedUrl(pages[0]), ListedUrl(pages[1]))),
        UrlFetched(pages[0], T0 + DAY_MS, facts=text),
        LinksFound(pages[0], T0 + DAY_MS, ("HTTP://A.example:80/2#x", pages[2])),
        UrlFetched(pages[1], T0 + DAY_MS, facts=text),
        UrlFetched(
            *(pages[2], T0 + DAY_MS, 404),
            fault=Reason.NOT_FOUND,
            facts=(("parent", pages[0]),),
        ),
        UrlFetched(f"{OTHER}/", T0 + DAY_MS, facts=front),
        UrlFetched(f"{OTHER}/sitemap.xml", T0, facts=named),
        SitemapRead(f"{OTHER}/sitemap.xml", T0, (ListedUrl(f"{OTHER}/"),)),
    ]


def report(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return scrapy("report", f"-sCRAWL_DIR={folder}", *words)


def rows_of(path: Path) -> dict[str, dict[str, str]]:
    """Return the rows of a table by their first column."""
    with path.open(newline="") as file:
        return {next(iter(row.values())): row for row in csv.DictReader(file)}


def test_report_of_all_sites_and_of_one(tmp_path: Path) -> None:
    """If a crawl has logs, then its report counts them, for all sites or for one."""
    write_events(tmp_path / "one", events())
    done = report(tmp_path)
    folder = tmp_path / "one" / "report"
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{folder / 'report.html'}\n"
    sizes = rows_of(folder / "sizes.csv")
    assert [sizes[way]["seen"] for way in ("all", "in sitemaps", "by links")] == [
        *("4", "3", "2"),
    ]
    assert sizes["all"]["distinct"] == "3"
    coverage = rows_of(folder / "coverage.csv")
    assert set(coverage) == {"all sites", "a.example", "b.example"}
    assert coverage["a.example"]["coverage (1) numerator"] == "2"
    assert coverage["a.example"]["coverage (1) denominator"] == "3"
    # Of two pages with equal in-links, one is listed; nothing links to the others.
    assert coverage["a.example"]["PageRank coverage (4)"] == "0.5"
    assert coverage["b.example"]["PageRank coverage (4)"] == "-"
    assert len((folder / "figure-5a.csv").read_text().splitlines()) == 2
    first = rows_of(folder / "first-seen.csv")["all sites"]
    assert (first["SeenDelta (6), s"], first["sitemaps first"]) == ("86400", "1")
    assert rows_of(folder / "table-1.csv")["xml"]["share denominator"] == "3"
    lines = (folder / "sitemaps.csv").read_text().splitlines()
    assert lines[1:] == ["a.example,1,0,-,0,0", "b.example,1,0,-,0,0"]
    assert rows_of(folder / "faults.csv")["not_found"]["example"] == f"{SITE}/3"

    other = tmp_path / "other"
    words = (
        "--site",
        "http://WWW.B.example:80/x",
        "--since",
        "2026-09-21",
        "--to",
        str(other),
    )
    assert report(tmp_path, *words).returncode == 0
    assert set(rows_of(other / "coverage.csv")) == {"all sites", "b.example"}
    assert set(rows_of(other / "slow-hosts.csv")) <= {"b.example"}
    told = json.loads((other / "report.json").read_text())["scope"]
    assert told.startswith(
        "The site b.example; first sightings and requests since 2026"
    )


def test_a_report_again_reads_no_log_and_writes_no_file(tmp_path: Path) -> None:
    """If nothing has changed since the last report, then none of its sources is read.

    An hour, one byte more, a missing file or other words make it again.
    """
    root = tmp_path / "one"
    folder = root / "report"
    write_events(root, events())
    assert report(tmp_path).returncode == 0
    contents = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    changed = {path: path.stat().st_mtime_ns for path in contents}
    sources = [path for path in contents if path.suffix in {".gz", ".seg", ".bin"}]
    assert {path.parent.name for path in sources} == {
        *("quads", "provenance", "links", "urldb", "ranks"),
    }
    for path in sources:
        path.write_bytes(bytes(len(contents[path])))
        os.utime(path, ns=(0, changed[path]))
    done = report(tmp_path)
    assert (done.stdout, done.stderr) == (f"{folder / 'report.html'}\n", "")
    assert {path: path.stat().st_mtime_ns for path in contents} == changed

    for path in sources:
        path.write_bytes(contents[path])
        os.utime(path, ns=(0, changed[path]))
    (folder / "sizes.csv").unlink()
    assert report(tmp_path).returncode == 0
    others = {path.name for path in contents if path.read_bytes() != contents[path]}
    # These have the time at which they are made.
    assert others <= {".state", "report.html", "report.json", "freshness.csv"}
    digest, made, *names = (folder / ".state").read_text().split("\n")
    an_hour_ago = [digest, str(int(made) - 3_600_000), *names]
    (folder / ".state").write_text("\n".join(an_hour_ago))
    before = (folder / "sizes.csv").stat().st_mtime_ns
    assert report(tmp_path).returncode == 0
    assert (folder / "sizes.csv").stat().st_mtime_ns > before
    write_events(root, [UrlFetched(f"{OTHER}/new", T0 + 2 * DAY_MS)], "x")
    assert report(tmp_path).returncode == 0
    assert rows_of(folder / "sizes.csv")["all"]["seen"] == "5"
    assert report(tmp_path, "--site", "b.example").returncode == 0
    assert rows_of(folder / "sizes.csv")["all"]["seen"] == "2"


def test_wrong_values_of_sitemaps_are_ignored(tmp_path: Path) -> None:
    """If a document states wrong values by the terms of sitemaps, they are ignored."""
    wrong = "abc", "0,5", "nan", "1e999", "-1.0", "1.5", "0001-01-01T00:00+14:00"
    names = f"{RC}priority", f"{RC}changefreq", f"{DCTERMS}modified"
    lines = []
    for n, value in enumerate(wrong):
        lines.append(f"<{SITE}/> <{RC}lists> <{SITE}/{n}>")
        lines += [f'<{SITE}/{n}> <{name}> "{value}"' for name in names]
    stored = DocumentStored(f"{SITE}/", T0, tuple(lines))
    pages = [UrlFetched(f"{SITE}/{n}", T0) for n in range(len(wrong))]
    write_events(tmp_path / "one", [stored, *pages])
    done = report(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    usage = rows_of(tmp_path / "one" / "report" / "usage.csv")
    for name in ("priority", "lastmod"):
        row = usage[f"listings with {name}"]
        assert (row["value numerator"], row["value denominator"]) == ("0", "7")


def test_missing_reports_are_explained(tmp_path: Path) -> None:
    """If there is no crawl, or an option is wrong, then one line says so."""
    write_events(tmp_path / "a" / "one", events())
    none, a = tmp_path / "none", tmp_path / "a"
    for folder, *words in (
        *((none,), (none, "site"), (none, "--since", "soon"), (none, "--site", "a b")),
        (a, "--site", "elsewhere.example"),
    ):
        done = report(folder, *words)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1


def test_report_that_was_killed_is_made_again(tmp_path: Path) -> None:
    """If `kill -9` ends a report while it writes, then the next one is complete."""
    root = tmp_path / "one"
    write_events(root, events())
    assert report(tmp_path).returncode == 0
    page = root / "report" / "report.html"
    before, made = rows_of(page.with_name("sizes.csv")), page.stat().st_mtime_ns
    write_events(root, [UrlFetched(f"{OTHER}/new", T0 + 2 * DAY_MS)], "x")
    words = "-m", "rdfcrawl", "report", f"-sCRAWL_DIR={tmp_path}"
    with subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE) as process:
        while process.poll() is None and page.stat().st_mtime_ns == made:
            time.sleep(0.0005)
        process.kill()
    assert report(tmp_path).returncode == 0
    after = rows_of(page.with_name("sizes.csv"))
    assert (before["all"]["seen"], after["all"]["seen"]) == ("4", "5")
    assert json.loads(page.with_suffix(".json").read_text())["sections"]
    leftovers = [path for path in page.parent.iterdir() if "draft" in path.name]
    assert not leftovers
