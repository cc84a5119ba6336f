"""Pages that wait for the other sitemaps of their site, if the crawl has a budget.

With `max_per_host` or `max_per_domain`, the pages of the highest priority are accepted.
The last sitemap of a site to be read takes all waiting pages.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rdfcrawl.core.records import FollowUp, Record
from rdfcrawl.core.source_tasks import SitemapTask
from rdfcrawl.core.tasks import ListedPage
from rdfcrawl.core.visits import decode_follow_up, encode_follow_up
from rdfcrawl.sources.harvest.listed_pages import by_priority
from rdfcrawl.sources.harvest.protocol import HarvestContext
from rdfcrawl.sources.harvest.run_state import RunState
from rdfcrawl.uri.hosts import site_of

# Tables of a site (`site_of`), with the number of the run in their names.
_UNREAD: Final = "budget unread"  # sitemaps not read yet
_READ: Final = "budget read"  # sitemaps that were read
_HELD: Final = "budget held"  # URL and rank -> the rest of the entry
_TAKEN: Final = "budget taken"  # `by`: the record that took the waiting pages
_MAX_HELD: Final = 50_000  # pages of one site; others do not wait


class BudgetedPages:
    """Pages of sitemaps that wait, for all workers of a crawl; none without a budget.

    Notes stay until the run is over, so a repeated record finds the same state.
    """

    def __init__(self, context: HarvestContext) -> None:
        budget = context.arguments.budget
        self.has_budget = budget.of_host > 0 or budget.of_domain > 0
        self._store = context.state_store
        state = RunState(self._store, context.run)
        self._begin, self._of_run = state.begin, state.table

    async def expect(self, sitemaps: Iterable[str], task: SitemapTask) -> None:
        """Note sitemaps of one task that will be read."""
        if not (self.has_budget and task.wants_entries):
            return
        urls = list(sitemaps)
        for site, some in _by_site(urls, task).items():
            await self._begin(site, (_UNREAD, _READ, _HELD, _TAKEN))
            unread = self._of_run(_UNREAD)
            await self._store.put(site, unread, dict.fromkeys(some, ""))
            # In this order, because a sitemap may be read in the meantime.
            read = await self._store.get_many(site, self._of_run(_READ), some)
            await self._store.drop(site, unread, read)

    async def expect_named(self, records: Iterable[Record]) -> None:
        """Note the sitemaps and robots.txt files named by the operator."""
        await self.expect((each.url for each in records), SitemapTask())

    async def mark_robots_read(self, robots: str, task: SitemapTask) -> None:
        """Note the end of a robots.txt, after its sitemaps."""
        if self.has_budget and task.wants_entries:
            await self._note_read(site_of(robots), robots)

    async def after(
        self, record: Record, task: SitemapTask, found: list[FollowUp]
    ) -> list[FollowUp]:
        """Return the records to queue after a sitemap was read or failed.

        Its pages wait if another sitemap of its site is not read yet; otherwise all
        waiting pages are returned, by priority.
        """
        if not (self.has_budget and task.wants_entries):
            return found
        pages = [each for each in found if isinstance(each.record.task, ListedPage)]
        others = [x for x in found if not isinstance(x.record.task, ListedPage)]
        (site,) = _by_site([record.url], task)
        own = f"{record.url} {record.task_text()}"
        over = await self._hold(site, pages)
        # In this order, so that the last sitemap finds the pages of the others.
        await self._note_read(site, record.url)
        taken = self._of_run(_TAKEN)
        if await self._store.size(site, self._of_run(_UNREAD)):
            by = await self._store.get(site, taken, "by")
        else:
            by = await self._store.claim(site, taken, "by", own)
        if by == own:
            over += await self._held(site)
        elif by is not None:  # the waiting pages are taken already
            over = pages
        return [*others, *by_priority(over)]

    async def _note_read(self, site: str, url: str) -> None:
        await self._store.put(site, self._of_run(_READ), {url: ""})
        await self._store.drop(site, self._of_run(_UNREAD), [url])

    async def _hold(self, site: str, pages: list[FollowUp]) -> list[FollowUp]:
        """Store waiting pages; return those beyond the limit."""
        held, table = dict(map(_entry, pages)), self._of_run(_HELD)
        over = await self._store.put_up_to(site, table, held, _MAX_HELD)
        return [_follow_up(key, held[key]) for key in over]

    async def _held(self, site: str) -> list[FollowUp]:
        entries = self._store.entries(site, self._of_run(_HELD))
        return [_follow_up(key, text) async for key, text in entries]


def _entry(page: FollowUp) -> tuple[str, str]:
    task = page.record.task
    rank = task.rank if isinstance(task, ListedPage) else 0
    return f"{page.record.url} {rank}", encode_follow_up(page)


def _follow_up(key: str, text: str) -> FollowUp:
    return decode_follow_up(key.partition(" ")[0], text)


def _by_site(urls: Iterable[str], task: SitemapTask) -> dict[str, list[str]]:
    """Group sitemaps by the site of their pages."""
    found: dict[str, list[str]] = {}
    for url in urls:
        site = task.robots_hosts[0] if task.robots_hosts else site_of(url)
        found.setdefault(site, []).append(url)
    return found
