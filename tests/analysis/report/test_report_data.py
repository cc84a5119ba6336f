"""The report of a dozen URLs and a few activities, counted by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.analysis.measures.domain_clusters import MissedClass
from rdfcrawl.analysis.measures.first_seen import ALL_TIMES, SamplingPeriod
from rdfcrawl.analysis.measures.ratio import MeasuredRatio
from rdfcrawl.analysis.measures.uri_facts import SitemapFacts
from rdfcrawl.analysis.report.activities import ActivityCounts
from rdfcrawl.analysis.report.content import (
    MAX_BINS,
    MAX_DOTS,
    MAX_ROWS,
    AxisScale,
    PointCloud,
    ReportFigure,
    ReportTable,
    day_columns,
    day_dots,
    days_of_bin,
)
from rdfcrawl.analysis.report.domains import DomainFacts, SiteFigures, gather
from rdfcrawl.analysis.report.making import group_by_domain, make_report
from tests.support.report_facts import (
    FIRST_DAY,
    SITE_B,
    activity,
    at,
    both_sites,
    uri,
)

if TYPE_CHECKING:
    from rdfcrawl.analysis.report.content import CrawlReport
    from rdfcrawl.stores.provenance.records import Activity


def report_of(sites: SiteFigures, counts: ActivityCounts | None = None) -> CrawlReport:
    """Return the report of some sites."""
    return make_report(sites, counts or ActivityCounts(), title="t", scope="s")


def item(report: CrawlReport, key: str) -> ReportFigure | ReportTable:
    """Return the figure or table of a name."""
    return next(each for each in report.items if each.key == key)


def table(report: CrawlReport, key: str) -> ReportTable:
    """Return the table of a name."""
    found = item(report, key)
    assert isinstance(found, ReportTable)
    return found


def points(report: CrawlReport, key: str) -> list[list[tuple[float, float, float]]]:
    """Return x, y and weight of the points of each series of a figure."""
    found = item(report, key)
    assert isinstance(found, ReportFigure)
    return [[(p.x, p.y, p.weight) for p in each.points] for each in found.series]


@pytest.fixture(scope="module")
def report() -> CrawlReport:
    """Return the report of both sites."""
    return report_of(gather(both_sites(), ALL_TIMES))


def test_coverage_figures_by_hand(report: CrawlReport) -> None:
    """If sites are counted by hand, then figures 3 to 5 have the same dots.

    Of a.example 7 URLs are crawled, 4 listed; 6 distinct, 4 listed; 3 useful, all
    listed; PageRank 1, half of it listed. Of b.example nothing is listed, and nothing
    has PageRank.
    """
    assert points(report, "figure-3") == [[(9, 4 / 6, 9), (3, 0, 3)]]
    assert points(report, "figure-4") == [[(4 / 7, 4 / 6, 9), (0, 0, 3)]]
    assert points(report, "figure-5a") == [[(9, 0.5, 9)]]
    assert points(report, "figure-5b") == [[(4 / 6, 1, 9), (0, 0, 3)]]


def test_coverage_table_by_hand(report: CrawlReport) -> None:
    """If sites are counted by hand, then the table has the same ratios."""
    everything, first, second = table(report, "coverage").rows
    ratio = MeasuredRatio
    assert first == (
        *("a.example", 9, ratio(4, 7), ratio(4, 6), ratio(3, 3), ratio(0.5, 1.0)),
        *(ratio(6, 9), ratio(4, 5), ratio(6, 7), ratio(4, 4), ratio(6, 6)),
        1.5,
    )
    assert second[2:6] == (ratio(0, 2), ratio(0, 2), ratio(0, 2), ratio(0, 0))
    assert everything[:4] == ("all sites", 12, ratio(4, 9), ratio(4, 8))


def test_sizes_and_summary_by_hand(report: CrawlReport) -> None:
    """If sites are counted by hand, then sizes and summary are the same."""
    sizes = [row[:5] for row in table(report, "sizes").rows]
    assert sizes == [
        ("all", 12, 9, 8, 5),
        ("in sitemaps", 5, 4, 4, 3),
        ("by links", 10, 8, 8, 5),
    ]
    assert [row[1] for row in table(report, "coverage-summary").rows[:4]] == [
        2,
        MeasuredRatio(1, 2),
        MeasuredRatio(0, 2),
        MeasuredRatio(1, 2),
    ]


def test_first_seen_figures_by_hand(report: CrawlReport) -> None:
    """If first sights are counted by hand, then figures 2, 6 and 7 are the same.

    Both ways see b (sitemaps a day earlier), c (links two days earlier, by ping) and g
    (both at once).
    """
    days = [FIRST_DAY, FIRST_DAY + 1, FIRST_DAY + 2, FIRST_DAY + 3]
    assert points(report, "figure-2") == [
        [(days[0], 3, 1), (days[2], 1, 1), (days[3], 1, 1)],
        [(days[0], 5, 1), (days[1], 4, 1), (days[3], 1, 1)],
    ]
    assert points(report, "figure-6") == [
        [(days[0], days[0], 1), (days[0], days[1], 1), (days[2], days[0], 1)]
    ]
    assert points(report, "figure-7") == [
        [(0, 0, 1), (1, 1 / 3, 1)],
        [(0, 1 / 3, 1), (1, 1 / 3, 1)],
    ]
    day = 86_400
    assert table(report, "first-seen").rows[0] == (
        *("all sites", 3, day - 2 * day, MeasuredRatio(-day, 3), 1, 1, 1),
    )


def test_refetches_by_hand(report: CrawlReport) -> None:
    """If a URL is the specification's example, then the lastmod table says so."""
    assert table(report, "lastmod").rows[0] == (
        *("a.example", 3, 1, 1, 0, MeasuredRatio(0, 1), MeasuredRatio(0, 1)),
        *(MeasuredRatio(1, 1), MeasuredRatio(0, 1), 0),
    )
    # It changed in the middle of the second day.
    assert table(report, "copies").rows[0] == (
        *("all sites", 3, 1, MeasuredRatio(2, 3), MeasuredRatio(43_200, 3)),
        *(MeasuredRatio(2.5, 3), 0, MeasuredRatio(3, 3)),
    )


def test_missed_and_usage_by_hand(report: CrawlReport) -> None:
    """If missed pages are counted by hand, then tables 1 and 2 are the same.

    Missed are d, which is a duplicate, e, f, j and k.
    """
    assert table(report, "census").rows[0] == ("all sites", 9, 5, 4, 0, 5, 1, 4)
    assert table(report, "table-2").rows == (
        (MissedClass.ERROR.value, MeasuredRatio(1, 4)),
        (MissedClass.REDIRECT.value, MeasuredRatio(1, 4)),
        (MissedClass.PARAMETER.value, MeasuredRatio(0, 4)),
        (MissedClass.DUPLICATE.value, MeasuredRatio(0, 4)),
        (MissedClass.CONTENTS.value, MeasuredRatio(0, 4)),
        (MissedClass.IMAGES.value, MeasuredRatio(0, 4)),
        (MissedClass.SUBSET.value, MeasuredRatio(0, 4)),
        (MissedClass.CONTENT.value, MeasuredRatio(2, 4)),
    )
    assert table(report, "table-1").rows == (("xml", MeasuredRatio(5, 5)),)
    assert table(report, "usage").rows[0][1] == MeasuredRatio(1, 5)
    assert table(report, "sitemaps").rows[0] == (
        *("a.example", 1, 1, MeasuredRatio(1, 1)),
    )


def test_period_leaves_out_what_was_seen_before() -> None:
    """If T begins later, then first sightings cover only later URLs."""
    period = SamplingPeriod(begin_ms=at(0.25))
    found = report_of(gather(both_sites(), period))
    assert table(found, "first-seen").rows[0][1:] == (
        *(1, -172_800, MeasuredRatio(-172_800, 1), 0, 1, 0),
    )


def test_long_tables_name_the_largest_sites() -> None:
    """If there are more sites than rows, then the largest stand there."""
    domains = [DomainFacts(f"d{n}.example", SITE_B[: n % 3]) for n in range(1000)]
    found = table(report_of(gather(domains, ALL_TIMES)), "census")
    assert len(found.rows) == MAX_ROWS + 1
    assert found.n_left_out == 1000 - MAX_ROWS
    assert {row[1] for row in found.rows[1:]} == {2}


def test_tables_leave_out_sites_that_they_are_not_about() -> None:
    """If sites have no refetches, URLs of both ways or sitemaps, they are left out."""
    found = report_of(gather([DomainFacts("b.example", SITE_B)], ALL_TIMES))
    for key in ("first-seen", "copies"):
        assert [row[0] for row in table(found, key).rows] == ["all sites"]
    for key in ("lastmod", "sitemaps"):
        assert table(found, key).is_empty
        assert table(found, key).why_empty
    assert table(found, "lastmod").n_left_out == 1


def test_domains_have_their_urls_and_sitemaps() -> None:
    """If URLs and sitemaps are sorted by domain, then each domain comes once."""
    names = [f"127.0.0.{n}" for n in range(1, 10)]
    uris = [uri("a", domain=name) for name in names[2:]]
    sitemaps = [
        SitemapFacts(domain=name, url=name) for name in names[::2] for _ in "ab"
    ]
    found = [
        (each.domain, len(list(each.uris)), len(list(each.sitemaps)))
        for each in group_by_domain(uris, sitemaps)
    ]
    assert found == [
        (name, int(name in names[2:]), 2 * (name in names[::2]))
        for name in names
        if name != names[1]
    ]


def test_long_domains_are_read_piece_by_piece() -> None:
    """If a site has very many URLs, then each counts once."""
    uris = (uri(str(n), linked=n % 7) for n in range(10_000))
    found = gather([DomainFacts("a.example", uris)], ALL_TIMES)
    assert found.total.linked.seen == 10_000
    assert sum(found.first_seen.linked_days.values()) == 10_000


@given(st.lists(st.tuples(st.integers(1, 10**9), st.floats(0, 1)), max_size=50))
def test_clouds_are_bounded(some: list[tuple[int, float]]) -> None:
    """If there are more points than dots, then cells stand for all of them."""
    cloud = PointCloud(AxisScale.LOG)
    for x, y in some * 100:
        cloud.add(x, y, x)
    marks = cloud.marks()
    assert len(marks) <= max(MAX_DOTS, len(some))
    assert sum(mark.n for mark in marks) == 100 * len(some)
    assert all(0 <= mark.y <= 1 for mark in marks)
    if len(marks) < 100 * len(some):
        assert sum(mark.weight for mark in marks) == 100 * sum(x for x, _ in some)


@given(st.dictionaries(st.integers(-800_000, 800_000), st.integers(1, 9)))
def test_days_are_bounded(counts: dict[int, int]) -> None:
    """If days are far apart, then they fall together in few bins."""
    width = days_of_bin(counts)
    columns = day_columns(counts, width)
    assert len(columns) <= MAX_BINS
    assert sum(column.y for column in columns) == sum(counts.values())
    dots = day_dots({(day, day): n for day, n in counts.items()})
    assert sum(dot.n for dot in dots) == sum(counts.values())


def counted(*activities: Activity) -> ActivityCounts:
    """Return the counts of some activities."""
    counts = ActivityCounts()
    for each in activities:
        counts.count(each)
    return counts


def test_activities_by_hand() -> None:
    """If activities are counted by hand, then the tables say the same."""
    activities = [
        activity("http://a.example/1", secs=3, n_statements=5),
        activity("http://a.example/2", day=2, secs=1, n_statements=7),
        activity(
            "http://b.example:8080/1",
            secs=9,
            status="FAILED",
            read_as="HTML",
            faults=(("syntax", 'a "b"'), ("syntax", ""), ("http_status", "")),
        ),
    ]
    counts = counted(*activities)
    found = report_of(SiteFigures(), counts)
    assert table(found, "slow-hosts").rows == (
        ("b.example:8080", MeasuredRatio(9, 1), 9),
        ("a.example", MeasuredRatio(4, 2), 3),
    )
    assert table(found, "faulty-hosts").rows == (
        ("b.example:8080", MeasuredRatio(1, 1)),
    )
    assert table(found, "faults").rows == (
        ("syntax", 2, "http://b.example:8080/1", 'a "b"'),
        ("syntax", 2, "http://b.example:8080/1", ""),
        ("http_status", 1, "http://b.example:8080/1", ""),
    )
    assert table(found, "formats").rows[0] == ("Turtle", MeasuredRatio(2, 3))
    assert table(found, "outcomes").rows == (
        ("SUCCESSFUL", MeasuredRatio(2, 3)),
        ("FAILED", MeasuredRatio(1, 3)),
    )
    assert points(found, "growth-statements") == [
        [(FIRST_DAY, 5, 1), (FIRST_DAY + 1, 7, 1)]
    ]


def test_refresh_by_hand() -> None:
    """If pages were refreshed, then the report says at what cost, and with what gain.

    Requests of other sources do not count.
    """
    url, left = "http://a.example/1", "refreshed(is_left=True)"
    activities = [
        activity(url, task="refreshed", n_bytes=700),
        activity(url, day=2, task="refreshed", status="UNCHANGED"),
        activity(url, day=3, task=left, n_bytes=20),
        activity(url, day=4, task="revisited(run=2)", n_bytes=9),
        activity(url, day=5),
    ]
    counts = counted(*activities[:2])
    counts.add(counted(*activities[2:]))
    assert table(report_of(SiteFigures(), counts), "refresh").rows == (
        ("SUCCESSFUL", MeasuredRatio(2, 3), 720),
        ("UNCHANGED", MeasuredRatio(1, 3), 0),
    )


def test_activities_of_one_site_and_time() -> None:
    """If a report is about a site from a day on, then nothing else counts."""
    counts = ActivityCounts(site="a.example", begin_ms=at(1))
    for day, url in (
        (1, "http://www.a.example/1"),
        (2, "http://www.a.example/2"),
        (2, "http://b.example/1"),
    ):
        counts.count(activity(url, day=day))
    assert list(counts.hosts) == ["www.a.example"]
    assert counts.by_status.total() == 1
