"""Tables about time: who sees URLs first, accuracy of lastmod, freshness of copies."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.measures.first_seen import DAY_SECS
from rdfcrawl.analysis.measures.ratio import MeasuredRatio
from rdfcrawl.analysis.report.content import ReportRow, ReportTable
from rdfcrawl.analysis.report.site_tables import make_site_table

if TYPE_CHECKING:
    from rdfcrawl.analysis.measures.first_seen import FirstSeenCount
    from rdfcrawl.analysis.measures.refetches import CopyFreshness
    from rdfcrawl.analysis.report.domains import SiteFigures

_DAY_MS: Final = DAY_SECS * 1000


def make_first_seen_table(sites: SiteFigures) -> ReportTable:
    """Return formula (6), SeenDelta, and who was first."""

    def row(name: str, seen: FirstSeenCount) -> ReportRow:
        return (
            name,
            seen.n_both,
            seen.delta_secs,
            seen.mean_delta_secs,
            seen.n_listed_first,
            seen.n_linked_first,
            seen.n_ties,
        )

    return make_site_table(
        sites,
        key="first-seen",
        title="Who sees URLs first",
        sentence="Of URLs that sitemaps and links both name. SeenDelta (6) is by how"
        " many seconds sitemaps were earlier, added up; below 0, links were. Sites"
        " without such URLs are left out.",
        columns=(
            *("site", "URLs seen both ways", "SeenDelta (6), s", "mean, s"),
            *("sitemaps first", "links first", "same second"),
        ),
        total=row("all sites", sites.first_seen),
        is_told=lambda each: each.first_seen.n_both > 0,
        row=lambda each: row(each.coverage.domain, each.first_seen),
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
        for name, is_first in (("first seen by sitemaps", True), ("not first", False))
    ]
    rows.append(
        (
            "share that sitemaps saw first",
            seen.listed_first_share(is_by_ping=True),
            seen.listed_first_share(is_by_ping=False),
        )
    )
    return ReportTable(
        key="figure-7-shares",
        title="Ping in numbers",
        sentence="Shares of all URLs seen both ways; in the last row, of the URLs of"
        " its column. If both are equal there, ping makes no difference.",
        columns=("", "with ping", "without ping"),
        rows=tuple(rows),
    )


def make_lastmod_table(sites: SiteFigures) -> ReportTable:
    """Return how far the lastmods of each site can be believed."""
    found = make_site_table(
        sites,
        key="lastmod",
        title="Accuracy of lastmod",
        sentence="Over the last 200 refetches of a site. Precision: of the changes"
        " that sitemaps claimed, the share that were changes. Recall: of the changes,"
        " the share that was claimed. Only with a high recall is it enough to fetch"
        " what sitemaps claim. Sites without refetches are left out.",
        columns=(
            *("site", "refetches", "claimed", "changed", "both"),
            *("precision", "recall"),
        ),
        total=None,
        is_told=lambda each: each.accuracy.n_intervals > 0,
        row=lambda each: (
            each.coverage.domain,
            each.accuracy.n_intervals,
            each.accuracy.n_claimed,
            each.accuracy.n_changed,
            each.accuracy.n_both,
            each.accuracy.precision,
            each.accuracy.recall,
        ),
    )
    return replace(found, why_empty="No page was fetched and read twice.")


def make_copies_table(sites: SiteFigures) -> ReportTable:
    """Return how fresh the copies were when they were refetched."""

    def row(name: str, copies: CopyFreshness) -> ReportRow:
        return (
            name,
            copies.n_refetches,
            copies.n_refetches - copies.n_fresh,
            copies.freshness,
            copies.mean_age_secs,
            MeasuredRatio(copies.fresh_ms / _DAY_MS, copies.total_ms / _DAY_MS),
        )

    return make_site_table(
        sites,
        key="copies",
        title="Freshness and age of copies, and what refetches found",
        sentence="Only a refetch tells whether the copy was still the page. Fresh: the"
        " share of copies that were. Age: for how long the copy had not been the page"
        " any more, 0 if it was, on average. Time fresh: the share of time for which"
        " copies were the page. Sites without refetches are left out.",
        columns=(
            *("site", "refetches", "found a change", "fresh", "mean age, s"),
            "time fresh (days)",
        ),
        total=row("all sites", sites.copies),
        is_told=lambda each: each.copies.n_refetches > 0,
        row=lambda each: row(each.coverage.domain, each.copies),
    )
