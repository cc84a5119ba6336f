"""The Scrapy scheduler in front of the frontier.

For spiders that visit hosts (`spiders/base.py`) a request is a visit: one leased host
with a batch of its URIs. Requests of such a spider for http and https go to the
frontier (`PendingRequests`). Requests for other schemes are kept in memory by Scrapy's
own scheduler. All requests of other spiders are kept by the scheduler of scrapy-redis,
if the settings name a Redis (`shared_requests`), and else in memory.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Final, Self, cast

from scrapy import Request, Spider, signals
from scrapy.core.scheduler import BaseScheduler, Scheduler
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import deferred_from_coro

from rdfcrawl.core.errors import (
    CrawlGone,
    Fault,
    HeldBack,
    Reason,
    StoreFault,
    one_line,
)
from rdfcrawl.core.messages import counted
from rdfcrawl.core.records import MAX_RETRIES, Document, Record, refused
from rdfcrawl.core.visits import Visit, before_leaving, flush_stores, stop_visits
from rdfcrawl.frontier.engine import EngineView, VisitPlaces, VisitRequest, note_error
from rdfcrawl.frontier.queue.worker_reports import (
    DRAINED,
    FollowerLag,
    examples_of,
    note_failed_part,
    note_own_fault,
    share_examples,
)
from rdfcrawl.frontier.redis.errors import REDIS_REFUSES, WorkerRefusedError
from rdfcrawl.frontier.session import CrawlSession
from rdfcrawl.frontier.visiting import (
    DirectVisits,
    PendingRequests,
    SpiderServices,
    VisitingSpider,
    makes_visits,
)
from rdfcrawl.frontier.worker.worker_state import (
    STORE_FLUSH_SECS,
    STORE_FLUSHES,
    WorkerHooks,
    figures_of,
)

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.defer import Deferred
    from twisted.python.failure import Failure


logger = logging.getLogger(__name__)

_WATCH_SECS = 0.02
# While no visit ends for a second, e.g. if all hosts are silent.
_MOST_WATCH_SECS = 0.1
_SLOW_LOOK_SECS = 0.25
_GRACE_SECS = 2.0  # for requests in flight when the worker stops
_PUT_OFF_SECS = 30.0  # for a slow host, when there are too many
# Keeps middlewares and extensions for responses of one URL from processing visits.
_META: Final = {
    "download_slot": "visits",
    "dont_cache": True,
    "allow_offsite": True,
    "autothrottle_dont_adjust_delay": True,
}


def _scheduler_of_others(crawler: Crawler) -> BaseScheduler:
    if isinstance(crawler.spider, VisitingSpider):
        return Scheduler.from_crawler(crawler)
    from rdfcrawl.frontier.shared_requests import request_scheduler  # noqa: PLC0415

    return request_scheduler(crawler)


class FrontierScheduler(BaseScheduler):
    """Hands out visits, and reports finished ones to the worker."""

    def __init__(self, crawler: Crawler) -> None:
        self.session: CrawlSession | None = None
        self._services: SpiderServices | None = None  # set with the session
        self._crawler = crawler
        self._engine = EngineView(crawler)
        self._stats = crawler.stats
        self._others = _scheduler_of_others(crawler)
        self._out: dict[Request, Visit] = {}
        self._places = VisitPlaces(self._out, self._engine, self._put_off)
        self._direct: DirectVisits | None = None
        self._follower_lag = FollowerLag()
        self._looked_at = 0.0
        self._stopped_at = 0.0
        self._watcher: asyncio.Task[None] | None = None
        self._taker: asyncio.Task[None] | None = None
        self._is_stopping = False
        self._has_paused = False
        self._has_left = False
        self._arrivals: PendingRequests | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the scheduler of a crawler."""
        return cls(crawler)

    def open(self, spider: Spider) -> Deferred[None] | None:
        """Join the crawl."""
        self._others.open(spider)
        if not makes_visits(spider):
            return None
        return deferred_from_coro(self._open(spider))

    def close(self, reason: str) -> Deferred[None] | None:
        """Commit finished visits, put back the others, leave the crawl."""
        if self.session is None:
            return self._others.close(reason)
        return deferred_from_coro(self._close(reason))

    def has_pending_requests(self) -> bool:
        """Return whether the crawl, not only this worker, has work."""
        is_over = self.session is None or self.session.worker.is_over
        has_own = self._arrivals or self._others.has_pending_requests()
        return not is_over or bool(has_own)

    def enqueue_request(self, request: Request) -> bool:
        """Take a request that a spider yielded."""
        arrivals = self._arrivals
        if arrivals is not None and arrivals.is_for_frontier(request):
            return arrivals.take(request)
        return self._others.enqueue_request(request)

    def next_request(self) -> Request | None:
        """Return the next request, or None if none is ready; never waits.

        Visits that need nothing of the engine begin here.
        """
        direct = self._direct
        while (request := self._next_request()) is not None:
            if direct is None or request not in self._out:
                return request
            direct.begin(request)
        return None

    def _next_request(self) -> Request | None:
        if self.session is not None and (self._pauses() or not self._places.has_room()):
            return None
        while (request := self._others.next_request()) is not None:
            if not self._leaves(request):
                break
        if request is not None or self.session is None:
            return request
        session, services = self.session, self._services
        if (visit := self._next_visit(session)) is None:
            return None
        if session.blocked.has_any:
            session.blocked.strike_out(visit)
        session.leave_to_others(visit)
        visit.step_at = monotonic()
        request = VisitRequest(
            f"visit://{visit.key}/",
            callback=services.process_visit if services else None,
            errback=note_error,
            meta={"visit": visit, **_META},
            dont_filter=True,
        )
        self._out[request] = visit
        self._places.begin(request, visit)
        return request

    def _next_visit(self, session: CrawlSession) -> Visit | None:
        """Return the next visit; visits of slow hosts wait for a place."""
        while (visit := session.worker.next_visit()) is not None:
            if self._places.has_room_for(visit.key):
                break
            visit.give_back()
            self._put_off(visit)
            session.worker.finish(visit)
        return visit

    def _put_off(self, visit: Visit) -> None:
        """Put off a visit without any effect on the health of its host."""
        visit.not_before_secs = max(visit.not_before_secs, _PUT_OFF_SECS)
        visit.is_postponed = not visit.documents
        self._stats.inc_value("frontier/put_off")

    def _pauses(self) -> bool:
        """Return whether requests would pause, so that visits should be put back."""
        return self._services is not None and self._services.is_pausing()

    def _leaves(self, request: Request) -> bool:
        session = self.session
        if session is None or not session.blocked.covers(request.url):
            return False
        logger.info("not requested, as its host is blocked: %s", request.url)
        self._stats.inc_value(f"fault/{Reason.HOST_LEFT}")
        return True

    async def _open(self, spider: VisitingSpider) -> None:
        crawler = self._crawler
        self.session = await CrawlSession.join(
            spider.crawl_options,
            spider.arguments,
            crawler.settings,
            WorkerHooks(
                flush_stores=self._flush_stores,
                wake=self._engine.wake,
                figures=self._figures,
                account_for=self._account_for,
            ),
            member=spider.member,
            request_of=spider.request_of,
            link_policy=spider.link_policy(),
        )
        self._services = spider.join(self.session)
        crawler.signals.connect(self._item_failed, signals.item_error)
        crawler.signals.connect(self._output_failed, signals.spider_error)
        work = self.session.options.work
        # In Scrapy's downloader, a request of a visit counts as one more.
        weight = work.visit_weight if spider.makes_documents else 2
        self._places.open(work.visits, work.slow_visits, weight)
        self._engine.allow(work.visits + weight * work.slow_visits)
        if not self._engine.has_foreign_parts():
            self._direct = DirectVisits(self._engine, self._services.process_visit)
        self._engine.spare_steps()
        self._follower_lag.begin(self.session.options.paths.root)
        self._arrivals = PendingRequests(
            self.session,
            cast("Spider", spider),
            self._stats,
            makes_documents=spider.makes_documents,
        )
        self._taker = asyncio.create_task(self._arrivals.run())
        self._engine.hold()  # last: after an error, nothing would let it go
        self._watcher = asyncio.create_task(self._watch(self.session))

    async def _close(self, reason: str) -> None:
        session = self.session
        if session is None:
            return
        if self._watcher:
            self._watcher.cancel()
        self._follower_lag.end()
        await self._leave(session)
        is_done = reason == "finished" and not session.options.is_persistent
        await session.close(forget=is_done)

    async def _watch(self, session: CrawlSession) -> None:
        """Watch for visits that have left the engine, until the spider closes.

        The engine is held until the last commit, so that the pipelines stay open.
        """
        pause = _WATCH_SECS
        try:
            while not (self._engine.is_closing and self._engine.is_held_only_by_us):
                await asyncio.sleep(pause)
                is_quiet = not (self._look(session) or self._engine.is_closing)
                pause = min(_MOST_WATCH_SECS, pause * 1.1) if is_quiet else _WATCH_SECS
            await self._leave(session)
        finally:
            self._engine.let_go()

    @property
    def _has_started(self) -> bool:
        """Whether the spider has yielded all its seeds.

        An ordinary request may lead to seeds, so the crawl goes on while there is one.
        """
        return (
            self._engine.has_started
            and not self._arrivals
            and not self._has_ordinary()
            and not self._others.has_pending_requests()
        )

    def _has_ordinary(self) -> bool:
        """Return whether a request outside of visits is in progress."""
        in_progress = self._engine.in_progress
        return len(in_progress) > len(self._out) + 1 and any(  # one holds the engine
            request not in self._out
            and request.callback is not NO_CALLBACK
            and not request.url.startswith("visit:")
            for request in in_progress
        )

    def _look(self, session: CrawlSession) -> bool:
        """Check the progress of visits; return whether any has ended."""
        ended: list[Request] = []
        if (gone := session.worker.gone) is not None and not self._is_stopping:
            is_refused = isinstance(gone, WorkerRefusedError)
            reason = REDIS_REFUSES if is_refused else "frontier_gone"
            self._stop(str(gone), reason=reason)
        if session.worker.is_drained and session.worker.has_started:
            text = "an operator drains this worker: it ends, and others go on"
            self._stop(text, reason=DRAINED, level=logging.INFO)
        if self._pauses() != self._has_paused:
            self._has_paused = not self._has_paused
            self._engine.wake()
        if not self._arrivals:  # pending ones may belong to an ended visit
            in_progress = self._engine.in_progress
            ended = [each for each in self._out if each not in in_progress]
            for request in ended:
                self._finish(request)
        session.worker.has_started = self._has_started
        session.worker.has_other_spiders = session.has_other_spiders
        now = monotonic()
        if self._engine.is_closing and not self._stopped_at:
            self._stopped_at = now
        if now - self._looked_at > _SLOW_LOOK_SECS:
            self._looked_at = now
            self._sort_out(session, now)
        if self._engine.is_closing and not self._is_stopping:
            self._is_stopping = True
            self._crawler.signals.send_catch_log(stop_visits)
        return bool(ended)

    def _sort_out(self, session: CrawlSession, now: float) -> None:
        """Move slow visits to places for slow ones, or back to the frontier.

        When the worker stops, all that do not end soon are put back.
        """
        must_end = self._stopped_at and now - self._stopped_at > _GRACE_SECS
        for visit in self._out.values():
            if must_end:
                visit.cut()
            elif self._has_paused:
                visit.step_at = now  # the delay is ours, not the host's
        n_before = self._places.count_slow()
        if not must_end and self._services is not None:
            slow_secs = session.options.work.slow_secs
            self._places.reassign(now, slow_secs, self._services.active_transfers)
        session.worker.n_slow = self._places.n_slow
        if session.worker.n_slow > n_before:
            self._engine.wake()

    async def _leave(self, session: CrawlSession) -> None:
        """Commit finished visits and put back the others, once."""
        if self._has_left:
            return
        self._has_left = True
        if self._taker:
            self._taker.cancel()
        if self._arrivals:
            self._arrivals.leave()
        for request in list(self._out):
            self._finish(request)
        await session.worker.close()
        for name, value in session.statistics().items():
            self._stats.set_value(name, value)
        examples = examples_of(self._stats.get_stats())
        await share_examples(session.redis, session.frontier.key, examples)
        await self._crawler.signals.send_catch_log_async(before_leaving)

    def _figures(self) -> dict[str, float]:
        figures = figures_of(self._stats.get_stats()) | self._follower_lag.figures
        return figures | (self.session.over_budget() if self.session else {})

    def _finish(self, request: Request) -> None:
        visit = self._out.pop(request)
        session = self.session
        if session is None:
            return
        for index in visit.pending:  # not processed because of an exception
            part = "middlewares" if visit.error else "pipelines"
            self._put_back(visit, index, visit.error, part)
        visit.pending.clear()
        for document in visit.documents:  # or not by the pipelines
            index = visit.index(document)
            if index not in visit.returned:
                if visit.is_cut:
                    visit.return_untried(index)
                else:
                    self._put_back(visit, index)
        if visit.documents and self._services is not None:
            self._services.release(visit)
        visit.address = session.addresses.address_of(visit.key)
        session.links.add_outlinks(visit.outlinks, visit.known)
        visit.documents.clear()
        self._places.end(visit.key)
        session.worker.finish(visit)

    def _put_back(
        self, visit: Visit, index: int, why: str = "", part: str = "pipelines"
    ) -> None:
        record = visit.records[index]
        if record.retries >= MAX_RETRIES:
            tries = counted(MAX_RETRIES + 1, "try", "tries")
            why = why or "see the log"
            logger.error("%s: given up after %s: %s", record.url, tries, why)
            self._stats.inc_value(f"fault/{Reason.INTERNAL}")
            note_own_fault(self._stats, part, why)
            if index not in visit.failed:
                visit.failed.append(index)
            return
        visit.returned[index] = replace(record, retries=record.retries + 1)

    def _item_failed(
        self,
        item: object,
        response: Response | None,
        failure: Failure,
        part: str = "pipelines",
    ) -> None:
        """Put back a document that is not stored because a pipeline failed.

        If it comes from a page of a source, the page is put back.
        """
        visit = response.meta.get("visit") if response is not None else None
        error = failure.value or StoreFault("unknown")
        if not isinstance(item, Document):
            note_failed_part(self._stats, error)
        elif visit is not None:
            index = visit.index(visit.current or item)
            is_other = isinstance(error, HeldBack | CrawlGone)
            if is_other or self._is_local(error, visit):
                visit.return_untried(index)
            elif isinstance(error, StoreFault):
                visit.return_untried(index)
                self._store_failed(error)
            else:
                self._put_back(visit, index, one_line(repr(error)), part)

    def _is_local(self, error: BaseException, visit: Visit | None = None) -> bool:
        """Return whether an error is a local failure; then requests pause."""
        services = self._services
        return services is not None and services.pause_if_local_failure(error, visit)

    def _output_failed(self, response: Response | None, failure: Failure) -> None:
        """Put back a document on which a middleware failed; a visit's: at its end."""
        request = getattr(response, "request", None)
        if request is not None and not request.url.startswith("visit:"):
            item = request.meta.get("document")
            self._item_failed(item, response, failure, "middlewares")

    async def _account_for(self, records: Sequence[Record]) -> None:
        """Send given-up URIs through the pipelines."""
        engine = self._crawler.engine
        for record in records if engine else ():
            fault = Fault(Reason.LEASES_LOST, "workers died of it")
            document = refused(record, [fault])
            await engine.scraper.start_itemproc_async(document, response=None)

    def _stop(self, text: str, *, reason: str, level: int = logging.CRITICAL) -> None:
        engine = self._crawler.engine
        if engine is not None and not self._engine.is_closing:
            logger.log(level, "%s", text)
            self._closing = asyncio.create_task(  # kept, else it may be collected
                engine.close_spider_async(reason=reason)
            )

    def _store_failed(self, fault: StoreFault) -> None:
        """Wait until the disk accepts data; stop if there is no hope."""
        if not self._is_local(fault):
            text = f"results cannot be kept, the crawl stops: {fault}"
            self._stop(text, reason="store_fault")

    async def _flush_stores(self) -> None:
        """Make all stores durable.

        Raises:
            CrawlGone: Redis refuses the worker.
            StoreFault: a store cannot be written.
        """
        if self._services is not None and self._services.keeps_from_writing():
            raise StoreFault("there is no room, or no file", may_pass=True)
        began = monotonic()
        results = await self._crawler.signals.send_catch_log_async(flush_stores)
        self._stats.inc_value(STORE_FLUSHES)
        secs = self._stats.get_value(STORE_FLUSH_SECS, 0.0) + monotonic() - began
        self._stats.set_value(STORE_FLUSH_SECS, secs)
        for receiver, result in results:
            problem = getattr(result, "value", result)
            if isinstance(problem, CrawlGone):
                raise problem
            if isinstance(problem, BaseException):
                may_pass = isinstance(problem, StoreFault) and problem.may_pass
                who = getattr(receiver, "__qualname__", receiver)
                is_of_store = isinstance(problem, StoreFault)
                text = str(problem) if is_of_store else f"{who} raised {problem!r}"
                fault = StoreFault(one_line(text), may_pass=may_pass)
                fault.__cause__ = problem
                self._store_failed(fault)
                raise fault
