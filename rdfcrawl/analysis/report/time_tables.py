"""Tables about time: first sightings, accuracy of lastmod, freshness of copies."""

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
    """Return formula (6), SeenDelta, and the numbers of first sightings."""

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
        title="First sightings of URLs",
        sentence="URLs that both sitemaps and links name. SeenDelta (6) is the sum of"
        " the seconds by which sitemaps were earlier; it is negative if links were"
        " earlier. Sites without such URLs are omitted.",
        columns=(
            *("site", "URLs seen both ways", "SeenDelta (6), s", "mean, s"),
            *("sitemaps first", "links first", "same second"),
        ),
        total=row("all sites", sites.first_seen),
        is_shown=lambda each: each.first_seen.n_both > 0,
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
        columns=("", "with ping", "without ping"),
        rows=tuple(rows),
    )


def make_lastmod_table(sites: SiteFigures) -> ReportTable:
    """Return the reliability of the lastmod values of each site."""
    found = make_site_table(
        sites,
        key="lastmod",
        title="Accuracy of lastmod",
        sentence="The last 200 refetches of a site. Precision: the share of changes"
        " claimed by sitemaps that were real. Recall: the share of real changes that"
        " sitemaps claimed. Only if recall is high does it suffice to refetch the"
        " pages with a claimed change. Sites without refetches are omitted.",
        columns=(
            *("site", "refetches", "claimed", "changed", "both"),
            *("precision", "recall"),
        ),
        total=None,
        is_shown=lambda each: each.accuracy.n_intervals > 0,
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
    return replace(found, why_empty="No page was fetched and read more than once.")


def make_copies_table(sites: SiteFigures) -> ReportTable:
    """Return the freshness of the copies at the time of their refetch."""

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
        title="Freshness and age of copies, and results of refetches",
        sentence="Only a refetch shows whether the copy still equals the page. Fresh:"
        " the share of equal copies. Age: mean time since the copy became outdated, 0"
        " if it is equal. Time fresh: the share of time for which copies equalled the"
        " page. Sites without refetches are omitted.",
        columns=(
            *("site", "refetches", "found a change", "fresh", "mean age, s"),
            "time fresh (days)",
        ),
        total=row("all sites", sites.copies),
        is_shown=lambda each: each.copies.n_refetches > 0,
        row=lambda each: row(each.coverage.domain, each.copies),
    )
