"""Tables about sites: sizes, coverage, and what sitemaps miss."""

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
    """Return the sizes of the sets of URLs, by each way and by both."""

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
        title="What became of URLs",
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
            domain.utility.value,  # its two numbers are products, and say nothing
        )

    return make_site_table(
        sites,
        key="coverage",
        title="Coverage",
        sentence="Which share of a site its sitemaps list: of the URLs crawled (1), of"
        " distinct pages (2), of useful ones (3), of PageRank (4). Distinct pages for"
        " each URL seen (5), in all and by each way; and for each URL crawled."
        " PageRank is the importance that links give to a page. Utility: (3) by (2);"
        " above 1, sitemaps lead to useful pages more often.",
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
    """Return what sitemaps miss, as section 5.1.2 tells of one site."""

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
        sentence="Missed: crawled, and in no sitemap. What remains of it without"
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
    """Return table 2: classes of what sitemaps miss."""
    return ReportTable(
        key="table-2",
        title="Table 2: what the missed content is",
        sentence="A sample of at most 3,000 URLs that sitemaps miss, without those"
        " found to be near-duplicates. A duplicate here resembles another page of the"
        " site a little less, or names it as its canonical URL. A subset is part of a"
        " page of up to four times its length.",
        columns=("class", "share"),
        rows=tuple((each.value, sites.missed_share(each)) for each in MissedClass),
    )


def make_summary_table(sites: SiteFigures) -> ReportTable:
    """Return the lines beside figures 3 to 5."""
    found = sites.summary
    return ReportTable(
        key="coverage-summary",
        title="All sites in numbers",
        sentence="What figures 3 and 5(b) show. The correlation is Pearson's, of the"
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


def make_site_table(  # as the fields of the table
    sites: SiteFigures,
    *,
    key: str,
    title: str,
    sentence: str,
    columns: tuple[str, ...],
    total: ReportRow | None,
    row: Callable[[DomainSummary], ReportRow],
    is_told: Callable[[DomainSummary], bool] = lambda _: True,
) -> ReportTable:
    """Return a table with a row for each of the largest sites, below that of all.

    Those that `is_told` does not want are left out.
    """
    largest = list(filter(is_told, sites.largest))
    rows = [total] if total is not None else []
    return ReportTable(
        key=key,
        title=title,
        sentence=sentence,
        columns=columns,
        rows=(*rows, *map(row, largest)),
        n_left_out=sites.n_domains - len(largest),
    )
