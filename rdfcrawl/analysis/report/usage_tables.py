"""Tables about usage: the sitemaps of sites, their formats, and their values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rdfcrawl.analysis.measures.usage import AT_ADDRESSES
from rdfcrawl.analysis.report.content import ReportRow, ReportTable
from rdfcrawl.analysis.report.site_tables import make_site_table

if TYPE_CHECKING:
    from rdfcrawl.analysis.report.domains import SiteFigures


def make_habit_table(sites: SiteFigures) -> ReportTable:
    """Return how each site maintains its sitemaps."""
    found = make_site_table(
        sites,
        key="sitemaps",
        title="Sitemaps of sites",
        sentence="Sitemap indexes do not count. Log-like: the share of reread sitemaps"
        " that never changed, because new URLs are listed in new files. Sites without"
        " sitemaps are omitted.",
        columns=("site", "sitemaps", "reread", "log-like"),
        total=None,
        is_shown=lambda each: each.habits.n_sitemaps > 0,
        row=lambda each: (
            each.coverage.domain,
            each.habits.n_sitemaps,
            each.habits.n_reread,
            each.habits.log_structured_share,
        ),
    )
    return replace(found, why_empty="No sitemap was read.")


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
        columns=("", "value"),
        rows=tuple(rows),
    )


def _where(tld: str) -> str:
    return "at IP addresses" if tld == AT_ADDRESSES else f"in .{tld}"
