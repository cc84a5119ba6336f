"""Reports of crawls over many days say what is counted from the bodies that were read.

A crawler of a few lines passes over sites that change, on five days: it reads sitemaps,
follows links, and writes the logs of a crawl. Beside these, what it saw is kept in
dicts, from which each number of the report is counted.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from statistics import mean
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from rdfcrawl.analysis.report.making import report_crawl
from rdfcrawl.analysis.report.writing import iter_json
from rdfcrawl.analysis.urldb.building import build
from rdfcrawl.core.errors import Reason
from rdfcrawl.core.sorting import SpillFolder
from rdfcrawl.dataweb.evolution.parameters import LastmodBehaviour, SitemapLayout
from rdfcrawl.uri import NormalForm
from tests.analysis.report.test_report_truth import ratio, tables_of
from tests.support.evolving_sites import site
from tests.support.site_reader import FORMATS, SiteReader
from tests.support.url_events import (
    UrlFetched,
    write_events,
)

if TYPE_CHECKING:
    from pathlib import Path


DAYS = 0.5, 1.5, 4.25, 5.0, 9.0
SEEDS = 1, 2, *(pytest.param(seed, marks=pytest.mark.soak) for seed in (3, 4))
COMMON: dict[str, Any] = {
    "n_pages": 30,
    "births": 3.0,
    "lag_days": 2.0,
    "vanishing": 0.03,
    "duplicates": 0.4,
    "near": 0.0,
    "per_sitemap": 12,
    "has_index": False,
    "has_canonical": False,
}
SITES: list[dict[str, Any]] = [
    {"has_changefreq": True},
    # Of a URL, 16 listings and 16 claims are kept: it must not change often.
    {"has_priority": True, "layouts": (SitemapLayout.LOG,), "rates": (0.0, 0.1, 0.6)},
    {"lastmods": (LastmodBehaviour.LATE,), "delay_days": 1.0},
    {"lastmods": (LastmodBehaviour.NOW,), "layouts": (SitemapLayout.REWRITTEN,)},
    {"lastmods": (LastmodBehaviour.ABSENT,), "n_pages": 10},
]
WAYS = "robots", "ping", "index", "operator", "guess"  # of the sitemaps of each site


class DaysReport(NamedTuple):
    """A report with its lists of URLs, and the observations of its crawler."""

    tables: dict[str, dict[str, dict[str, Any]]]
    figures: dict[str, list[list[tuple[float, float, float, int]]]]
    lists: dict[str, list[dict[str, Any]]]
    sites: list[SiteReader]


@pytest.fixture(scope="module", params=SEEDS)
def days(request: pytest.FixtureRequest, tmp_path_factory: Any) -> DaysReport:
    """Return a report of sites of one seed."""
    root: Path = tmp_path_factory.mktemp("days")
    sites = []
    for n, (own, way) in enumerate(zip(SITES, WAYS, strict=True)):
        seed = 10 * request.param + n
        node = site(f"127.0.0.{n + 1}", **COMMON | {"seed": seed} | own)
        reader = SiteReader(node, way)
        for day in DAYS:
            reader.crawl(day)
        sites.append(reader)
    lost = UrlFetched(
        "http://127.0.0.1/lost.xml",
        sites[0].ms(1),
        404,
        fault=Reason.NOT_FOUND,
        facts=(("foundBy", "robots"), ("task", "sitemap()")),
    )
    write_events(root, [lost, *(event for each in sites for event in each.events)])
    build(root, NormalForm())
    with SpillFolder(root) as spills:
        crawled = report_crawl(root, spills=spills)
        report = json.loads("".join(iter_json(crawled)))
    items = [item for section in report["sections"] for item in section["items"]]
    figures = {
        item["key"]: [
            [(p["x"], p["y"], p["weight"], p["n"]) for p in each["points"]]
            for each in item["series"]
        ]
        for item in items
        if item["type"] != "table"
    }
    lists = {
        item["key"]: [dict(zip(item["columns"], x, strict=True)) for x in item["rows"]]
        for item in items
        if item["type"] == "table"
    }
    return DaysReport(tables_of(report), figures, lists, sites)


def test_formats_are_counted(days: DaysReport) -> None:
    """If sitemaps of four formats and a lost one were read, table 1 counts listings."""
    numbers = Counter(
        FORMATS[int(url.rpartition("-")[2].removesuffix(".xml")) % len(FORMATS)]
        for each in days.sites
        for url, entries in each.said.items()
        for _ in entries
    )
    numbers["unknown"] = 1
    rows = days.tables["table-1"]
    found = {name: ratio(row["share"]) for name, row in rows.items()}
    assert found == {name: (n, numbers.total()) for name, n in numbers.items()}
    assert len(found) == 5


def test_what_sitemaps_state_is_counted(days: DaysReport) -> None:
    """If entries have lastmod, changefreq or priority, their shares are counted."""
    lists = [said for each in days.sites for said in each.said.values()]
    entries = [entry for said in lists for entry in said.values()]
    rows = days.tables["usage"]
    for place, name in enumerate(("lastmod", "changefreq", "priority")):
        n_stated = sum(bool(entry[place]) for entry in entries)
        cell = rows[f"listings with {name}"]["value"]
        assert ratio(cell) == (n_stated, len(entries))
        assert 0 < n_stated < len(entries)


def test_sitemaps_are_described(days: DaysReport) -> None:
    """If sitemaps are read again, then those that never changed are counted."""
    for each in days.sites:
        row = days.tables["sitemaps"][each.domain]
        again = [lists for lists in each.lists.values() if len(lists) > 1]
        is_first = each is days.sites[0]
        assert row["sitemaps"] == len(each.lists) + is_first
        assert row["reread"] == len(again)
        n_same = sum(len(set(lists)) == 1 for lists in again)
        assert ratio(row["log-like"]) == (n_same, len(again))


def test_census_is_counted(days: DaysReport) -> None:
    """If pages are in sitemaps or not, and have duplicates, then they are counted."""
    rows = days.tables["census"]
    for each in days.sites:
        assert list(rows[each.domain].values())[1:] == each.census()
    sums = [
        sum(numbers) for numbers in zip(*(x.census() for x in days.sites), strict=True)
    ]
    assert list(rows["all sites"].values())[1:] == sums
    assert all(sums)


def test_lists_have_the_urls_behind_the_numbers(days: DaysReport) -> None:
    """If pages are missed, lost or copied, then lists have each of them once.

    The number of rows is that of the table, and listed URLs come first.
    """
    listed = set[str]().union(*(each.listed_now for each in days.sites))
    bodies = {u: r[-1].body for each in days.sites for u, r in each.reads.items()}
    lost = {url for url, body in bodies.items() if not body}
    for key in ("not-found", "not-requested", "missed", "duplicates"):
        rows = days.lists[key]
        files = {row["file"]: row for row in days.lists["url-lists"]}
        counted = files[f"{key}.csv"]
        is_listed = [bool(row["sitemap"]) for row in rows]
        assert (counted["URLs"], counted["in sitemaps"]) == (len(rows), sum(is_listed))
        assert is_listed == sorted(is_listed, reverse=True)
        assert [row["URL"] in listed for row in rows] == is_listed
        assert len({row["URL"] for row in rows}) == len(rows) > 0
    assert {row["URL"] for row in days.lists["not-found"]} == lost
    found = {row["URL"] for row in days.lists["not-requested"]}
    assert found == listed - bodies.keys()
    copies = {row["URL"]: row["represented by"] for row in days.lists["duplicates"]}
    originals = Counter((urlsplit(u).netloc, b) for u, b in bodies.items() if b)
    assert len(copies) == originals.total() - len(originals)
    assert all(bodies[url] == bodies[other] for url, other in copies.items())
    missed = {row["URL"] for row in days.lists["missed"]}
    assert missed == bodies.keys() - listed - lost - copies.keys()


def test_lists_have_all_wrong_dates(days: DaysReport) -> None:
    """If a listed page changes without a claim, or the reverse, lists have it."""
    expected: dict[bool, Counter[tuple[str, str]]] = {True: Counter(), False: Counter()}
    for each in days.sites:
        for url, begin, end, is_changed, is_claimed in each.intervals_of_urls():
            is_judged = is_claimed or each.was_judged(url, begin, end)
            if is_changed is not is_claimed and is_judged:
                at = f"{datetime.fromtimestamp(end // 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"
                expected[is_changed][url, at] += 1
    for key, is_changed in (("unclaimed-changes", True), ("claimed-unchanged", False)):
        rows = days.lists[key]
        found = Counter((row["URL"], row["fetched again"]) for row in rows)
        assert found == expected[is_changed]
        assert all(row["fetched"] < row["fetched again"] for row in rows)
    assert {row["lastmod"][:2] for row in days.lists["claimed-unchanged"]} == {"20"}
    assert "" in {row["lastmod"] for row in days.lists["unclaimed-changes"]}


def test_sites_without_names_are_counted(days: DaysReport) -> None:
    """If sites are at IP addresses, then these have no top-level domain."""
    rows = days.tables["usage"]
    assert rows["sites with sitemaps at IP addresses"]["value"] == len(SITES)
    assert rows["sites with sitemaps elsewhere"]["value"] == 0


def test_lastmods_are_judged(days: DaysReport) -> None:
    """If pages are fetched again, precision and recall are of the last 200 times."""
    for each in days.sites:
        last = sorted(each.intervals())[-200:]
        # Of those that ended together at the limit, any may count.
        ends = [end for end, *_ in sorted(each.intervals())]
        assert len(ends) <= 200 or ends[-200] != ends[-201]
        n_changed = sum(is_changed for _, is_changed, _ in last)
        n_claimed = sum(is_claimed for *_, is_claimed in last)
        n_both = sum(changed and claimed for _, changed, claimed in last)
        row = days.tables["lastmod"][each.domain]
        assert (row["refetches"], row["claimed"]) == (len(last), n_claimed)
        assert (row["content changed"], row["both"]) == (n_changed, n_both)
        assert ratio(row["precision"]) == (n_both, n_claimed)
        assert ratio(row["recall"]) == (n_both, n_changed)
        assert 0 < n_changed < len(last)


def test_copies_are_judged(days: DaysReport) -> None:
    """If pages are fetched again, then the share of fresh copies is counted."""
    for each in days.sites:
        changed = [is_changed for _, is_changed, _ in each.intervals()]
        row = days.tables["copies"][each.domain]
        assert row["content changed"] == sum(changed)
        assert ratio(row["fresh"]) == (len(changed) - sum(changed), len(changed))


def test_first_sights_are_counted(days: DaysReport) -> None:
    """If URLs are seen both ways, then formula (6) and who was first are counted."""
    for each in days.sites:
        row, deltas = days.tables["first-seen"][each.domain], each.deltas()
        assert row["SeenDelta (6), s"] == sum(deltas)
        assert row["mean, s"]["value"] == pytest.approx(mean(deltas), rel=1e-15)
        assert row["sitemaps first"] == sum(delta > 0 for delta in deltas)
        assert row["links first"] == sum(delta < 0 for delta in deltas)
        assert row["same second"] == sum(delta == 0 for delta in deltas)
    everything = [delta for each in days.sites for delta in each.deltas()]
    assert days.tables["first-seen"]["all sites"]["SeenDelta (6), s"] == sum(everything)
    assert min(everything) < 0 < max(everything)


def test_figure_2_is_counted(days: DaysReport) -> None:
    """If URLs are first seen on several days, then columns are their numbers."""
    for way, found in zip(("listed", "linked"), days.figures["figure-2"], strict=True):
        numbers = Counter(
            ms // 86_400_000
            for each in days.sites
            for ms in getattr(each, way).values()
        )
        assert {x: y for x, y, _, _ in found} == numbers
        assert len(numbers) == len(DAYS)


def test_figure_6_is_counted(days: DaysReport) -> None:
    """If URLs are seen both ways, then dots are the numbers of their pairs of days."""
    numbers = Counter(
        (each.listed[url] // 86_400_000, each.linked[url] // 86_400_000)
        for each in days.sites
        for url in each.both
    )
    (found,) = days.figures["figure-6"]
    assert {(x, y): weight for x, y, weight, _ in found} == numbers
    assert len(numbers) > len(DAYS)


def test_figure_7_is_counted(days: DaysReport) -> None:
    """If sitemaps came by ping, also in an index that did, then their URLs did."""
    numbers = Counter(
        (
            each.listed[url] // 1000 < each.linked[url] // 1000,
            each.way in ("ping", "index"),
        )
        for each in days.sites
        for url in each.both
    )
    rows = days.tables["figure-7-shares"]
    for name, is_first in (("first named by sitemaps", True), ("not first", False)):
        for column, is_by_ping in (("with ping", True), ("without ping", False)):
            cell = rows[name][column]
            assert ratio(cell) == (numbers[is_first, is_by_ping], numbers.total())
    for place, is_by_ping in enumerate((True, False)):
        shares = [numbers[x, is_by_ping] / numbers.total() for x in (True, False)]
        assert [y for _, y, _, _ in days.figures["figure-7"][place]] == shares
        assert min(shares) > 0
        n_first, n_later = numbers[True, is_by_ping], numbers[False, is_by_ping]
        cell = rows["share that sitemaps named first"][
            ("with ping", "without ping")[place]
        ]
        assert ratio(cell) == (n_first, n_first + n_later)
