"""One process's share of a crawl: claimed visits, unsent links, uncommitted visits.

All methods called by a scheduler are local and immediate; tasks talk to Redis. The
states of a visit: claimed (`visit_tasks.py`) -> `next_visit` -> `finish` -> children
queued (`link_sender.py`) -> released (others may visit the host) -> stores flushed ->
acknowledged (`visit_tasks.py`). After a `kill -9` at any point it stays leased; when
the lease expires (`leases.py`), its URIs are claimed again.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine
from time import monotonic
from typing import TYPE_CHECKING, Literal

from redis.exceptions import RedisError

from rdfcrawl.core.errors import CrawlGone
from rdfcrawl.core.messages import counted
from rdfcrawl.core.times import now_ms
from rdfcrawl.frontier.queue.worker_reports import STARTED
from rdfcrawl.frontier.redis.refusals import one_line
from rdfcrawl.frontier.worker.leases import BEAT_SECS, LeaseKeeper
from rdfcrawl.frontier.worker.link_sender import ADD_SECS, LinkSender
from rdfcrawl.frontier.worker.visit_tasks import (
    EpochKeeper,
    VisitClaimer,
    VisitCommitter,
)
from rdfcrawl.frontier.worker.worker_state import (
    IntakeHooks,
    WorkerHooks,
    WorkerState,
    sleep_until,
)

if TYPE_CHECKING:
    from pathlib import Path

    from rdfcrawl.core.visits import Visit
    from rdfcrawl.frontier.queue.frontier_client import Frontier
    from rdfcrawl.frontier.queue.options import WorkerOptions
    from rdfcrawl.frontier.redis.retry import RedisRetry

logger = logging.getLogger(__name__)


class FrontierWorker(WorkerState):
    """One worker: takes visits from the frontier, and returns links.

    Args:
        frontier: shared by all workers.
        options: of this worker.
        hooks: functions of the scheduler.
        outage: retries commands while Redis is unreachable.
        intake: functions of the intake of links and seeds.
        epoch_log: file with a line of JSON for each finished epoch.
        run_began_ms: when the run began (Unix time in ms).

    Attributes:
        claimer, links, committer, leases, epochs: parts that share the state.
        n_failed: URIs given up in this run by all workers; set at the end.
        n_owed: URIs owed to the next run; likewise.
    """

    def __init__(
        self,
        frontier: Frontier,
        options: WorkerOptions,
        hooks: WorkerHooks,
        *,
        outage: RedisRetry,
        intake: IntakeHooks,
        epoch_log: Path | None = None,
        run_began_ms: int | None = None,
    ) -> None:
        super().__init__(frontier, options, outage, run_began_ms or now_ms())
        self.n_failed = self.n_owed = 0
        self._failed_before = 0
        self._take_seeds = intake.take_seeds
        self._wake = hooks.wake
        self.links = LinkSender(self, intake.restore)
        self.claimer = VisitClaimer(
            self,
            self.links,
            wake=hooks.wake,
            check_whether_over=self._check_whether_over,
            prepare=intake.prepare,
        )
        self.committer = VisitCommitter(self, self.links, hooks.flush_stores)
        self.leases = LeaseKeeper(self, hooks)
        self.epochs = EpochKeeper(self, epoch_log)
        self._tasks: list[asyncio.Task[None]] = []

    def next_visit(self) -> Visit | None:
        """Return a leased visit, or None if none is ready."""
        if self.links.n_waiting > self.options.max_buffered:
            return None
        if len(self.ready) <= self.options.visits // 2:
            self.claim_now.set()
        if not self.ready:
            return None
        visit = self.ready.popleft()
        self.active.add(visit)
        return visit

    def finish(self, visit: Visit) -> None:
        """Take back a visit that was processed."""
        self.active.discard(visit)
        self.finished.append(visit)
        is_quiet = monotonic() - self.links.sent_at > ADD_SECS
        if is_quiet or not (self.active or self.ready):
            self.commit_now.set()

    async def begin(self, visit: Visit, what: Literal["asked", "read"]) -> None:
        """Record the next step with the record of a suspect."""
        is_ours = await self.persistent("begin", self.frontier.begin, visit, what)
        visit.is_lost = visit.is_lost or not is_ours

    async def open(self) -> None:
        """Join the crawl and start the tasks."""
        await self.persistent("heartbeat", self.leases.beat)
        await self.persistent("bury", self.frontier.reports.bury)
        self._failed_before = await self.persistent(
            "look for runs", self.frontier.failed_before
        )
        for name, job in {
            "claim": self.claimer.run,
            "commit": self.committer.run,
            "renew": self.leases.run,
            "seed": self._seed,
            "report": self.leases.report,
            **({"epochs": self.epochs.run} if self.frontier.epochs.options else {}),
        }.items():
            self._tasks.append(asyncio.create_task(self._forever(name, job)))

    async def close(self) -> None:
        """Commit finished visits, put back the others, and leave."""
        for event in (self.stopping, self.claim_now, self.commit_now, self.report_now):
            event.set()
        self.look_now.set()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.gone is not None:
            return
        for visit in self.ready:
            visit.unrequested |= set(range(len(visit.records)))
        for visit in (*self.ready, *self.active):
            # Unreadable records are found unreadable again.
            visit.returned = dict(enumerate(visit.records))
            visit.documents.clear()
            self.finished.append(visit)
        self.ready.clear()
        self.active.clear()
        try:
            await self.committer.send_and_release()
            if await self.committer.flush():
                await self.committer.ack_in_time()
            self.n_owed = (await self.frontier.owed.list(0)).n_uris
            self.n_failed = await self.frontier.n_failed() - self._failed_before
            await self.persistent("leave", self.leases.report_end)
        except CrawlGone as gone:
            self.gone = gone
        except RedisError as error:
            logger.warning(
                "Redis is unreachable: leased and to be repeated: %s: %s",
                counted(len(self.held()), "visit"),
                one_line(error),
            )

    async def _forever(
        self, name: str, job: Callable[[], Coroutine[None, None, None]]
    ) -> None:
        """Run a task until the worker stops; a bug there must not end the crawl."""
        while not self.stopping.is_set():
            try:
                await job()
            except asyncio.CancelledError:
                raise
            except CrawlGone as gone:
                self.gone = gone
                return
            except Exception:
                if self.stopping.is_set():
                    return
                logger.exception("frontier task %s failed, continuing", name)
                await asyncio.sleep(1)

    async def _seed(self) -> None:
        while not self.stopping.is_set():
            await sleep_until(self.stopping, BEAT_SECS * random.uniform(0.8, 1.0))
            await self.persistent("start_urls", self._take_seeds)

    async def _check_whether_over(self) -> None:
        """Check whether the crawl is over, if this worker has no work.

        With other workers, this takes two looks: one of them shows a worker between
        claim and add.
        """
        if self.is_over or not self.has_started:
            return
        since, looks = monotonic(), 0
        while not self.stopping.is_set() and await self._has_no_work():
            looks += 1
            is_sure = looks > 1 or self.is_alone
            if is_sure and monotonic() - since >= self.options.idle_secs:
                self.is_over = True
                self._wake()
                return
            await asyncio.sleep(0.1)

    async def _has_no_work(self) -> bool:
        if not self.committer.has_nothing:
            return False
        # Reads come first: with full memory, this task must go on claiming.
        self.counts = await self.persistent("counts", self.frontier.counts)
        if not self.counts.is_over:
            patience = self.claimer.patience
            if patience.is_over:  # a host may have become due
                await patience.look(at_once=True)
            if not patience.is_over:
                return False
        if await self.persistent("start_urls", self._take_seeds):
            return False
        return await self._all_have_started() and self.committer.has_nothing

    async def _all_have_started(self) -> bool:
        """Return whether no live worker is still queueing its seeds."""
        await self.persistent("heartbeat", self.leases.beat)
        figures = await self.persistent("figures", self.frontier.figures)
        return all(figures.get(name, {}).get(STARTED, 1) for name in self.live)
