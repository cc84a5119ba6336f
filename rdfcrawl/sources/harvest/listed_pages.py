"""The pages that sitemaps list, from run to run: which to fetch again, which are gone.

Of each sitemap, the claims about its pages are kept, about 180 bytes each; what became
of the pages themselves is in `page_fetches`. A sitemap that is read once more in a run
finds what it found the first time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.core.codec import decode, encode
from rdfcrawl.core.errors import LOSSES, Reason
from rdfcrawl.core.records import Document, FollowUp, Kind, Record, Urgency
from rdfcrawl.core.tasks.pages import ListedPage
from rdfcrawl.frontier.queue.options import RevisitsBy
from rdfcrawl.sources.harvest.page_fetches import PageFetches
from rdfcrawl.sources.sitemaps.revisits import (
    ListedPageClaim,
    PageFetch,
    RevisitPolicy,
    claim_again,
)

if TYPE_CHECKING:
    from rdfcrawl.core.errors import Fault
    from rdfcrawl.frontier.queue.state_store import StateStore
    from rdfcrawl.sources.harvest.protocol import HarvestContext
    from rdfcrawl.sources.sitemaps.entry import SitemapEntry

_LISTED: Final = "listed"  # table of a sitemap: URL -> `ListedPageClaim`
_AT_ONCE: Final = 500
# From which rank on a page has which urgency; 5000 is the default of the protocol.
_URGENCIES: Final = (
    (9_000, Urgency.HIGHEST),
    (7_000, Urgency.HIGH),
    (5_001, Urgency.RAISED),
    (5_000, Urgency.ORDINARY),
    (3_000, Urgency.LOWERED),
    (0, Urgency.LOW),
)
_NOT_WHOLE: Final = (LOSSES - {Reason.SYNTAX}) | {Reason.EMPTY, Reason.UNKNOWN_FORMAT}


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapLook:
    """One look at a sitemap: by a response, or by what is kept of it.

    Attributes:
        key: of the sitemap in the state store.
        url: of the sitemap.
        depth: of its record.
        secs: when it was looked at, Unix time.
        read_secs: when it was read in an earlier run; 0 if it was not.
        since_run: last run in which it was read to its end.
        is_pinged: somebody says that it has changed, perhaps since it was read in this
            run: pages with later dates are fetched once more.
    """

    key: str
    url: str
    depth: int
    secs: int
    read_secs: int = 0
    since_run: int = 0
    is_pinged: bool = False


class KnownPage(NamedTuple):
    """What earlier runs know of a listed page."""

    claim: ListedPageClaim | None = None
    fetch: PageFetch | None = None


class ListedPages:
    """The pages of sitemaps, shared by all workers of a crawl."""

    def __init__(self, context: HarvestContext) -> None:
        self._store: StateStore = context.state_store
        self._run = context.run
        self._after_secs = context.options.revisit_secs
        self._fetches = PageFetches(context.state_store)
        self._revisits = context.options.revisits is RevisitsBy.RUNS

    async def known(
        self, listing: SitemapLook, urls: Iterable[str]
    ) -> Mapping[str, KnownPage]:
        """Return what is known of pages that a sitemap lists, by earlier readings."""
        if not (self._run or listing.is_pinged):
            return {}
        urls = list(dict.fromkeys(urls))
        texts = await self._store.get_many(listing.key, _LISTED, urls)
        fetches = await self._fetches.last_of(urls)
        return {
            url: KnownPage(_claim_of(text) if text else None, fetches[url])
            for url, text in zip(urls, texts, strict=True)
        }

    async def keep(
        self, listing: SitemapLook, claims: Mapping[str, ListedPageClaim]
    ) -> None:
        """Keep the claims of a sitemap, before its pages are queued."""
        entries = {url: encode(claim) for url, claim in claims.items()}
        if entries:
            await self._store.put(listing.key, _LISTED, entries)

    def claim_of(
        self, listing: SitemapLook, entry: SitemapEntry, known: KnownPage
    ) -> ListedPageClaim:
        """Return the claim of a sitemap about a page."""
        priority = 0.5 if entry.priority is None else entry.priority
        rank = round(min(max(priority, 0), 1) * 10_000)
        lastmod = entry.lastmod.text if entry.lastmod else ""
        claim = ListedPageClaim(self._run, rank, lastmod, entry.changefreq)
        return claim_again(claim, known.claim, listing.secs)

    def follow_up(
        self,
        listing: SitemapLook,
        url: str,
        claim: ListedPageClaim,
        known: KnownPage,
    ) -> FollowUp | None:
        """Return the record of a listed page; None if it is not fetched again."""
        policy, change = self._policy(listing), None
        if listing.is_pinged:
            change = policy.news_of(claim, known.fetch, known.claim)
        if change is None and not self._revisits:
            change = "" if known.fetch is None else None
        elif change is None:
            change = policy.change_of(claim, known.fetch)
        return None if change is None else self._page(listing, url, claim, change)

    async def again(self, listing: SitemapLook) -> AsyncIterator[FollowUp]:
        """Yield the pages to be fetched again of a sitemap that is the same."""
        if not self._revisits:
            return
        policy, since_run = self._policy(listing), listing.since_run
        async for group in self._claims(listing, lambda x: x.run >= since_run):
            fetches = await self._fetches.last_of(group)
            for url, claim in group.items():
                fetch = fetches[url]
                change = policy.change_of(claim, fetch) if fetch else None
                if change:
                    yield self._page(listing, url, claim, change)

    async def absent(self, listing: SitemapLook) -> AsyncIterator[FollowUp]:
        """Yield the fetched pages that a sitemap, read to its end, lists no more.

        Each is fetched once more: only its own answer says that it is gone.
        """
        run, since_run = self._run, listing.since_run
        async for group in self._claims(listing, lambda claim: claim.run < run):
            old = [url for url, claim in group.items() if claim.run < since_run]
            await self._store.drop(listing.key, _LISTED, old)
            fetches = await self._fetches.last_of(group.keys() - set(old))
            for url, fetch in sorted(fetches.items()):
                if self._revisits and fetch is not None and fetch.run != run:
                    yield self._page(listing, url, group[url], f"run {run}")

    def _policy(self, listing: SitemapLook) -> RevisitPolicy:
        return RevisitPolicy(
            self._run, listing.secs, self._after_secs, listing.read_secs
        )

    async def _claims(
        self, listing: SitemapLook, is_wanted: Callable[[ListedPageClaim], bool]
    ) -> AsyncIterator[dict[str, ListedPageClaim]]:
        group: dict[str, ListedPageClaim] = {}
        async for url, text in self._store.entries(listing.key, _LISTED):
            claim = _claim_of(text)
            if is_wanted(claim):
                group[url] = claim
            if len(group) == _AT_ONCE:
                yield group
                group = {}
        if group:
            yield group

    def _page(
        self, listing: SitemapLook, url: str, claim: ListedPageClaim, change: str
    ) -> FollowUp:
        task = ListedPage(claim.rank, listing.secs, self._run, claim.lastmod)
        record = Record(url, Kind.PAGE, listing.depth + 1, listing.url, task=task)
        urgency = next(urgency for least, urgency in _URGENCIES if claim.rank >= least)
        return FollowUp(record, urgency=urgency, change=change)


def by_priority(listed: list[FollowUp]) -> list[FollowUp]:
    """Return follow-ups with the pages of high priority before others."""
    return sorted(listed, key=_minus_rank)


def _minus_rank(follow_up: FollowUp) -> int:
    task = follow_up.record.task
    return -task.rank if isinstance(task, ListedPage) else -10_001


def is_whole(document: Document, faults: Iterable[Fault]) -> bool:
    """Return whether a sitemap was read to its end, so that what it lacks is gone."""
    reasons = {fault.reason for fault in (*document.faults, *faults)}
    return not document.is_partial and reasons.isdisjoint(_NOT_WHOLE)


def _claim_of(text: str) -> ListedPageClaim:
    return decode(text, ListedPageClaim)
