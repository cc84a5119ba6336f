"""Read the datasets that a host offers before its pages.

Who crawls page by page what the host publishes as a dump puts load on it for nothing.
So the pages of a host wait until the sitemaps that its robots.txt names are read, and
pages of a dataset that is fetched as a dump are left out.

Source: Semantic Sitemaps, first revision, section 2.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

from rdfcrawl.core.records import FollowUp, Kind, Record, Urgency
from rdfcrawl.core.source_tasks import RobotsTask, SitemapTask, SourceTask
from rdfcrawl.core.tasks import RevisitedPage
from rdfcrawl.frontier.arguments.parsers import DATASETS
from rdfcrawl.uri import is_of_web
from rdfcrawl.uri.hosts import origin_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from scrapy import Request
    from scrapy.crawler import Crawler

    from rdfcrawl.core.visits import Visit
    from rdfcrawl.frontier.arguments.crawl import CrawlArguments
    from rdfcrawl.frontier.session import CrawlSession

_FEW: Final = 4  # pages of a host that do not wait for its first page
_MAX_ORIGINS: Final = 100_000  # in memory; others are looked at once more


class OffersMiddleware:
    """A downloader middleware for visits, behind `RobotsMiddleware`."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._known: set[str] = set()
        self._looked_at: set[str] = set()  # hosts with a page that was requested

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the middleware of a crawler."""
        return cls(crawler)

    async def process_request(self, request: Request, _spider: Any = None) -> None:
        """Leave pages of a visit to the queue that offers of their host may replace."""
        visit: Visit | None = request.meta.get("visit")
        session: CrawlSession | None = getattr(self._crawler.spider, "session", None)
        if visit is None or session is None or not visit.pending:
            return
        offers = [x for i in visit.pending if _is_offer(x := visit.records[i])]
        self._known |= {origin_of(x.url) for x in offers if x.kind is Kind.SITEMAP}
        pages = [i for i in visit.pending if _is_page(visit.records[i])]
        if not pages:
            return
        if offers or await self._request_offers(session, visit, pages):
            _wait(visit, pages)
            return
        if session.ingests.own.covered.prefixes:
            await _leave_covered(session, visit, pages)
        _wait(visit, self._behind_first(session, visit))

    def _behind_first(self, session: CrawlSession, visit: Visit) -> list[int]:
        """Return the pages that wait for the first page of their host.

        Its own statements may name its dataset.
        """
        if visit.key in self._looked_at:
            return []
        if len(self._looked_at) >= _MAX_ORIGINS:
            self._looked_at.clear()
        pages = [
            index
            for index in visit.pending
            if _is_page(record := visit.records[index]) and is_of_web(record.url)
        ]
        if pages:
            self._looked_at.add(visit.key)
        if len(pages) <= _FEW:
            return []
        arguments = session.profiles.of(visit.records[pages[0]])
        return pages[1:] if _wants_datasets(arguments) else []

    async def _request_offers(
        self, session: CrawlSession, visit: Visit, pages: Iterable[int]
    ) -> bool:
        """Queue the robots.txt of new origins as a source; return whether any was."""
        is_new = False
        for record in map(visit.records.__getitem__, pages):
            origin = origin_of(record.url)
            is_deep = record.depth >= session.profiles.of(record).depth
            if origin in self._known or is_deep:
                continue
            if len(self._known) >= _MAX_ORIGINS:
                self._known.clear()
            self._known.add(origin)
            if root := self._root(session, record, origin):
                follow_up = FollowUp(root, urgency=Urgency.SOON)
                is_new |= await session.links.add_now(record, follow_up)
        return is_new

    def _root(
        self, session: CrawlSession, record: Record, origin: str
    ) -> Record | None:
        """Return the record for the sitemaps of an origin; None if none is wanted."""
        arguments = session.profiles.of(record)
        is_complete = Kind.SITEMAP in arguments.harvest
        if not (is_complete or _wants_datasets(arguments)):
            return None
        if not (
            is_of_web(origin) and self._has_sitemaps(origin, if_unknown=is_complete)
        ):
            return None
        payload = RobotsTask(only_datasets=not is_complete)
        task = SourceTask(session.run, payload=payload)
        return Record(
            f"{origin}/robots.txt",
            Kind.SITEMAP,
            record.depth + 1,
            record.url,
            task=task,
            profile=record.profile,
        )

    def _has_sitemaps(self, origin: str, *, if_unknown: bool) -> bool:
        from rdfcrawl.downloader.services import services_of  # noqa: PLC0415 (rare)

        robots = services_of(self._crawler).robots
        if robots is None:  # not obeyed, and so not read
            return if_unknown
        return bool(robots.sitemaps_of(origin))


def _wants_datasets(arguments: CrawlArguments) -> bool:
    return DATASETS in arguments.harvest and arguments.follow.wants_datasets


def _wait(visit: Visit, pages: Collection[int]) -> None:
    """Return pages of a visit to the queue, behind the others of the host."""
    if pages:
        visit.give_back(pages)
        visit.behind.update(pages)


def _is_page(record: Record) -> bool:
    return record.kind.is_of_url and record.task is None and not record.change


def _is_offer(record: Record) -> bool:
    """Return whether a record is a sitemap or description that a host names itself."""
    task = record.task
    if isinstance(task, RevisitedPage):
        return True
    payload = task.payload if isinstance(task, SourceTask) else None
    if isinstance(payload, SitemapTask):
        return payload.only_datasets or not payload.depth
    return isinstance(payload, RobotsTask)


async def _leave_covered(
    session: CrawlSession, visit: Visit, pages: Iterable[int]
) -> None:
    """Defer the pages of datasets that are fetched otherwise, as links to them are.

    They were queued before their dataset was known. If it fails, they are queued again.
    Seeds are requested in any case: the operator has named them.
    """
    ingests = session.ingests
    ingests.own.full = session.datasets.full()
    for index in pages:
        record = visit.records[index]
        if record.depth and ingests.of(record).defers_queued(record, session.run):
            visit.pending.remove(index)
    await session.datasets.defer()
