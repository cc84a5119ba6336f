"""Tables about sites: sizes, coverage, missed pages, times, and use of sitemaps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter
from typing import Any, Final

from rdfcrawl.analysis.measures.domain_clusters import MissedClass
from rdfcrawl.analysis.measures.listed import ListedCount, PageOutcome
from rdfcrawl.analysis.measures.usage import AT_ADDRESSES
from rdfcrawl.analysis.report.content import MAX_ROWS, ReportRow, ReportTable
from rdfcrawl.analysis.report.domains import DomainSummary, SiteFigures

UNDATED: Final = "undated"
"""Stands for a sitemap in the group of pages without a lastmod."""
_group_cells = attrgetter(
    *("n_intervals", "n_claimed", "n_changed", "n_both", "precision", "recall"),
    "n_new_statements",
)


def make_size_table(sites: SiteFigures) -> ReportTable:
    """Return the sizes of the sets of URLs: of sitemaps, of links, and of both."""
    values = attrgetter(
        *("seen", "crawled", "unique", "indexed", "signal_to_noise", "efficiency")
    )
    return ReportTable(
        key="sizes",
        title="URLs by state",
        sentence="Seen: named by a sitemap or a link. Crawled: fetched. Distinct:"
        " without duplicates. Useful: statements are stored. A URL known both ways"
        " counts in both rows. Signal to noise (5): distinct pages for each URL seen;"
        " efficiency: for each URL crawled.",
        columns=(
            *("URLs", "seen", "crawled", "distinct", "useful"),
            *("signal to noise", "efficiency"),
        ),
        rows=(
            ("all", *values(sites.both)),
            ("in sitemaps", *values(sites.listed)),
            ("by links", *values(sites.linked)),
        ),
    )


def make_coverage_table(sites: SiteFigures) -> ReportTable:
    """Return formulas (1) to (5) of each site."""
    table = ReportTable(
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
    )
    return _with_sites(
        table,
        sites,
        lambda site: site.coverage,
        (
            *("both.seen", "coverage", "unique_coverage", "index_coverage"),
            *("pagerank_coverage", "both.signal_to_noise", "listed.signal_to_noise"),
            *("linked.signal_to_noise", "listed.efficiency", "linked.efficiency"),
            "utility.value",  # its numerator and denominator are meaningless
        ),
        total=sites.total,
    )


def make_census_table(sites: SiteFigures) -> ReportTable:
    """Return the number of pages that sitemaps miss, as in section 5.1.2."""
    table = ReportTable(
        key="census",
        title="What sitemaps miss",
        sentence="Missed: crawled, but in no sitemap. Missed pages that are not"
        " duplicates may be content that the site forgot to list.",
        columns=(
            *("site", "crawled", "in sitemaps", "of these crawled"),
            *("duplicates of these", "missed", "duplicates of the missed"),
            "missed content",
        ),
    )
    return _with_sites(
        table,
        sites,
        lambda site: site.census,
        (
            *("n_crawled", "n_seen_listed", "n_crawled_listed", "n_listed_duplicates"),
            *("n_missed", "n_missed_duplicates", "n_missed_content"),
        ),
        total=sites.census,
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


def make_outcome_of_listed_table(sites: SiteFigures) -> ReportTable:
    """Return the outcomes of listed URLs by site, and the share of pages they cover."""
    rows = [
        _outcome_row(each.coverage.domain, each.listed)
        for each in sites.largest
        if each.listed.n_read or each.listed.n_listed
    ]
    if len(rows) > 1:
        rows.insert(0, _outcome_row("all sites", sites.outcomes))
    return ReportTable(
        key="listed-outcomes",
        title="Listed URLs by outcome",
        sentence="The last try of each URL that a sitemap lists now. An error page"
        " has status 200. Noindex: not for search engines. Blocked: robots.txt forbids"
        " it. Refused: a limit of the crawl forbids it. Pages read: all pages of the"
        " site whose last try succeeded; the last column is the share of these that"
        " sitemaps list.",
        columns=("site", "listed", *PageOutcome, "pages read", "of these listed"),
        rows=tuple(rows),
        n_left_out=sites.n_domains - len(sites.largest),
        why_empty="No page was read.",
    )


def _outcome_row(name: str, found: ListedCount) -> ReportRow:
    numbers = [found.outcomes[each] for each in PageOutcome]
    return (name, found.n_listed, *numbers, found.n_read, found.coverage)


def make_summary_table(sites: SiteFigures) -> ReportTable:
    """Return the figures that accompany figures 3 to 5."""
    found = sites.summary
    return ReportTable(
        key="coverage-summary",
        title="All sites in numbers",
        sentence="Summary of figures 3 and 5(b). The correlation is Pearson's, of the"
        " logarithm of URLs seen and unique coverage: near 0, size does not matter.",
        columns=("measure", "value"),
        rows=(
            ("sites", sites.n_domains),
            ("sites with unique coverage above 0.5", found.half_share),
            ("sites with unique coverage above 0.9", found.most_share),
            ("sites above the diagonal of figure 5(b)", found.above_share),
            ("correlation of size and unique coverage", found.size_correlation),
        ),
    )


def _with_sites(
    table: ReportTable,
    sites: SiteFigures,
    measured: Callable[[DomainSummary], Any],
    values: tuple[str, ...],
    *,
    total: object = None,
    is_shown: Callable[[DomainSummary], bool] = lambda _: True,
) -> ReportTable:
    """Return a table with a row for each of the largest sites, below the total.

    Args:
        table: without rows.
        sites: of the crawl.
        measured: returns the measures of a site that the table shows.
        values: attributes of these measures, one for each column after the name.
        total: the same measures of all sites; None: no such row.
        is_shown: sites for which it is false are omitted.
    """
    cells = attrgetter(*values)
    largest = list(filter(is_shown, sites.largest))
    rows = [(site.coverage.domain, *cells(measured(site))) for site in largest]
    if total is not None:
        rows.insert(0, ("all sites", *cells(total)))
    n_left_out = sites.n_domains - len(largest)
    return replace(table, rows=tuple(rows), n_left_out=n_left_out)


def make_first_seen_table(sites: SiteFigures) -> ReportTable:
    """Return formula (6), SeenDelta, and the numbers of first sightings."""
    table = ReportTable(
        key="first-seen",
        title="First sightings of URLs",
        sentence="URLs that both sitemaps and links name. SeenDelta (6) is the sum of"
        " the seconds by which sitemaps were earlier; it is negative if links were"
        " earlier. Sites without such URLs are omitted.",
        columns=(
            *("site", "URLs seen both ways", "SeenDelta (6), s", "mean, s"),
            *("sitemaps first", "links first", "same second"),
        ),
    )
    return _with_sites(
        table,
        sites,
        lambda site: site.first_seen,
        (
            *("n_both", "delta_secs", "mean_delta_secs"),
            *("n_listed_first", "n_linked_first", "n_ties"),
        ),
        total=sites.first_seen,
        is_shown=lambda site: site.first_seen.n_both > 0,
    )


def make_ping_table(sites: SiteFigures) -> ReportTable:
    """Return the numbers of figure 7."""
    seen = sites.first_seen
    rows: list[ReportRow] = [
        (
            name,
            seen.share_by_ping(is_listed_first=is_first, is_by_ping=True),
            seen.share_by_ping(is_listed_first=is_first, is_by_ping=False),
        )
        for name, is_first in (("first named by sitemaps", True), ("not first", False))
    ]
    rows.append(
        (
            "share that sitemaps named first",
            seen.listed_first_share(is_by_ping=True),
            seen.listed_first_share(is_by_ping=False),
        )
    )
    return ReportTable(
        key="figure-7-shares",
        title="Effect of pings",
        sentence="Shares of all URLs seen both ways; in the last row, of the URLs of"
        " its column. If both are equal there, pings make no difference.",
        columns=("URLs", "with ping", "without ping"),
        rows=tuple(rows),
    )


def make_lastmod_table(sites: SiteFigures) -> ReportTable:
    """Return the reliability of the lastmod values of each site."""
    table = ReportTable(
        key="lastmod",
        title="Accuracy of lastmod",
        sentence="The last 200 refetches of a site. Content changed: the bytes of the"
        " page differ. Precision: the share of changes claimed by sitemaps that were"
        " real. Recall: the share of changed pages whose change sitemaps claimed; it"
        " is low if dates are wrong, and if pages have none. So the next columns have"
        " the share of changed pages with a date, and the recall of these. Sites"
        " without refetches are omitted.",
        columns=(
            *("site", "refetches", "claimed", "content changed", "both"),
            *("precision", "recall", "changed with a date", "recall of dated pages"),
            "statements changed",
        ),
        why_empty="No page was fetched and read more than once.",
    )
    return _with_sites(
        table,
        sites,
        lambda site: site.accuracy,
        (
            *("n_intervals", "n_claimed", "n_changed", "n_both", "precision", "recall"),
            *("dated_share", "dated_recall", "n_new_statements"),
        ),
        is_shown=lambda site: site.accuracy.n_intervals > 0,
    )


def make_group_table(sites: SiteFigures) -> ReportTable:
    """Return the reliability of lastmod by the sitemap that states it."""
    rows: list[ReportRow] = [
        (
            site.coverage.domain,
            UNDATED if name is None else name or "-",
            *_group_cells(found),
        )
        for site in sites.largest
        for name, found in site.groups
    ]
    return ReportTable(
        key="lastmod-groups",
        title="Accuracy of lastmod by sitemap",
        sentence="The last 200 refetches of the pages that a sitemap dates, and of the"
        " pages without a date. Each sitemap is judged by its own pages: pages"
        " without a date say nothing about the dates of others. If several sitemaps"
        " date a page, the one with the greatest date counts.",
        columns=(
            *("site", "dated by", "refetches", "claimed", "content changed", "both"),
            *("precision", "recall", "statements changed"),
        ),
        rows=tuple(rows[:MAX_ROWS]),
        n_left_out=max(0, len(rows) - MAX_ROWS),
        why_empty="No page was fetched and read more than once.",
    )


def make_copies_table(sites: SiteFigures) -> ReportTable:
    """Return the freshness of the copies at the time of their refetch."""
    table = ReportTable(
        key="copies",
        title="Freshness and age of copies, and results of refetches",
        sentence="Only a refetch shows whether the copy still equals the page. Fresh:"
        " the share of copies with the same content, byte by byte. Age: mean time"
        " since the copy became outdated, 0 if it is equal. Time fresh: the share of"
        " time for which copies equalled the page. The last columns are about the"
        " statements of the page alone, which are stored. Sites without refetches are"
        " omitted.",
        columns=(
            *("site", "refetches", "content changed", "fresh", "mean age, s"),
            *("time fresh (days)", "statements changed", "fresh statements"),
        ),
    )
    return _with_sites(
        table,
        sites,
        lambda site: site.copies,
        (
            *("n_refetches", "n_changed", "freshness", "mean_age_secs", "fresh_days"),
            *("n_new_statements", "fresh_statements"),
        ),
        total=sites.copies,
        is_shown=lambda site: site.copies.n_refetches > 0,
    )


def make_habit_table(sites: SiteFigures) -> ReportTable:
    """Return how each site maintains its sitemaps."""
    table = ReportTable(
        key="sitemaps",
        title="Sitemaps of sites",
        sentence="Sitemap indexes do not count. Log-like: the share of reread sitemaps"
        " that never changed, because new URLs are listed in new files. Sites without"
        " sitemaps are omitted.",
        columns=("site", "sitemaps", "reread", "log-like"),
        why_empty="No sitemap was read.",
    )
    return _with_sites(
        table,
        sites,
        lambda site: site.habits,
        ("n_sitemaps", "n_reread", "log_structured_share"),
        is_shown=lambda site: site.habits.n_sitemaps > 0,
    )


def make_format_table(sites: SiteFigures) -> ReportTable:
    """Return table 1: listed URLs by the format of the sitemap."""
    usage = sites.usage
    names = sorted(+usage.by_format, key=lambda each: (-usage.by_format[each], each))
    return ReportTable(
        key="table-1",
        title="Table 1: formats of sitemaps",
        sentence="Each listed URL counts once per sitemap; an unreadable file counts"
        " as one of unknown format.",
        columns=("format", "share"),
        rows=tuple((each, usage.format_share(each)) for each in names),
        why_empty="No sitemap was read.",
    )


def make_usage_table(sites: SiteFigures) -> ReportTable:
    """Return the optional values in sitemaps, and the TLDs of sites with sitemaps."""
    usage = sites.usage
    top, others = usage.top_tlds()
    rows: list[ReportRow] = [
        ("listings with lastmod", usage.lastmod_share),
        ("listings with changefreq", usage.changefreq_share),
        ("listings with priority", usage.priority_share),
        *((f"sites with sitemaps {_where(tld)}", number) for tld, number in top),
        ("sites with sitemaps elsewhere", others),
    ]
    return ReportTable(
        key="usage",
        title="Values in sitemaps",
        sentence="Shares are of all listings of URLs in sitemaps.",
        columns=("measure", "value"),
        rows=tuple(rows),
    )


def _where(tld: str) -> str:
    return "at IP addresses" if tld == AT_ADDRESSES else f"in .{tld}"
