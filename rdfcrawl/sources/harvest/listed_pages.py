"""The pages of sitemaps: which of them to visit again in a later run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.core.codec import decode, encode
from rdfcrawl.core.errors import LOSSES, Fault, Reason
from rdfcrawl.core.records import Document, FollowUp, Kind, Record, Urgency
from rdfcrawl.core.tasks import ListedPage
from rdfcrawl.core.times import PointInTime, parse_point
from rdfcrawl.frontier.queue.options import RevisitsBy
from rdfcrawl.sources.harvest.page_fetches import PageFetch, PageFetches
from rdfcrawl.sources.sitemaps.entry import ChangeFrequency, SitemapEntry

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.tables import StateStore
    from rdfcrawl.sources.harvest.options import HarvestOptions


_DAY_SECS: Final = 24 * 3600
_EVERY_SECS: Final = {
    ChangeFrequency.ALWAYS: 0,
    ChangeFrequency.HOURLY: 3600,
    ChangeFrequency.DAILY: _DAY_SECS,
    ChangeFrequency.WEEKLY: 7 * _DAY_SECS,
    ChangeFrequency.MONTHLY: 30 * _DAY_SECS,
    ChangeFrequency.YEARLY: 365 * _DAY_SECS,
}
# Consecutive runs with extra visits of a failing page without stored statements.
_MAX_TRIES: Final = 3


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
        if _is_owed(fetch):
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


def _is_tried(fetch: PageFetch) -> bool:
    """Return whether the next run repeats a failed fetch, whatever dates say."""
    is_new = fetch.n_failures <= _MAX_TRIES
    return bool(fetch.n_failures) and (fetch.has_copy or is_new)


def _is_owed(fetch: PageFetch | None) -> bool:
    return fetch is not None and (fetch.is_doubtful or _is_tried(fetch))


def _is_in_doubt(fetch: PageFetch | None) -> bool:
    """Return whether a page that is no longer listed may still have statements."""
    return (
        fetch is not None and _is_owed(fetch) and (fetch.has_copy or fetch.is_doubtful)
    )


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


_LISTED: Final = "listed"  # table of a sitemap: URL -> `ListedPageClaim`
# Minimum rank of each urgency; 5000 is the default of the protocol.
_URGENCIES: Final = (
    (9_000, Urgency.HIGHEST),
    (7_000, Urgency.HIGH),
    (5_001, Urgency.RAISED),
    (5_000, Urgency.ORDINARY),
    (3_000, Urgency.LOWERED),
    (0, Urgency.LOW),
)
_INCOMPLETE: Final = (LOSSES - {Reason.SYNTAX}) | {Reason.EMPTY, Reason.UNKNOWN_FORMAT}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSitemap:
    """A sitemap as a list of pages, by a response or by its stored state.

    Attributes:
        key: of the sitemap in the state store.
        url: of the sitemap.
        depth: of its record.
        secs: time of the response, Unix time.
        read_secs: time of the reading in an earlier run; 0 if none.
        since_run: last run that read it completely.
        is_pinged: a ping reported a change, possibly after the reading in this run;
            pages with later dates are fetched once more.
    """

    key: str
    url: str
    depth: int
    secs: int
    read_secs: int = 0
    since_run: int = 0
    is_pinged: bool = False


class KnownPage(NamedTuple):
    """Knowledge of earlier runs about a listed page."""

    claim: ListedPageClaim | None = None
    fetch: PageFetch | None = None


class ListedPages:
    """The pages of sitemaps, shared by all workers of a crawl.

    Args:
        store: of the crawl.
        run: number of the run.
        options: of the harvesters.
        are_sliced: dumps are cut into slices, which have the graphs of pages.
    """

    def __init__(
        self,
        store: StateStore,
        run: int,
        options: HarvestOptions,
        *,
        are_sliced: bool = False,
    ) -> None:
        self._store = store
        self._run = run
        self._are_sliced = are_sliced
        self._after_secs = options.revisit_secs
        self._fetches = PageFetches(store)
        self._revisits = options.revisits is RevisitsBy.RUNS

    async def known(
        self, listing: ListedSitemap, urls: Iterable[str]
    ) -> Mapping[str, KnownPage]:
        """Return the knowledge of earlier readings about pages of a sitemap."""
        if not (self._run or listing.is_pinged):
            return {}
        urls = dict.fromkeys(urls)
        texts = await self._store.get_many(listing.key, _LISTED, urls)
        fetches = await self._fetches.last_of(urls)
        return {
            url: KnownPage(_claim_of(texts[url]) if url in texts else None, fetch)
            for url, fetch in fetches.items()
        }

    async def keep(
        self, listing: ListedSitemap, claims: Mapping[str, ListedPageClaim]
    ) -> None:
        """Keep the claims of a sitemap, before its pages are queued."""
        entries = {url: encode(claim) for url, claim in claims.items()}
        if entries:
            await self._store.put(listing.key, _LISTED, entries)

    def claim_of(
        self, listing: ListedSitemap, entry: SitemapEntry, known: KnownPage
    ) -> ListedPageClaim:
        """Return the claim of a sitemap about a page."""
        priority = 0.5 if entry.priority is None else entry.priority
        rank = round(min(max(priority, 0), 1) * 10_000)
        lastmod = entry.lastmod.text if entry.lastmod else ""
        claim = ListedPageClaim(self._run, rank, lastmod, entry.changefreq)
        return merge_claims(claim, known.claim, listing.secs)

    def follow_up(
        self, listing: ListedSitemap, url: str, claim: ListedPageClaim, known: KnownPage
    ) -> FollowUp | None:
        """Return the record of a listed page; None if it is not due."""
        policy, change = self._policy(listing), None
        if listing.is_pinged:
            change = policy.news_of(claim, known.fetch, known.claim)
        if change is None and not self._revisits:
            change = "" if known.fetch is None else None
        elif change is None:
            change = policy.change_of(claim, known.fetch)
        return None if change is None else self._page(listing, url, claim, change)

    async def revisits(self, listing: ListedSitemap) -> AsyncIterator[FollowUp]:
        """Yield the due pages of an unchanged sitemap."""
        if not self._revisits:
            return
        policy, since_run = self._policy(listing), listing.since_run
        async for group in self._claims(listing, lambda _: True):
            fetches = await self._fetches.last_of(group)
            for url, claim in group.items():
                fetch = fetches[url]
                if fetch and (claim.run >= since_run or _is_owed(fetch)):
                    change = policy.change_of(claim, fetch)
                else:
                    change = None
                if change:
                    yield self._page(listing, url, claim, change)

    async def absent(self, listing: ListedSitemap) -> AsyncIterator[FollowUp]:
        """Yield the fetched pages that a completely read sitemap no longer lists.

        Each is fetched once more: only its response can say that it is gone. If that
        fails, or a dated page is unchanged, the next run tries again.
        """
        run, since_run = self._run, listing.since_run
        async for group in self._claims(listing, lambda claim: claim.run < run):
            fetches = await self._fetches.last_of(group)
            old = [
                url
                for url, claim in group.items()
                if claim.run < since_run and not _is_in_doubt(fetches[url])
            ]
            await self._store.drop(listing.key, _LISTED, old)
            for url in sorted(group.keys() - set(old)):
                fetch = fetches[url]
                if self._revisits and fetch is not None and fetch.run != run:
                    undated = replace(group[url], lastmod="")
                    page = self._page(listing, url, undated, f"run {run}")
                    yield replace(page, yields_to_dump=self._are_sliced)

    def _policy(self, listing: ListedSitemap) -> RevisitPolicy:
        return RevisitPolicy(
            self._run, listing.secs, self._after_secs, listing.read_secs
        )

    async def _claims(
        self, listing: ListedSitemap, is_selected: Callable[[ListedPageClaim], bool]
    ) -> AsyncIterator[dict[str, ListedPageClaim]]:
        async for batch in self._store.batches(listing.key, _LISTED):
            claims = {url: _claim_of(text) for url, text in batch.items()}
            selected = {url: x for url, x in claims.items() if is_selected(x)}
            if selected:
                yield selected

    def _page(
        self, listing: ListedSitemap, url: str, claim: ListedPageClaim, change: str
    ) -> FollowUp:
        task = ListedPage(claim.rank, listing.secs, self._run, claim.lastmod)
        record = Record(url, Kind.PAGE, listing.depth + 1, listing.url, task=task)
        urgency = next(urgency for least, urgency in _URGENCIES if claim.rank >= least)
        return FollowUp(
            record,
            urgency=urgency,
            change=change,
            yields_to_dump=self._are_sliced or not claim.lastmod,
        )


def by_priority(listed: list[FollowUp]) -> list[FollowUp]:
    """Return follow-ups with the pages of high priority before others."""
    return sorted(listed, key=_minus_rank)


def _minus_rank(follow_up: FollowUp) -> int:
    task = follow_up.record.task
    return -task.rank if isinstance(task, ListedPage) else -10_001


def is_complete(document: Document, faults: Iterable[Fault]) -> bool:
    """Return whether a sitemap was read completely, so that deletions show."""
    reasons = {fault.reason for fault in (*document.faults, *faults)}
    return not document.is_partial and reasons.isdisjoint(_INCOMPLETE)


def _claim_of(text: str) -> ListedPageClaim:
    return decode(text, ListedPageClaim)
