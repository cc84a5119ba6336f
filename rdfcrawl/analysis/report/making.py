"""Create the report of a crawl from its logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from heapq import merge
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from rdfcrawl.analysis.measures.first_seen import DAY_SECS, SamplingPeriod
from rdfcrawl.analysis.measures.uri_facts import SitemapFacts, UriFacts
from rdfcrawl.analysis.ranking.table import open_ranks
from rdfcrawl.analysis.refresh.outlook import RefreshGoal, read_goal, read_outlooks
from rdfcrawl.analysis.report.activities import ActivityCounts
from rdfcrawl.analysis.report.content import CrawlReport, ReportSection, day_text
from rdfcrawl.analysis.report.domains import DomainFacts, SiteFigures, gather
from rdfcrawl.analysis.report.figures import (
    make_coverage_figures,
    make_discovery_figures,
    make_growth_figures,
)
from rdfcrawl.analysis.report.freshness_table import make_freshness_table
from rdfcrawl.analysis.report.log_tables import (
    EPOCHS,
    iter_quota_entries,
    make_document_format_table,
    make_fault_table,
    make_faulty_host_table,
    make_outcome_table,
    make_refresh_table,
    make_slow_host_table,
    outlook_section,
    quota_section,
    verified_section,
)
from rdfcrawl.analysis.report.same_content import (
    SharedDocuments,
    mirror_section,
    same_content_section,
    stored_once,
)
from rdfcrawl.analysis.report.site_tables import (
    make_census_table,
    make_copies_table,
    make_coverage_table,
    make_first_seen_table,
    make_format_table,
    make_group_table,
    make_habit_table,
    make_lastmod_table,
    make_missed_table,
    make_outcome_of_listed_table,
    make_ping_table,
    make_size_table,
    make_summary_table,
    make_usage_table,
)
from rdfcrawl.analysis.report.url_lists import UrlLists
from rdfcrawl.analysis.urldb.database import UrlDatabase
from rdfcrawl.analysis.urldb.facts import MAX_CLUSTERED, FactReader
from rdfcrawl.analysis.urldb.mirrors import MirrorSearch
from rdfcrawl.analysis.verifications import iter_verified
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.sorting import SpillFolder
from rdfcrawl.stores.log.crawl_log import iter_activities


def make_report(
    sites: SiteFigures,
    counts: ActivityCounts,
    *,
    title: str,
    scope: str,
    goal: RefreshGoal | None = None,
) -> CrawlReport:
    """Return the report of some figures.

    Args:
        sites: of the URLs of the crawl.
        counts: of its provenance.
        title: with the name of the crawl.
        scope: sites and times that were counted.
        goal: of refresh; None: the default.
    """
    sections = (
        ReportSection(
            "crawl",
            "The crawl",
            "Growth, and outcomes of requests.",
            (
                *make_growth_figures(counts),
                make_outcome_table(counts),
                make_document_format_table(counts),
            ),
        ),
        _coverage_section(sites),
        *_list_sections(sites),
        _freshness_section(sites, counts, goal or RefreshGoal()),
        ReportSection(
            "usage",
            "How sites use sitemaps",
            "Formats, optional values, and maintenance of lists.",
            (
                make_format_table(sites),
                make_usage_table(sites),
                make_habit_table(sites),
            ),
        ),
        _health_section(counts),
    )
    return CrawlReport(title, scope, sections)


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
            make_outcome_of_listed_table(sites),
        ),
    )


def _freshness_section(
    sites: SiteFigures, counts: ActivityCounts, goal: RefreshGoal
) -> ReportSection:
    return ReportSection(
        "freshness",
        "First sightings, and freshness of copies",
        "Times are fetch times of the sitemap, or of the page with the link.",
        (
            *make_discovery_figures(sites),
            *(make_ping_table(sites), make_first_seen_table(sites)),
            *(make_lastmod_table(sites), make_group_table(sites)),
            make_freshness_table(sites, goal),
            make_copies_table(sites),
            make_refresh_table(counts),
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


def _list_sections(sites: SiteFigures) -> Iterator[ReportSection]:
    if sites.lists is not None:
        yield ReportSection(
            "lists",
            "Lists of URLs",
            "The URLs behind the numbers. A list shows the first ones; its CSV file has"
            " all. Listed URLs come first. Times are in UTC.",
            tuple(sites.lists.tables()),
        )


def report_crawl(
    root: Path,
    site: str | None = None,
    begin_ms: int = 0,
    spills: SpillFolder | None = None,
) -> CrawlReport:
    """Return the report of a crawl; its URL database and ranks must be up to date.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`.
        site: registered domain to report; None: all.
        begin_ms: start of the period for first sightings and requests; all other
            figures cover all times.
        spills: keeps the lists of URLs as long as the report is used; None: it has no
            lists.

    Raises:
        ConfigError: there is no URL database, or it is damaged; or nothing is known of
            the site.
        OSError: a disk is full, or cannot be read.
    """
    with UrlDatabase(root) as database, SpillFolder(root) as scratch:
        search = MirrorSearch(database, open_ranks(root), scratch)
        records = search.reading(database.records())
        reader = FactReader(database, open_ranks(root))
        uris = reader.uris(x for x in records if site in (None, x.domain))
        sitemaps = (x for x in reader.sitemaps() if site in (None, x.domain))
        domains = group_by_domain(uris, sitemaps)
        lists = None if spills is None else UrlLists(spills)
        sites = gather(domains, SamplingPeriod(begin_ms=begin_ms), lists)
        mirrors = mirror_section(search, site)
        stores = stored_once(root) if site is None else ()
        same = same_content_section(database, site, stores)
    counts = ActivityCounts(site=site, begin_ms=begin_ms)
    for activity in iter_activities(root / "provenance"):
        counts.count(activity)
    if site is not None and not (sites.n_domains or counts.by_status):
        raise ConfigError(f"the crawl {root.name} has no URI of {site}")
    report = report_counted(root.name, sites, counts, read_goal(root))
    quotas = quota_section(iter_quota_entries(root / EPOCHS), site, begin_ms)
    budgets = outlook_section(read_outlooks(root), site)
    verified = verified_section(iter_verified(root, site))
    found = mirrors, same, quotas, budgets, verified
    more = [each for each in found if each is not None]
    return replace(report, sections=(*report.sections, *more))


def report_counted(
    name: str,
    sites: SiteFigures,
    counts: ActivityCounts,
    goal: RefreshGoal | None = None,
) -> CrawlReport:
    """Return the report of the figures of a crawl."""
    return make_report(
        sites,
        counts,
        title=f"Report of the crawl {name}",
        scope=_scope(counts.site, int(counts.begin_ms), counts.last_ms),
        goal=goal,
    )


def with_crawl_sections(
    report: CrawlReport,
    root: Path,
    *,
    stores: Iterable[SharedDocuments],
    quotas: Iterable[dict[str, Any]],
) -> CrawlReport:
    """Add the sections that exist only in reports of all sites.

    These are mirrors, the same content and quotas, where there are any.

    Args:
        report: without them.
        root: folder with URL database and ranks.
        stores: of all machines, with documents that they store only once.
        quotas: entries of the epoch logs of all machines.

    Raises:
        ConfigError: there is no URL database, or it is damaged.
        OSError: a disk is full, or cannot be read.
    """
    with UrlDatabase(root) as database:
        same = same_content_section(database, None, stores)
        with SpillFolder(root) as spills:
            search = MirrorSearch(database, open_ranks(root), spills)
            found = mirror_section(search), same, quota_section(quotas)
    more = [each for each in found if each is not None]
    return replace(report, sections=(*report.sections, *more))


def _scope(site: str | None, begin_ms: int, last_ms: int) -> str:
    text = f"The site {site}" if site else "All sites"
    if begin_ms:
        text += f"; first sightings and requests since {_day(begin_ms)}"
    text += "."
    if last_ms:
        text += f" The last fetch was on {_day(last_ms)}."
    return (
        f"{text} Duplicates are pages of equal or nearly equal text within a site of at"
        f" most {MAX_CLUSTERED:,} URLs. Shares are from 0 to 1; a dash means that the"
        " denominator is 0."
    )


def _day(time_ms: int) -> str:
    return day_text(time_ms // 1000 // DAY_SECS)


def group_by_domain(
    uris: Iterable[UriFacts], sitemaps: Iterable[SitemapFacts]
) -> Iterator[DomainFacts]:
    """Group URLs and sitemaps, both sorted by domain.

    Each domain must be consumed before the next one is requested.
    """
    streams: tuple[Iterable[UriFacts | SitemapFacts], ...] = (uris, sitemaps)
    domain_of = attrgetter("domain")
    for domain, some in groupby(merge(*streams, key=domain_of), domain_of):
        yield _DomainParts(some).facts(domain)


class _DomainParts:
    """The facts of one domain: its URLs, then its sitemaps."""

    def __init__(self, some: Iterator[UriFacts | SitemapFacts]) -> None:
        self._some = some
        self._first: list[SitemapFacts] = []

    def facts(self, domain: str) -> DomainFacts:
        return DomainFacts(domain, self._uris(), self._sitemaps())

    def _uris(self) -> Iterator[UriFacts]:
        for each in self._some:
            if isinstance(each, SitemapFacts):
                self._first.append(each)
                return
            yield each

    def _sitemaps(self) -> Iterator[SitemapFacts]:
        for each in chain(self._first, self._some):
            if isinstance(each, SitemapFacts):
                yield each
