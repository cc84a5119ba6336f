"""Tables about sites: sizes, coverage, and pages that sitemaps miss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.analysis.measures.missed import MissedClass
from rdfcrawl.analysis.report.content import ReportRow, ReportTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfcrawl.analysis.measures.census import DomainCensus
    from rdfcrawl.analysis.measures.coverage import DomainCoverage, StateSizes
    from rdfcrawl.analysis.report.domains import DomainSummary, SiteFigures


def make_size_table(sites: SiteFigures) -> ReportTable:
    """Return the sizes of the sets of URLs: of sitemaps, of links, and of both."""

    def row(name: str, sizes: StateSizes) -> ReportRow:
        return (
            name,
            sizes.seen,
            sizes.crawled,
            sizes.unique,
            sizes.indexed,
            sizes.signal_to_noise,
            sizes.efficiency,
        )

    return ReportTable(
        key="sizes",
        title="URLs by state",
        sentence="Seen: named by a sitemap or a link. Crawled: fetched. Distinct:"
        " without duplicates. Useful: statements are stored. A URL known both ways"
        " counts in both rows. Signal to noise (5): distinct pages for each URL seen;"
        " efficiency: for each URL crawled.",
        columns=(
            *("", "seen", "crawled", "distinct", "useful"),
            *("signal to noise", "efficiency"),
        ),
        rows=(
            row("all", sites.both),
            row("in sitemaps", sites.listed),
            row("by links", sites.linked),
        ),
    )


def make_coverage_table(sites: SiteFigures) -> ReportTable:
    """Return formulas (1) to (5) of each site."""

    def row(domain: DomainCoverage) -> ReportRow:
        return (
            domain.domain,
            domain.both.seen,
            domain.coverage,
            domain.unique_coverage,
            domain.index_coverage,
            domain.pagerank_coverage,
            domain.both.signal_to_noise,
            domain.listed.signal_to_noise,
            domain.linked.signal_to_noise,
            domain.listed.efficiency,
            domain.linked.efficiency,
            domain.utility.value,  # its numerator and denominator are meaningless
        )

    return make_site_table(
        sites,
        key="coverage",
        title="Coverage",
        sentence="The share of a site that its sitemaps list: of URLs crawled (1), of"
        " distinct pages (2), of useful pages (3), of PageRank (4). Signal to noise"
        " (5): distinct pages for each URL seen, in all, by sitemaps and by links;"
        " efficiency: for each URL crawled. PageRank measures the importance of a page"
        " by its links. Utility: (3) divided by (2); above 1, sitemaps list useful"
        " pages more often.",
        columns=(
            *("site", "URLs seen", "coverage (1)", "unique coverage (2)"),
            *("index coverage (3)", "PageRank coverage (4)", "signal to noise (5)"),
            *("the same of sitemaps", "the same of links", "efficiency of sitemaps"),
            *("efficiency of links", "utility"),
        ),
        total=row(sites.total),
        row=lambda each: row(each.coverage),
    )


def make_census_table(sites: SiteFigures) -> ReportTable:
    """Return the number of pages that sitemaps miss, as in section 5.1.2."""

    def row(name: str, census: DomainCensus) -> ReportRow:
        return (
            name,
            census.n_crawled,
            census.n_seen_listed,
            census.n_crawled_listed,
            census.n_listed_duplicates,
            census.n_missed,
            census.n_missed_duplicates,
            census.n_missed_content,
        )

    return make_site_table(
        sites,
        key="census",
        title="What sitemaps miss",
        sentence="Missed: crawled, but in no sitemap. Missed pages that are not"
        " duplicates may be content that the site forgot to list.",
        columns=(
            *("site", "crawled", "in sitemaps", "of these crawled"),
            *("duplicates of these", "missed", "duplicates of the missed"),
            "missed content",
        ),
        total=row("all sites", sites.census),
        row=lambda each: row(each.coverage.domain, each.census),
    )


def make_missed_table(sites: SiteFigures) -> ReportTable:
    """Return table 2: classes of the content that sitemaps miss."""
    return ReportTable(
        key="table-2",
        title="Table 2: classes of the missed content",
        sentence="A sample of at most 3,000 URLs that sitemaps miss, without known"
        " near-duplicates. A duplicate here is slightly less similar to another page of"
        " the site, or names it as its canonical URL. A subset is part of a page of up"
        " to four times its length.",
        columns=("class", "share"),
        rows=tuple((each.value, sites.missed_share(each)) for each in MissedClass),
    )


def make_summary_table(sites: SiteFigures) -> ReportTable:
    """Return the figures that accompany figures 3 to 5."""
    found = sites.summary
    return ReportTable(
        key="coverage-summary",
        title="All sites in numbers",
        sentence="Summary of figures 3 and 5(b). The correlation is Pearson's, of the"
        " logarithm of URLs seen and unique coverage: near 0, size does not matter.",
        columns=("", "value"),
        rows=(
            ("sites", sites.n_domains),
            ("sites with unique coverage above 0.5", found.half_share),
            ("sites with unique coverage above 0.9", found.most_share),
            ("sites above the diagonal of figure 5(b)", found.above_share),
            ("correlation of size and unique coverage", found.size_correlation),
        ),
    )


def make_site_table(  # mirrors the fields of ReportTable
    sites: SiteFigures,
    *,
    key: str,
    title: str,
    sentence: str,
    columns: tuple[str, ...],
    total: ReportRow | None,
    row: Callable[[DomainSummary], ReportRow],
    is_shown: Callable[[DomainSummary], bool] = lambda _: True,
) -> ReportTable:
    """Return a table with a row for each of the largest sites, below the total.

    Sites for which `is_shown` is false are omitted.
    """
    largest = list(filter(is_shown, sites.largest))
    rows = [total] if total is not None else []
    return ReportTable(
        key=key,
        title=title,
        sentence=sentence,
        columns=columns,
        rows=(*rows, *map(row, largest)),
        n_left_out=sites.n_domains - len(largest),
    )
