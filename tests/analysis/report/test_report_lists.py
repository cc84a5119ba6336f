"""Lists of URLs as CSV, read back by Python and by DuckDB."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Final

import duckdb
import pytest

from rdfcrawl.analysis.measures.first_seen import ALL_TIMES
from rdfcrawl.analysis.measures.uri_facts import UriFacts, UriFetch, UriListing
from rdfcrawl.analysis.report.activities import ActivityCounts
from rdfcrawl.analysis.report.domains import DomainFacts, gather
from rdfcrawl.analysis.report.making import make_report
from rdfcrawl.analysis.report.url_lists import UrlLists
from rdfcrawl.analysis.report.writing import write_report
from rdfcrawl.core.sorting import SpillFolder

if TYPE_CHECKING:
    from pathlib import Path

DAY_MS: Final = 86_400_000
ENDINGS: Final = {
    "a,b;c|d": "",
    '"quoted" "': "",
    "'": "",
    "'=1": "",
    "\\": "",
    '\\",': "",
    "%0A%2C": "",
    "#x": "",
    "ü🜨": "",
    "a\nb\r\nc": "a\\u000ab\\u000d\\u000ac",
    "\x00\x1b[31m": "\\u0000\\u001b[31m",
    "\u202egnp": "\\u202egnp",
    "\ud800": "\\ud800",
    "=cmd|' /C calc'!A0": "",
    "x" * 5000: "",
}
"""Ends of URLs, with the text that is shown; empty: the same."""
FORMULAS: Final = ("=cmd|' /C calc'!A0", "+1+1", "-1", "@SUM(A1)", '=HYPERLINK("x")')


def page(url: str, linked_by: str) -> UriFacts:
    """Return a listed page that is not found."""
    listing = UriListing(sitemap=f"{url}map", first_ms=DAY_MS)
    lost = UriFetch(started_ms=DAY_MS, status="FAILED", http_status=404)
    return UriFacts(
        domain="a.example",
        url=url,
        listings=(listing,),
        linked_by=linked_by,
        first_linked_ms=DAY_MS,
        fetches=(lost,),
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the CSV file of the pages that are not found."""
    folder = tmp_path_factory.mktemp("report")
    pages = [page(f"http://a.example/{x}", f"http://b.example/{x}") for x in ENDINGS]
    pages += [page(x, x) for x in FORMULAS]
    with SpillFolder(folder) as spills:
        sites = gather([DomainFacts("a.example", pages)], ALL_TIMES, UrlLists(spills))
        report = make_report(sites, ActivityCounts(), title="t", scope="s")
        write_report(report, folder)
    return folder / "not-found.csv"


def expected() -> list[tuple[str, str, str]]:
    """Return the URL, the page that links to it, and its sitemap."""
    rows = []
    for end, shown in ENDINGS.items():
        url = f"a.example/{shown or end}"
        rows.append((f"http://{url}", f"http://b{url[1:]}", f"http://{url}map"))
    return rows + [(f"'{x}", f"'{x}", f"'{x}map") for x in FORMULAS]


def test_lists_are_read_by_python(path: Path) -> None:
    """If URLs have commas, quotes, ends of lines or formulas, then `csv` reads them."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(x["URL"], x["linked by"], x["sitemap"]) for x in rows] == expected()
    assert {(x["status"], x["requested"]) for x in rows} == {
        ("404", "1970-01-02T00:00:00Z")
    }


def test_lists_are_read_by_duckdb(path: Path) -> None:
    """If URLs have commas, quotes, ends of lines or formulas, then DuckDB reads them.

    Times and numbers have their types.
    """
    rows = duckdb.execute(
        f'SELECT URL, "linked by", sitemap, status + 0, requested + INTERVAL 1 DAY'
        f" FROM read_csv('{path}')"
    ).fetchall()
    assert [row[:3] for row in rows] == expected()
    assert {row[3] for row in rows} == {404}
    assert {str(row[4])[:10] for row in rows} == {"1970-01-03"}
