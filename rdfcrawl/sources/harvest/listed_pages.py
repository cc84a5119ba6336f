"""The pages in sitemaps, from run to run: pages to fetch again, and missing pages.

The claims of each sitemap about its pages are kept, in about 180 bytes each; the
fetches of the pages are in `page_fetches`. A sitemap that is read twice in a run has
the same results.
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
    merge_claims,
)

if TYPE_CHECKING:
    from rdfcrawl.core.errors import Fault
    from rdfcrawl.frontier.queue.tables import StateStore
    from rdfcrawl.sources.harvest.protocol import HarvestContext
    from rdfcrawl.sources.sitemaps.entry import SitemapEntry

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
    """The pages of sitemaps, shared by all workers of a crawl."""

    def __init__(self, context: HarvestContext) -> None:
        self._store: StateStore = context.state_store
        self._run = context.run
        self._after_secs = context.options.revisit_secs
        self._fetches = PageFetches(context.state_store)
        self._revisits = context.options.revisits is RevisitsBy.RUNS

    async def known(
        self, listing: ListedSitemap, urls: Iterable[str]
    ) -> Mapping[str, KnownPage]:
        """Return the knowledge of earlier readings about pages of a sitemap."""
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
        self,
        listing: ListedSitemap,
        url: str,
        claim: ListedPageClaim,
        known: KnownPage,
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
        async for group in self._claims(listing, lambda x: x.run >= since_run):
            fetches = await self._fetches.last_of(group)
            for url, claim in group.items():
                fetch = fetches[url]
                change = policy.change_of(claim, fetch) if fetch else None
                if change:
                    yield self._page(listing, url, claim, change)

    async def absent(self, listing: ListedSitemap) -> AsyncIterator[FollowUp]:
        """Yield the fetched pages that a completely read sitemap no longer lists.

        Each is fetched once more: only its response can say that it is gone.
        """
        run, since_run = self._run, listing.since_run
        async for group in self._claims(listing, lambda claim: claim.run < run):
            old = [url for url, claim in group.items() if claim.run < since_run]
            await self._store.drop(listing.key, _LISTED, old)
            fetches = await self._fetches.last_of(group.keys() - set(old))
            for url, fetch in sorted(fetches.items()):
                if self._revisits and fetch is not None and fetch.run != run:
                    yield self._page(listing, url, group[url], f"run {run}")

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
        return FollowUp(record, urgency=urgency, change=change)


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
