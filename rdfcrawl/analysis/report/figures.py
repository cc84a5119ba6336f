"""Figures 2 to 7 of the paper, and the growth of the crawl."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rdfcrawl.analysis.report.activities import ActivityCounts
from rdfcrawl.analysis.report.content import (
    MAX_DOTS,
    AxisScale,
    ChartAxis,
    ChartKind,
    ChartPoint,
    ChartSeries,
    ReportFigure,
    day_columns,
    day_dots,
    days_of_bin,
)
from rdfcrawl.analysis.report.domains import SiteFigures
from rdfcrawl.core.messages import counted

BY_SITEMAPS: Final = "by sitemaps"
BY_LINKS: Final = "by links"
_COVERAGE: Final = ChartAxis("share of crawled URLs in sitemaps", AxisScale.SHARE)
_UNIQUE: Final = ChartAxis("share of distinct pages in sitemaps", AxisScale.SHARE)
_INDEXED: Final = ChartAxis("share of useful pages in sitemaps", AxisScale.SHARE)
_RANKED: Final = ChartAxis("share of PageRank in sitemaps", AxisScale.SHARE)
_UNIQUE_LOG: Final = ChartAxis(_UNIQUE.label, AxisScale.LOG_SHARE)
_SIZE: Final = ChartAxis("URLs seen of the site", AxisScale.LOG)
# Key, title, axes, explanation.
_CLOUDS: Final = (
    (
        "figure-3",
        "Figure 3: size of sites and coverage of their sitemaps",
        _SIZE,
        _UNIQUE_LOG,
        (
            "Each dot is a site: the further right, the more URLs it has; the"
            " higher, the more of its distinct pages its sitemaps list. If size does"
            " not matter, dots are as high on the left as on the right. Both axes are"
            " logarithmic; a share of 0 is at the bottom."
        ),
    ),
    (
        "figure-4",
        "Figure 4: duplicates in sitemaps and elsewhere",
        _COVERAGE,
        _UNIQUE,
        (
            "Each dot is a site. Above the diagonal, its sitemaps list fewer duplicates"
            " than links lead to; below, more."
        ),
    ),
    (
        "figure-5a",
        "Figure 5(a): size of sites and importance of the URLs in sitemaps",
        _SIZE,
        _RANKED,
        (
            "Each dot is a site: the higher, the more of the PageRank of its URLs is on"
            " those that its sitemaps list. Sites without links to them are left out."
        ),
    ),
    (
        "figure-5b",
        "Figure 5(b): are the pages in sitemaps the useful ones?",
        _UNIQUE,
        _INDEXED,
        (
            "Each dot is a site; a page is useful if statements of it are stored. Above"
            " the diagonal, pages from sitemaps are useful more often than pages that"
            " only links lead to."
        ),
    ),
)
_WHY_EMPTY: Final = {
    _INDEXED: "No page with statements was fetched.",
    _RANKED: "No page that others link to was fetched.",
}
_NOT_BOTH: Final = "No URL is named both by a sitemap and by a link."
_WITH_DIAGONAL: Final = frozenset({"figure-4", "figure-5b"})


def make_discovery_figures(sites: SiteFigures) -> tuple[ReportFigure, ...]:
    """Return figures 2, 6 and 7: first sightings of URLs."""
    return (_first_seen_days(sites), _first_seen_pairs(sites), _first_by_ping(sites))


def make_coverage_figures(sites: SiteFigures) -> tuple[ReportFigure, ...]:
    """Return figures 3 to 5: a dot for each site."""
    return tuple(
        _cloud_figure(sites, key, title, x, y, sentence)
        for key, title, x, y, sentence in _CLOUDS
    )


def _cloud_figure(  # a row of the table above
    sites: SiteFigures, key: str, title: str, x: ChartAxis, y: ChartAxis, sentence: str
) -> ReportFigure:
    cloud = sites.clouds[key]
    sentence += (
        " The larger a dot, the more URLs its site has; where dots lie on one another,"
        " the colour is stronger. Names are those of the largest sites."
    )
    if cloud.n_points > MAX_DOTS:
        shown = counted(cloud.n_points, "site")
        sentence += f" There are {shown}; each dot represents those around it."
    return ReportFigure(
        key=key,
        title=title,
        sentence=sentence,
        kind=ChartKind.DOTS,
        x=x,
        y=y,
        weight_label="URLs seen",
        series=(ChartSeries("sites", cloud.marks()),),
        has_diagonal=key in _WITH_DIAGONAL,
        why_empty=_WHY_EMPTY.get(y, "No page of any site was fetched."),
    )


def _first_seen_days(sites: SiteFigures) -> ReportFigure:
    seen = sites.first_seen
    width = days_of_bin(seen.listed_days.keys() | seen.linked_days.keys())
    return _by_day(
        "figure-2",
        "Figure 2: URLs by the day they were first seen",
        "URLs that sitemaps, and links, named for the first time. Those known when the"
        " crawl began count on its first day.",
        "URLs",
        {BY_SITEMAPS: seen.listed_days, BY_LINKS: seen.linked_days},
        width,
    )


def _first_seen_pairs(sites: SiteFigures) -> ReportFigure:
    return ReportFigure(
        key="figure-6",
        title="Figure 6: days between sitemaps and links",
        sentence="URLs that sitemaps and links both name; the larger a dot, and the"
        " stronger its colour, the more. Above the diagonal sitemaps were earlier,"
        " below it links were.",
        kind=ChartKind.DOTS,
        x=ChartAxis("day first seen by sitemaps", AxisScale.DAY),
        y=ChartAxis("day first seen by links", AxisScale.DAY),
        weight_label="URLs",
        series=(ChartSeries("URLs", day_dots(sites.first_seen.day_pairs)),),
        has_diagonal=True,
        why_empty=_NOT_BOTH,
    )


def _first_by_ping(sites: SiteFigures) -> ReportFigure:
    seen = sites.first_seen
    series = []
    for name, is_by_ping in (("with ping", True), ("without ping", False)):
        points = tuple(
            ChartPoint(place, share.value, 1, seen.by_ping[is_first, is_by_ping])
            for place, is_first in enumerate((True, False))
            for share in (
                seen.share_by_ping(is_listed_first=is_first, is_by_ping=is_by_ping),
            )
            if share.value is not None
        )
        series.append(ChartSeries(name, points))
    return ReportFigure(
        key="figure-7",
        title="Figure 7: does it help to announce a sitemap by ping?",
        sentence="URLs that sitemaps and links both name: on the left those that"
        " sitemaps named first, on the right the others; each by whether the reading"
        " of a sitemap that first listed them followed a ping. If ping makes no"
        " difference, both colours have the same proportion on both sides.",
        kind=ChartKind.COLUMNS,
        x=ChartAxis(
            "who named the URL first",
            AxisScale.NAMES,
            ("sitemaps", "links, or both together"),
        ),
        y=ChartAxis("share of URLs seen both ways", AxisScale.SHARE),
        weight_label="width",
        series=tuple(series),
        why_empty=_NOT_BOTH,
    )


def make_growth_figures(counts: ActivityCounts) -> tuple[ReportFigure, ...]:
    """Return the numbers of stored documents and statements by day."""
    width = days_of_bin(counts.documents)
    return (
        _by_day(
            "growth-documents",
            "Documents stored, by day",
            "Fetches whose statements were stored.",
            "documents",
            {"documents": counts.documents},
            width,
        ),
        _by_day(
            "growth-statements",
            "Statements stored, by day",
            "Statements of these fetches, including later versions of a document.",
            "statements",
            {"statements": counts.statements},
            width,
        ),
    )


def _by_day(  # mirrors the fields of ReportFigure
    key: str,
    title: str,
    sentence: str,
    noun: str,
    counts: Mapping[str, Mapping[int, int]],
    width: int,
) -> ReportFigure:
    days = "day" if width == 1 else f"{width} days"
    return ReportFigure(
        key=key,
        title=title,
        sentence=sentence,
        kind=ChartKind.COLUMNS,
        x=ChartAxis("day" if width == 1 else f"{width} days from", AxisScale.DAY),
        y=ChartAxis(
            f"{noun} in a {days}" if width == 1 else f"{noun} in {days}",
            AxisScale.LINEAR,
        ),
        weight_label="days",
        series=tuple(
            ChartSeries(name, day_columns(each, width)) for name, each in counts.items()
        ),
        why_empty=f"There are no {noun} for these sites and times.",
    )
