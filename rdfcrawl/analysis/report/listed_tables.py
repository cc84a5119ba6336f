"""Tables about the URLs that sitemaps list: their outcomes, and those in vain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.analysis.measures.listed import ListedCount, PageOutcome
from rdfcrawl.analysis.report.activities import shorten
from rdfcrawl.analysis.report.content import ReportRow, ReportTable

if TYPE_CHECKING:
    from rdfcrawl.analysis.report.domains import SiteFigures


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
        sentence="The last try of each URL that a sitemap lists. An error page answers"
        " with status 200. Refused: robots.txt or a rule of the crawl forbids it. Pages"
        " read: all pages of the site whose last try succeeded; the last column is the"
        " share of these that sitemaps list.",
        columns=("site", "listed", *PageOutcome, "pages read", "of these listed"),
        rows=tuple(rows),
        n_left_out=sites.n_domains - len(sites.largest),
        why_empty="No page was read.",
    )


def _outcome_row(name: str, found: ListedCount) -> ReportRow:
    numbers = [found.outcomes[each] for each in PageOutcome]
    return (name, found.n_listed, *numbers, found.n_read, found.coverage)


def make_vain_table(sites: SiteFigures) -> ReportTable:
    """Return the listed URLs that lead to no page."""
    found = sites.outcomes
    return ReportTable(
        key="listed-in-vain",
        title="Listed in vain",
        sentence="Listed URLs that lead to no page of their own, with the status, the"
        " reason or the target of the redirect, and a sitemap that lists them.",
        columns=("URL", "outcome", "detail", "sitemap"),
        rows=tuple(
            (
                shorten(each.url),
                each.outcome.value,
                shorten(each.detail),
                shorten(each.sitemap),
            )
            for each in found.examples
        ),
        n_left_out=found.n_in_vain - len(found.examples),
        why_empty="No URL is listed in vain.",
    )
