"""Decide whether a listed page is fetched again in a later run of a crawl.

Pure policy: the claims of a sitemap about a page, the last fetch of the page, and the
present run are compared; nothing is requested or stored here.
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
_MOST_TRIES: Final = 3  # runs in a row; then a failing page is revisited as any other


@dataclass(frozen=True, slots=True)
class ListedPageClaim:
    """The claims of a sitemap about one page, as kept between runs.

    Attributes:
        run: last one in which the sitemap listed the page.
        rank: priority, from 0 to 10,000.
        lastmod: text of the last change; empty if there is none.
        changefreq: None if there is none.
        former: `lastmod` in the run before this one.
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
    """The last fetch of a listed page, as kept between runs.

    Attributes:
        run: in which the page was fetched.
        secs: time of the request, Unix time.
        lastmod: claim of the sitemap at that time.
        n_failures: fetches in a row, up to this one, that brought nothing.
        etag, last_modified: of the last response that was read without losses.
        read_at: URL where it was read, if it was redirected there.
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
        after_secs: age from which a page is fetched again about which nothing says how
            often it changes.
        read_secs: when the sitemap was read before; 0 if it was not.
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
        """Return what sets another fetch in this run apart, of a pinged sitemap.

        None: its date is not later than that of the last fetch in this run. A fetch may
        not be known yet: then the date must be another one than `before`, the claim as
        an earlier reading in this run has left it.
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
        """Return what sets a fetch in this run apart from those before.

        The text is empty for a page that is not known to be fetched, as links may have
        led to it; None: the page is not fetched again. A date that is older than that
        of the last fetch, as in an old sitemap, is no reason to fetch.
        """
        point = parse_point(claim.lastmod) if claim.lastmod else None
        again = f"run {self.run}"
        if fetch is None:
            return again if point and self._is_news(claim, point) else ""
        if fetch.run == self.run:
            return None
        if point and _is_other(claim, point, fetch):
            return again
        if 0 < fetch.n_failures <= _MOST_TRIES:
            return again
        if point and not fetch.n_failures:
            # With the precision of a day, there may be another change after the fetch.
            return again if point.may_be_after(_moment(fetch.secs)) else None
        every_secs = self._every_secs(claim.changefreq)
        is_due = every_secs is not None and self.now_secs - fetch.secs >= every_secs
        return again if is_due else None

    def _is_news(self, claim: ListedPageClaim, point: PointInTime) -> bool:
        if not self.read_secs:
            return False
        has_moved = claim.former is not None and claim.former != claim.lastmod
        return has_moved or point.may_be_after(_moment(self.read_secs))

    def _every_secs(self, changefreq: ChangeFrequency | None) -> int | None:
        if changefreq is None:
            return self.after_secs
        return _EVERY_SECS.get(changefreq)


def claim_again(
    claim: ListedPageClaim, before: ListedPageClaim | None, now_secs: int
) -> ListedPageClaim:
    """Return a claim of this run, with what is known of the one before.

    Of several dates in one sitemap the latest counts, unless it lies in the future. A
    sitemap that is read once more in a run finds what it found the first time.

    Args:
        claim: of this run.
        before: of an earlier run, or of this one.
        now_secs: when the sitemap is read, Unix time.
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
    """Return whether a date was stated since the last fetch, and is a later one.

    Of several sitemaps that date a page, the last fetch may know one only.
    """
    known = parse_point(fetch.lastmod) if fetch.lastmod else None
    return claim.since > fetch.run and (known is None or known < point)


def _moment(unix_secs: int) -> datetime:
    return datetime.fromtimestamp(unix_secs, UTC)
