"""The table of the freshness of copies now, and of the requests that more needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.refresh.freshness import FreshnessNow, freshness_now
from rdfcrawl.analysis.refresh.histories import SiteHistories
from rdfcrawl.analysis.refresh.optimal import budget_for, freshness_of
from rdfcrawl.analysis.refresh.outlook import RefreshGoal
from rdfcrawl.analysis.refresh.policy import DAY_MS
from rdfcrawl.analysis.report.content import ReportCell, ReportRow, ReportTable
from rdfcrawl.core.times import now_ms

if TYPE_CHECKING:
    from rdfcrawl.analysis.report.domains import SiteFigures

_N_SITES: Final = 50
_TARGETS: Final = (0.9, 0.95)


def make_freshness_table(sites: SiteFigures, goal: RefreshGoal) -> ReportTable:
    """Return the freshness of the copies of each site at this time."""
    now, epoch = _now(sites), goal.epoch_ms / DAY_MS
    targets = tuple(sorted({*_TARGETS, *([goal.plan.freshness] if goal.plan else ())}))
    largest, rest = sites.largest, SiteHistories(now)
    for histories in (sites.rest, *(x.histories for x in largest[_N_SITES:])):
        rest.merge(histories)
    total, rows = freshness_now(rest, now), list[ReportRow]()
    for site in largest[:_N_SITES]:
        found = freshness_now(site.histories, now)
        if found.n_pages:
            total = total.plus(found)
            rows.append((site.coverage.domain, *_cells(found, epoch, targets)))
    if total.n_pages:
        rows.insert(0, ("all sites", *_cells(total, epoch, targets)))
    return ReportTable(
        key="freshness",
        title="Freshness now",
        sentence="Expected share of copies that equal their pages at the time of this"
        " report, and bounds between which it is in 95 of 100 cases: they are far apart"
        " after few refetches. Requests a day: refetches so far. One more: freshness"
        " that one more request a day adds. The last columns have the requests a day"
        " that a freshness needs, at the best frequencies for the rates of change; a"
        " dash: it is out of reach, as a page is fetched at most once in an epoch.",
        columns=(
            *("site", "pages", "fresh", "from", "to", "requests a day", "one more"),
            *(f"for {each:g}" for each in targets),
        ),
        rows=tuple(rows),
        n_left_out=max(sites.n_domains - _N_SITES, 0),
        why_empty="No page has a copy.",
    )


def _cells(
    found: FreshnessNow, epoch: float, targets: tuple[float, ...]
) -> Iterator[ReportCell]:
    yield round(found.n_pages)
    yield from (round(each, 3) for each in (found.estimate, *found.interval))
    yield _rounded(found.n_daily)
    most = 1 / epoch
    more = (freshness_of(found.rates, found.n_daily + n, most) for n in (0, 1))
    yield _rounded(-next(more) + next(more))
    for target in targets:
        needed = budget_for(found.rates, target, most)
        yield None if needed is None else _rounded(needed)


def _rounded(number: float) -> float:
    return float(f"{number:.3g}")


def _now(sites: SiteFigures) -> float:
    """Return the present time, in days since 1970, with a rounded age of copies.

    So reports that soon follow one another are equal.
    """
    known = (sites.rest, *(site.histories for site in sites.largest))
    latest = max(each.latest() for each in known)
    return latest + float(f"{max(now_ms() / DAY_MS - latest, 0.0):.2g}")
