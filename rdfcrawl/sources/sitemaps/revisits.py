"""Decide whether to revisit a listed page in a later run of a crawl.

Pure policy: compares the claims of a sitemap about a page, the last fetch of the page,
and the present run, without requests or storage.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from rdfcrawl.core.w3c_dates import PointInTime, parse_point
from rdfcrawl.sources.sitemaps.entry import ChangeFrequency

_DAY_SECS: Final = 24 * 3600
_EVERY_SECS: Final = {
    ChangeFrequency.ALWAYS: 0,
    ChangeFrequency.HOURLY: 3600,
    ChangeFrequency.DAILY: _DAY_SECS,
    ChangeFrequency.WEEKLY: 7 * _DAY_SECS,
    ChangeFrequency.MONTHLY: 30 * _DAY_SECS,
    ChangeFrequency.YEARLY: 365 * _DAY_SECS,
}
_MAX_TRIES: Final = 3  # consecutive runs with extra visits of a failing page


@dataclass(frozen=True, slots=True)
class ListedPageClaim:
    """The claims of a sitemap about one page, kept between runs.

    Attributes:
        run: last run in which the sitemap listed the page.
        rank: priority, from 0 to 10,000.
        lastmod: text of the last change; empty if missing.
        changefreq: None if missing.
        former: `lastmod` in the previous run.
        since: run in which the sitemap first stated this `lastmod`.
    """

    run: int
    rank: int
    lastmod: str = ""
    changefreq: ChangeFrequency | None = None
    former: str | None = None
    since: int = 0


@dataclass(frozen=True, slots=True)
class PageFetch:
    """The last fetch of a listed page, kept between runs.

    Attributes:
        run: the run that fetched the page.
        secs: time of the request, Unix time.
        lastmod: claim of the sitemap at that time.
        n_failures: consecutive failed fetches, including this one.
        etag, last_modified: of the last response read without losses.
        read_at: URL after redirects, if different.
    """

    run: int
    secs: int
    lastmod: str = ""
    n_failures: int = 0
    etag: str = ""
    last_modified: str = ""
    read_at: str = ""


@dataclass(frozen=True, slots=True)
class RevisitPolicy:
    """Revisits in the present run of a crawl.

    Attributes:
        run: number of the run.
        now_secs: Unix time.
        after_secs: revisit age of pages without a stated change frequency.
        read_secs: time of the last reading of the sitemap; 0 if none.
    """

    run: int
    now_secs: int
    after_secs: int
    read_secs: int = 0

    def news_of(
        self,
        claim: ListedPageClaim,
        fetch: PageFetch | None,
        before: ListedPageClaim | None,
    ) -> str | None:
        """Return the change that makes a page of a pinged sitemap due once more.

        The result is None if its date is not later than that of the last fetch in this
        run. If no fetch is known yet, the date must differ from `before`, the claim of
        an earlier reading in this run.
        """
        point = parse_point(claim.lastmod) if claim.lastmod else None
        if point is None:
            return None
        if fetch is not None and fetch.run == self.run:
            known = parse_point(fetch.lastmod) if fetch.lastmod else None
            at = _moment(fetch.secs)
            is_later = point.may_be_after(at) if known is None else known < point
        else:
            is_other = before is not None and before.lastmod != claim.lastmod
            is_later = is_other and before is not None and before.run == self.run
        return f"run {self.run} {claim.lastmod}" if is_later else None

    def change_of(self, claim: ListedPageClaim, fetch: PageFetch | None) -> str | None:
        """Return the change that makes a page due in this run.

        The text is empty for a page without a known fetch, because links may have led
        to it; None if the page is not due. A date older than that of the last fetch,
        for example in an old sitemap, does not make it due.
        """
        point = parse_point(claim.lastmod) if claim.lastmod else None
        change = f"run {self.run}"
        if fetch is None:
            return change if point and self._is_news(claim, point) else ""
        if fetch.run == self.run:
            return None
        if point and _is_other(claim, point, fetch):
            return change
        if 0 < fetch.n_failures <= _MAX_TRIES:
            return change
        if point and not fetch.n_failures:
            # A date may hide another change after the fetch on the same day.
            return change if point.may_be_after(_moment(fetch.secs)) else None
        every_secs = self._every_secs(claim.changefreq)
        is_due = every_secs is not None and self.now_secs - fetch.secs >= every_secs
        return change if is_due else None

    def _is_news(self, claim: ListedPageClaim, point: PointInTime) -> bool:
        if not self.read_secs:
            return False
        has_moved = claim.former is not None and claim.former != claim.lastmod
        return has_moved or point.may_be_after(_moment(self.read_secs))

    def _every_secs(self, changefreq: ChangeFrequency | None) -> int | None:
        if changefreq is None:
            return self.after_secs
        return _EVERY_SECS.get(changefreq)


def merge_claims(
    claim: ListedPageClaim, before: ListedPageClaim | None, now_secs: int
) -> ListedPageClaim:
    """Return a claim of this run, merged with the previous claim.

    The latest of several dates in one sitemap counts, unless it lies in the future. A
    sitemap that is read twice in a run has the same result.

    Args:
        claim: of this run.
        before: of an earlier run, or of this one.
        now_secs: time of the reading, Unix time.
    """
    if before is None:
        return replace(claim, since=claim.run)
    former = before.former if before.run == claim.run else before.lastmod
    if claim.lastmod == before.lastmod or _is_overtaken(claim, before, now_secs):
        lastmod, since = before.lastmod, before.since
    else:
        lastmod, since = claim.lastmod, claim.run
    return replace(claim, lastmod=lastmod, former=former, since=since)


def _is_overtaken(
    claim: ListedPageClaim, before: ListedPageClaim, now_secs: int
) -> bool:
    date = parse_point(claim.lastmod) if claim.lastmod else None
    later = parse_point(before.lastmod) if before.lastmod else None
    if date is None or later is None:
        return False
    return date < later and later.earliest <= _moment(now_secs)


def _is_other(claim: ListedPageClaim, point: PointInTime, fetch: PageFetch) -> bool:
    """Return whether a date was stated after the last fetch, and is later.

    If several sitemaps date a page, the last fetch may know only one of them.
    """
    known = parse_point(fetch.lastmod) if fetch.lastmod else None
    return claim.since > fetch.run and (known is None or known < point)


def _moment(unix_secs: int) -> datetime:
    return datetime.fromtimestamp(unix_secs, UTC)
