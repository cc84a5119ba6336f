"""The sections of the report of a crawl: order of figures and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.analysis.report.content import CrawlReport, ReportSection
from rdfcrawl.analysis.report.figures import (
    make_coverage_figures,
    make_discovery_figures,
    make_growth_figures,
)
from rdfcrawl.analysis.report.log_tables import (
    make_document_format_table,
    make_fault_table,
    make_faulty_host_table,
    make_outcome_table,
    make_refresh_table,
    make_slow_host_table,
)
from rdfcrawl.analysis.report.site_tables import (
    make_census_table,
    make_coverage_table,
    make_missed_table,
    make_size_table,
    make_summary_table,
)
from rdfcrawl.analysis.report.time_tables import (
    make_copies_table,
    make_first_seen_table,
    make_lastmod_table,
    make_ping_table,
)
from rdfcrawl.analysis.report.usage_tables import (
    make_format_table,
    make_habit_table,
    make_usage_table,
)

if TYPE_CHECKING:
    from rdfcrawl.analysis.report.activities import ActivityCounts
    from rdfcrawl.analysis.report.domains import SiteFigures


def make_report(
    sites: SiteFigures, counts: ActivityCounts, *, title: str, scope: str
) -> CrawlReport:
    """Return the report of some figures.

    Args:
        sites: of the URLs of the crawl.
        counts: of its provenance.
        title: with the name of the crawl.
        scope: sites and times that were counted.
    """
    return CrawlReport(
        title,
        scope,
        (
            _crawl_section(counts),
            _coverage_section(sites),
            _freshness_section(sites, counts),
            _usage_section(sites),
            _health_section(counts),
        ),
    )


def _crawl_section(counts: ActivityCounts) -> ReportSection:
    return ReportSection(
        "crawl",
        "The crawl",
        "Growth, and outcomes of requests.",
        (
            *make_growth_figures(counts),
            make_outcome_table(counts),
            make_document_format_table(counts),
        ),
    )


def _coverage_section(sites: SiteFigures) -> ReportSection:
    return ReportSection(
        "coverage",
        "What sitemaps cover",
        "Sitemaps and links both lead to URLs. Which of them finds more URLs, and more"
        " useful ones? Numbers in parentheses refer to formulas in “Sitemaps: Above"
        " and Beyond the Crawl of Duty” (Schonfeld and Shivakumar, 2009).",
        (
            make_size_table(sites),
            *make_coverage_figures(sites),
            make_summary_table(sites),
            make_coverage_table(sites),
            make_census_table(sites),
            make_missed_table(sites),
        ),
    )


def _freshness_section(sites: SiteFigures, counts: ActivityCounts) -> ReportSection:
    return ReportSection(
        "freshness",
        "First sightings, and freshness of copies",
        "Times are fetch times of the sitemap, or of the page with the link.",
        (
            *make_discovery_figures(sites),
            make_ping_table(sites),
            make_first_seen_table(sites),
            make_lastmod_table(sites),
            make_copies_table(sites),
            make_refresh_table(counts),
        ),
    )


def _usage_section(sites: SiteFigures) -> ReportSection:
    return ReportSection(
        "usage",
        "How sites use sitemaps",
        "Formats, optional values, and maintenance of lists.",
        (
            make_format_table(sites),
            make_usage_table(sites),
            make_habit_table(sites),
        ),
    )


def _health_section(counts: ActivityCounts) -> ReportSection:
    return ReportSection(
        "health",
        "Hosts and faults",
        "Slow hosts, and causes of failures.",
        (
            make_slow_host_table(counts),
            make_faulty_host_table(counts),
            make_fault_table(counts),
        ),
    )
